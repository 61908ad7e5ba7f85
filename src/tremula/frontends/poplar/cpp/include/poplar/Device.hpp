// Devices: models of IPUs, the host, and the virtual IPUs of this machine.
#ifndef POPLAR_DEVICE_HPP
#define POPLAR_DEVICE_HPP

#include <poplar/OptionFlags.hpp>
#include <poplar/Target.hpp>
#include <poplar/detail/Prelude.hpp>

namespace poplar {

namespace detail {
struct RemoteObject;
}

class Device {
public:
  // Stands for no device.
  Device() = default;
  Device(Target target, unsigned id, std::vector<int> driverIds,
         std::shared_ptr<detail::RemoteObject> object);
  Device(Device &&) = default;
  Device &operator=(Device &&) = default;
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;

  static Device createCPUDevice(const OptionFlags &opts = {});
  static Device createCPUDevice(unsigned numIPUs, const OptionFlags &opts = {});
  static Device createSimulatorDevice(const Target &target, const OptionFlags &opts = {});

  const Target &getTarget() const;
  unsigned getId() const { return id_; }
  std::vector<int> getDriverIDs() const { return driverIds_; }
  std::vector<unsigned> getNumaTopology() const { return {0}; }
  void getDriverVersion(unsigned &major, unsigned &minor, unsigned &point) const;
  bool attach() const;
  void detach() const;
  bool isAttached() const;
  bool supportsRemoteBuffers() const { return true; }
  bool hasVirtualGraph() const { return true; }
  std::map<std::string, std::string> getAttributes() const;
  std::string getAttribute(const std::string &name) const;
  void reset() const {}
  Device createVirtualDevice(unsigned tilesPerIPU) const;

  const std::shared_ptr<detail::RemoteObject> &object() const { return object_; }

private:
  Target target_;
  unsigned id_ = 0;
  std::vector<int> driverIds_;
  std::shared_ptr<detail::RemoteObject> object_;
};

} // namespace poplar

#endif
