// Engines: programs that the other process runs, with streams and callbacks that are served here.
#include "core.hpp"

#include <pva/pva.hpp>

namespace poplar {

using detail::Connection;
using detail::Result;
using detail::Value;

namespace detail {

struct EngineCore {
  std::shared_ptr<RemoteObject> object;
  // numbers of what answers for streams, host functions and printing
  std::map<std::pair<std::string, long>, std::uint32_t> answers;
  std::ostream *print = &std::cerr;

  ~EngineCore() {
    if (!Connection::alive())
      return;
    try {
      if (object)
        ask("close engine", object);
      for (const auto &each : answers)
        Connection::get().removeAnswer(each.second);
    } catch (const std::exception &problem) {
      std::cerr << "tremula: an engine was not closed properly: " << problem.what() << '\n';
    }
  }

  // Tells the server, by `connect`, the number by which it shall ask. What answered before may be asked for the last
  // time while the server is told, and is dropped then.
  template <typename F>
  void answerWith(const std::string &handle, long replica, Answer answer, F connect) {
    Connection &connection = Connection::get();
    const std::uint32_t number = connection.addAnswer(std::move(answer));
    try {
      connect(number);
    } catch (...) {
      connection.removeAnswer(number);
      throw;
    }
    std::uint32_t &current = answers[std::make_pair(handle, replica)];
    if (current)
      connection.removeAnswer(current);
    current = number;
  }

  void connectStream(const std::string &handle, long replica, Answer answer, bool callback,
                     std::int64_t bytes) {
    answerWith(handle, replica, std::move(answer), [&](std::uint32_t number) {
      Value whichReplica = replica < 0 ? value(nullptr) : value(replica);
      ask("connect stream", object, handle, whichReplica, number, callback, bytes);
    });
  }
};

std::uint32_t lowerProgram(const std::shared_ptr<ProgramNode> &root);

namespace {

// The words in which the server asks for what concerns a stream.
enum Word { FETCH, TAKE, PREFETCH, COMPLETE, INVALIDATE };

Value dataOf(const void *bytes, std::size_t length) {
  Value made;
  made.writer.data(bytes, length);
  return made;
}

// Transfers from or to a buffer of the program, one after the other; a transfer is never cut in two.
class Ring {
public:
  Ring(std::string handle, void *begin, void *end)
      : handle_(std::move(handle)), begin_(static_cast<char *>(begin)), end_(static_cast<char *>(end)) {}

  Value operator()(const std::vector<Result> &asked) {
    const bool gives = asked.at(0).integer() == FETCH;
    const std::size_t length =
        gives ? static_cast<std::size_t>(asked.at(1).integer()) : asked.at(1).data().size();
    char *at = next(length);
    if (gives)
      return dataOf(at, length);
    if (length)
      std::memcpy(at, asked.at(1).data().data(), length);
    return value(nullptr);
  }

private:
  char *next(std::size_t length) {
    if (!end_)
      return begin_;
    const std::size_t whole = static_cast<std::size_t>(end_ - begin_);
    if (whole < length)
      throw stream_connection_error("stream '" + handle_ + "' carries " + std::to_string(length) +
                                    " bytes in each transfer, the buffer has " + std::to_string(whole));
    if (place_ + length > whole)
      place_ = 0;
    char *at = begin_ + place_;
    place_ += length;
    return at;
  }
  std::string handle_;
  char *begin_, *end_;
  std::size_t place_ = 0;
};

class CallbackOfStream {
public:
  explicit CallbackOfStream(std::unique_ptr<StreamCallback> callback) : callback_(std::move(callback)) {}

