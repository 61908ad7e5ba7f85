// The devices of this machine.
#ifndef POPLAR_DEVICE_MANAGER_HPP
#define POPLAR_DEVICE_MANAGER_HPP

#include <poplar/Device.hpp>
#include <poplar/TargetType.hpp>
#include <poplar/detail/Prelude.hpp>

namespace poplar {

class DeviceManager {
public:
  DeviceManager() = default;
  static DeviceManager createDeviceManager() { return DeviceManager(); }

  std::size_t getNumDevices() const;
  std::vector<Device> getDevices(const OptionFlags &opts = {}) const;
  std::vector<Device> getDevices(TargetType type, unsigned requiredNumIPUs,
                                 const OptionFlags &opts = {}) const;
  Device getDevice(unsigned id, const OptionFlags &opts = {}) const;
  // The first free device with so many IPUs, attached; none is an error.
  Device acquireAvailableDevice(unsigned numIPUs) const;
};

} // namespace poplar

#endif
