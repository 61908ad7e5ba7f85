// Engines: programs made ready to run, connected with the host.
#ifndef POPLAR_ENGINE_HPP
#define POPLAR_ENGINE_HPP

#include <poplar/ArrayRef.hpp>
#include <poplar/CycleCount.hpp>
#include <poplar/DebugContext.hpp>
#include <poplar/Device.hpp>
#include <poplar/DeviceManager.hpp>
#include <poplar/Executable.hpp>
#include <poplar/Graph.hpp>
#include <poplar/OptionFlags.hpp>
#include <poplar/ProfileValue.hpp>
#include <poplar/Program.hpp>
#include <poplar/StreamCallback.hpp>
#include <poplar/StringRef.hpp>
#include <poplar/detail/Prelude.hpp>

namespace pva {
class Report;
}

namespace poplar {

class Engine;

namespace detail {
struct EngineCore;
struct RemoteObject;
std::shared_ptr<RemoteObject> engineObject(const Engine &engine);
}

typedef std::function<void(int, int)> ProgressFunc;

class Engine {
public:
  typedef ::poplar::ProgressFunc ProgressFunc;

  Engine(const Graph &graph, const program::Program &program, const OptionFlags &options = {},
         ProgressFunc progress = nullptr, const DebugContext &debug = {});
  Engine(const Graph &graph, ArrayRef<program::Program> programs,
         const OptionFlags &options = {}, ProgressFunc progress = nullptr,
         const DebugContext &debug = {});
  Engine(const Device &device, const Graph &graph, const program::Program &program,
         const OptionFlags &options = {});
  Engine(const Device &device, const Graph &graph, ArrayRef<program::Program> programs,
         const OptionFlags &options = {});
  explicit Engine(Executable &&executable, const OptionFlags &options = {});
  explicit Engine(const Executable &executable, const OptionFlags &options = {});
  Engine(Engine &&);
  Engine &operator=(Engine &&);
  Engine(const Engine &) = delete;
  Engine &operator=(const Engine &) = delete;
  ~Engine();

  void prepare(const Device &device);
  void deploy();
  void load(const Device &device);
  void loadAndRun(const Device &device, unsigned program = 0);
  void run(unsigned program = 0, const std::string &debugName = "");
  void stop() {}
  std::chrono::nanoseconds getTimeStamp();

  // `begin` alone: the same buffer every time. With `end`: a ring, which is used from its begin again when the end
  // is reached.
  void connectStream(StringRef handle, void *begin, void *end);
  void connectStream(StringRef handle, void *buffer);
  void connectStream(StringRef handle, const void *buffer) {
    connectStream(handle, const_cast<void *>(buffer));
  }
  void connectStream(StringRef handle, const void *begin, const void *end) {
    connectStream(handle, const_cast<void *>(begin), const_cast<void *>(end));
  }
  template <typename T> void connectStream(StringRef handle, ArrayRef<T> buffer) {
    connectStream(handle, const_cast<typename std::remove_const<T>::type *>(buffer.data()),
                  const_cast<typename std::remove_const<T>::type *>(buffer.data()) +
                      buffer.size());
  }
  void connectStream(const DataStream &stream, void *begin, void *end) {
    connectStream(StringRef(stream.handle()), begin, end);
  }
  void connectStream(const DataStream &stream, void *buffer) {
    connectStream(StringRef(stream.handle()), buffer);
  }
  void connectStreamToCallback(StringRef handle, StreamCallbackHandle callback);
  void connectStreamToCallback(StringRef handle, unsigned replica,
                               StreamCallbackHandle callback);
  void connectStreamToCallback(const DataStream &stream, StreamCallbackHandle callback) {
    connectStreamToCallback(StringRef(stream.handle()), std::move(callback));
  }
  void connectHostFunction(StringRef handle, unsigned replica,
                           std::function<void(ArrayRef<const void *>, ArrayRef<void *>)> function);
  void connectHostFunction(StringRef handle, unsigned replica, HostCallbackHandle callback);

  void copyFromRemoteBuffer(StringRef handle, void *to, std::uint64_t repeatIndex,
                            unsigned replica = 0);
  void copyFromRemoteBuffer(const RemoteBuffer &buffer, void *to, std::uint64_t repeatIndex,
                            unsigned replica = 0) {
    copyFromRemoteBuffer(StringRef(buffer.handle()), to, repeatIndex, replica);
  }
  void copyToRemoteBuffer(const void *from, StringRef handle, std::uint64_t repeatIndex,
                          unsigned replica = 0);
  void copyToRemoteBuffer(const void *from, const RemoteBuffer &buffer,
                          std::uint64_t repeatIndex, unsigned replica = 0) {
    copyToRemoteBuffer(from, StringRef(buffer.handle()), repeatIndex, replica);
  }
  void readTensor(StringRef handle, void *begin, void *end);
  void readTensor(StringRef handle, void *buffer);
  template <typename T> void readTensor(StringRef handle, std::vector<T> &buffer) {
    readTensor(handle, buffer.data(), buffer.data() + buffer.size());
  }
  void writeTensor(StringRef handle, const void *begin, const void *end);
  void writeTensor(StringRef handle, const void *buffer);
  template <typename T> void writeTensor(StringRef handle, ArrayRef<T> buffer) {
    writeTensor(handle, buffer.data(), buffer.data() + buffer.size());
  }

  void setPrintStream(std::ostream &stream);
  void setPrintTensorStream(std::ostream &stream) { setPrintStream(stream); }

  void printProfileSummary(std::ostream &stream, const OptionFlags &options = {});
  pva::Report getReport(bool reportExecution = true);
  ProfileValue getGraphProfile();
  ProfileValue getExecutionProfile();
  void disableExecutionProfiling();
  void enableExecutionProfiling();
  void resetExecutionProfile();
  void reportTiming(std::ostream &stream);
  OptionFlags getEngineOptions() const;

private:
  friend std::shared_ptr<detail::RemoteObject> detail::engineObject(const Engine &);
  std::unique_ptr<detail::EngineCore> core_;
};

Executable compileGraph(const Graph &graph, ArrayRef<program::Program> programs,
                        const OptionFlags &options = {}, ProgressFunc progress = nullptr,
                        const DebugContext &debug = {});
Executable compileGraph(Graph &&graph, ArrayRef<program::Program> programs,
                        const OptionFlags &options = {}, ProgressFunc progress = nullptr,
                        const DebugContext &debug = {});

// The version of the stack that this library stands in for.
std::string versionString();
StringRef packageHash();

} // namespace poplar

#endif