  Value operator()(const std::vector<Result> &asked) {
    switch (asked.at(0).integer()) {
    case FETCH:
      buffer_.resize(static_cast<std::size_t>(asked.at(1).integer()) + 1);
      callback_->fetch(buffer_.data());
      return dataOf(buffer_.data(), buffer_.size() - 1);
    case TAKE:
      buffer_.assign(asked.at(1).data().begin(), asked.at(1).data().end());
      buffer_.push_back(0);
      callback_->fetch(buffer_.data());
      break;
    case PREFETCH:
      buffer_.resize(static_cast<std::size_t>(asked.at(1).integer()) + 1);
      if (callback_->prefetch(buffer_.data()) == StreamCallback::Result::Success)
        return dataOf(buffer_.data(), buffer_.size() - 1);
      break;
    case COMPLETE:
      callback_->complete();
      break;
    default:
      callback_->invalidatePrefetched();
    }
    return value(nullptr);
  }

private:
  std::shared_ptr<StreamCallback> callback_;
  std::vector<char> buffer_;
};

std::vector<std::uint32_t> lowered(ArrayRef<program::Program> programs) {
  std::vector<std::uint32_t> numbers;
  for (const program::Program &each : programs)
    numbers.push_back(lowerProgram(ProgramAccess::node(each)));
  return numbers;
}

Value programsOf(ArrayRef<program::Program> programs) {
  Value made;
  const std::vector<std::uint32_t> numbers = lowered(programs);
  made.writer.list(numbers.size());
  for (std::uint32_t each : numbers)
    made.writer.reference('p', each);
  return made;
}

// Shows progress for as long as a request lasts.
class ProgressAnswer {
public:
  explicit ProgressAnswer(const ProgressFunc &progress) {
    if (progress)
      number_ = Connection::get().addAnswer([progress](const std::vector<Result> &asked) {
        progress(static_cast<int>(asked.at(0).integer()), static_cast<int>(asked.at(1).integer()));
        return Value();
      });
  }
  ~ProgressAnswer() {
    if (number_ && Connection::alive())
      Connection::get().removeAnswer(number_);
  }
  std::uint32_t number() const { return number_; }

private:
  std::uint32_t number_ = 0;
};

} // namespace
} // namespace detail

using detail::EngineCore;

namespace {
std::unique_ptr<EngineCore> started(const Result &object) {
  std::unique_ptr<EngineCore> core(new EngineCore());
  core->object = object.object();
  EngineCore *raw = core.get();
  const auto print = [raw](const std::vector<Result> &asked) {
    *raw->print << asked.at(0).text() << std::flush;
    return Value();
  };
  core->answerWith("", -2, print,
                   [&](std::uint32_t number) { detail::ask("print of engine", core->object, number); });
  return core;
}

std::unique_ptr<EngineCore> compiled(const Graph &graph, ArrayRef<program::Program> programs,
                                     const OptionFlags &options, const ProgressFunc &progress,
                                     const DebugContext &debug) {
  const detail::ProgressAnswer answer(progress);
  return started(detail::ask("engine", graph, detail::programsOf(programs), options, answer.number(), debug));
}

const EngineCore &present(const std::unique_ptr<EngineCore> &core) {
  if (!core)
    throw poplar_error("this Engine was moved from: use the one that it was moved to");
  return *core;
}
} // namespace

std::shared_ptr<detail::RemoteObject> detail::engineObject(const Engine &engine) {
  return present(engine.core_).object;
}

Engine::Engine(const Graph &graph, const program::Program &program, const OptionFlags &options,
               ProgressFunc progress, const DebugContext &debug)
    : core_(compiled(graph, ArrayRef<program::Program>(program), options, progress, debug)) {}
Engine::Engine(const Graph &graph, ArrayRef<program::Program> programs, const OptionFlags &options,
               ProgressFunc progress, const DebugContext &debug)
    : core_(compiled(graph, programs, options, progress, debug)) {}
Engine::Engine(const Device &device, const Graph &graph, const program::Program &program,
               const OptionFlags &options)
    : Engine(graph, program, options) {
  load(device);
}
Engine::Engine(const Device &device, const Graph &graph, ArrayRef<program::Program> programs,
               const OptionFlags &options)
    : Engine(graph, programs, options) {
  load(device);
}
Engine::Engine(Executable &&executable, const OptionFlags &options)
    : Engine(static_cast<const Executable &>(executable), options) {}
Engine::Engine(const Executable &executable, const OptionFlags &options) {
  if (!executable.object())
    throw graph_object_load_error("an Executable without a program: compileGraph or Executable::deserialize make one");
  core_ = started(detail::ask("engine of executable", executable.object(), options));
}
Engine::Engine(Engine &&) = default;
Engine &Engine::operator=(Engine &&) = default;
Engine::~Engine() = default;

// -- running

void Engine::prepare(const Device &device) { device.getTarget(); }
void Engine::deploy() { detail::method(present(core_).object, "deploy"); }
void Engine::load(const Device &device) {
  device.getTarget();
  detail::method(present(core_).object, "load", device.object());
}
void Engine::loadAndRun(const Device &device, unsigned program) {
  load(device);
  run(program);
}
void Engine::run(unsigned program, const std::string &debugName) {
  detail::method(present(core_).object, "run", program, debugName);
}
std::chrono::nanoseconds Engine::getTimeStamp() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::steady_clock::now().time_since_epoch());
}

