// Streams between host and device, and buffers outside the chip.
#ifndef POPLAR_DATA_STREAM_HPP
#define POPLAR_DATA_STREAM_HPP

#include <poplar/Type.hpp>
#include <poplar/detail/Prelude.hpp>

namespace poplar {

namespace detail {
struct RemoteObject;
}

enum class DataStreamType { HostToDeviceFIFO, DeviceToHostFIFO, HostToDeviceBuffer, DeviceToHostBuffer };

class DataStream {
public:
  DataStream() = default;
  DataStream(std::string handle, Type type, std::size_t elements, DataStreamType kind,
             std::shared_ptr<detail::RemoteObject> object)
      : handle_(std::move(handle)), type_(type), elements_(elements), kind_(kind),
        object_(std::move(object)) {}
  std::string handle() const { return handle_; }
  DataStreamType type() const { return kind_; }
  Type elementType() const { return type_; }
  std::size_t numElements() const { return elements_; }
  const std::shared_ptr<detail::RemoteObject> &object() const { return object_; }

private:
  std::string handle_;
  Type type_;
  std::size_t elements_ = 0;
  DataStreamType kind_ = DataStreamType::HostToDeviceFIFO;
  std::shared_ptr<detail::RemoteObject> object_;
};

class RemoteBuffer {
public:
  RemoteBuffer() = default;
  RemoteBuffer(std::string handle, Type type, std::size_t elements, std::size_t repeats,
               std::shared_ptr<detail::RemoteObject> object)
      : handle_(std::move(handle)), type_(type), elements_(elements), repeats_(repeats),
        object_(std::move(object)) {}
  std::string handle() const { return handle_; }
  Type elementType() const { return type_; }
  std::size_t numElements() const { return elements_; }
  std::size_t getNumElements() const { return elements_; }
  std::size_t getRepeats() const { return repeats_; }
  const std::shared_ptr<detail::RemoteObject> &object() const { return object_; }

private:
  std::string handle_;
  Type type_;
  std::size_t elements_ = 0, repeats_ = 1;
  std::shared_ptr<detail::RemoteObject> object_;
};

} // namespace poplar

#endif