// -- streams and callbacks

void Engine::connectStream(StringRef handle, void *begin, void *end) {
  present(core_);
  const std::int64_t bytes = end ? static_cast<char *>(end) - static_cast<char *>(begin) : -1;
  core_->connectStream(handle.str(), -1, detail::Ring(handle.str(), begin, end), false, bytes);
}
void Engine::connectStream(StringRef handle, void *buffer) { connectStream(handle, buffer, nullptr); }

void Engine::connectStreamToCallback(StringRef handle, StreamCallbackHandle callback) {
  present(core_);
  core_->connectStream(handle.str(), -1, detail::CallbackOfStream(callback.release()), true, -1);
}
void Engine::connectStreamToCallback(StringRef handle, unsigned replica, StreamCallbackHandle callback) {
  present(core_);
  core_->connectStream(handle.str(), replica, detail::CallbackOfStream(callback.release()), true, -1);
}

void Engine::connectHostFunction(
    StringRef handle, unsigned replica,
    std::function<void(ArrayRef<const void *>, ArrayRef<void *>)> function) {
  present(core_);
  const auto answer = [function](const std::vector<Result> &asked) {
    // the inputs' bytes, and how many bytes each output has
    std::vector<const void *> inputs;
    for (const Result &each : asked.at(0).items())
      inputs.push_back(each.data().data());
    std::vector<std::vector<char>> space;
    for (const Result &each : asked.at(1).items())
      space.emplace_back(static_cast<std::size_t>(each.integer()) + 1);
    std::vector<void *> outputs;
    for (std::vector<char> &each : space)
      outputs.push_back(each.data());
    function(inputs, outputs);
    Value given;
    given.writer.list(space.size());
    for (const std::vector<char> &each : space)
      given.writer.data(each.data(), each.size() - 1);
    return given;
  };
  core_->answerWith("function " + handle.str(), replica, answer, [&](std::uint32_t number) {
    detail::ask("connect host function", core_->object, handle, replica, number);
  });
}

void Engine::connectHostFunction(StringRef handle, unsigned replica, HostCallbackHandle callback) {
  const std::shared_ptr<HostCallback> kept(callback.release());
  connectHostFunction(handle, replica,
                      [kept](ArrayRef<const void *> inputs, ArrayRef<void *> outputs) {
                        kept->fetch(inputs, outputs);
                        kept->complete();
                      });
}

// -- tensors and remote buffers

namespace {
std::size_t bytesBetween(const void *begin, const void *end) {
  return static_cast<std::size_t>(static_cast<const char *>(end) - static_cast<const char *>(begin));
}
} // namespace

void Engine::writeTensor(StringRef handle, const void *begin, const void *end) {
  detail::ask("write tensor", present(core_).object, handle, detail::dataOf(begin, bytesBetween(begin, end)));
}
void Engine::writeTensor(StringRef handle, const void *buffer) {
  const auto bytes = detail::ask("bytes of tensor", present(core_).object, handle, true).integer();
  writeTensor(handle, buffer, static_cast<const char *>(buffer) + bytes);
}
void Engine::readTensor(StringRef handle, void *begin, void *end) {
  const std::size_t length = bytesBetween(begin, end);
  const Result found = detail::ask("read tensor", present(core_).object, handle, length);
  std::memcpy(begin, found.data().data(), std::min(length, found.data().size()));
}
void Engine::readTensor(StringRef handle, void *buffer) {
  const auto bytes = detail::ask("bytes of tensor", present(core_).object, handle, false).integer();
  readTensor(handle, buffer, static_cast<char *>(buffer) + bytes);
}
void Engine::copyToRemoteBuffer(const void *from, StringRef handle, std::uint64_t row, unsigned replica) {
  const auto bytes = detail::ask("bytes of row", present(core_).object, handle).integer();
  detail::ask("write row", core_->object, handle, detail::dataOf(from, static_cast<std::size_t>(bytes)), row,
              replica);
}
void Engine::copyFromRemoteBuffer(StringRef handle, void *to, std::uint64_t row, unsigned replica) {
  const Result found = detail::ask("read row", present(core_).object, handle, row, replica);
  std::memcpy(to, found.data().data(), found.data().size());
}

// -- texts and reports

void Engine::setPrintStream(std::ostream &stream) {
  present(core_);
  core_->print = &stream;
}
void Engine::printProfileSummary(std::ostream &stream, const OptionFlags &options) {
  stream << detail::ask("summary", present(core_).object, options).text();
}
pva::Report Engine::getReport(bool reportExecution) {
  return pva::Report(detail::method(present(core_).object, "getReport", reportExecution).object());
}
void Engine::disableExecutionProfiling() { detail::method(present(core_).object, "disableExecutionProfiling"); }
void Engine::enableExecutionProfiling() { detail::method(present(core_).object, "enableExecutionProfiling"); }
void Engine::resetExecutionProfile() { detail::method(present(core_).object, "resetExecutionProfile"); }
void Engine::reportTiming(std::ostream &stream) {
  stream << detail::ask("timing", present(core_).object).text();
}
OptionFlags Engine::getEngineOptions() const {
  const Result found = detail::method(present(core_).object, "getRuntimeOptions");
  OptionFlags options;
  for (std::size_t i = 0; i < found.size(); ++i)
    options.set(found.keys()[i], found[i].text());
  return options;
}

// -- executables

Executable compileGraph(const Graph &graph, ArrayRef<program::Program> programs,
                        const OptionFlags &options, ProgressFunc progress, const DebugContext &debug) {
  const detail::ProgressAnswer answer(progress);
  return Executable(
      detail::ask("executable", graph, detail::programsOf(programs), options, answer.number(), debug).object());
}
Executable compileGraph(Graph &&graph, ArrayRef<program::Program> programs,
                        const OptionFlags &options, ProgressFunc progress, const DebugContext &debug) {
  return compileGraph(static_cast<const Graph &>(graph), programs, options, std::move(progress), debug);
}

void Executable::serialize(std::ostream &os) const {
  if (!object_)
    throw graph_object_load_error("an Executable without a program cannot be saved");
  const Result found = detail::ask("save executable", object_);
  os.write(found.data().data(), static_cast<std::streamsize>(found.data().size()));
}
Executable Executable::deserialize(std::istream &is) {
  if (!is)
    throw graph_object_load_error("the executable cannot be read: its file cannot be opened");
  std::ostringstream all;
  all << is.rdbuf();
  const std::string text = all.str();
  return Executable(detail::ask("load executable", detail::dataOf(text.data(), text.size())).object());
}

} // namespace poplar
