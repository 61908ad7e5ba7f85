// The connection with the process that builds and runs graphs: how it starts, what is said, and how both end.
#include "core.hpp"

#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

#ifndef TREMULA_PYTHON
#define TREMULA_PYTHON "python3"
#endif
#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif

extern char **environ;

namespace poplar {
namespace detail {

namespace {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "values are exchanged in little-endian order");

const std::uint64_t LARGEST_FRAME = std::uint64_t(1) << 34;
const unsigned DEEPEST = 64;
const char *const MODULE = "tremula.frontends.poplar.cpp.server";

// What the thread that waits for the server shares with the others.
std::atomic<pid_t> server{0};
std::atomic<bool> ended{false};
std::atomic<bool> finishing{false};
std::atomic<int> status{0};
std::atomic<int> started{0}; // 1: yes, -1: no

Connection *instance = nullptr;
int parentSocket = -1;

void say(const char *text) {
  const ssize_t done = ::write(2, text, std::strlen(text));
  static_cast<void>(done);
}

// Runs in the new process, between fork and exec: only calls that are safe there.
[[noreturn]] void becomeServer(int socket, char *const arguments[], pid_t parent) {
#ifdef __linux__
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
  if (::getppid() != parent)
    ::_exit(0);
  const int null = ::open("/dev/null", O_RDONLY);
  if (null >= 0)
    ::dup2(null, 0);
  ::dup2(2, 1);
  if (socket == 3) {
    ::fcntl(3, F_SETFD, 0);
  } else {
    ::dup2(socket, 3);
  }
#if defined(__linux__) && defined(SYS_close_range)
  if (::syscall(SYS_close_range, 4u, ~0u, 0u) != 0)
#endif
    for (int each = 4; each < 1024; ++each)
      ::close(each);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGINT, SIG_IGN);
  ::signal(SIGPIPE, SIG_DFL);
  ::execvp(arguments[0], arguments);
  ::_exit(127);
}

// The thread that starts the server and waits for its end. The server ends when this thread does.
void keep(int socket, std::vector<std::string> command) {
  std::vector<char *> arguments;
  for (std::string &each : command)
    arguments.push_back(&each[0]);
  arguments.push_back(nullptr);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0)
    becomeServer(socket, arguments.data(), parent);
  ::close(socket);
  server = child;
  started = child > 0 ? 1 : -1;
  if (child < 0)
    return;
  int code = 0;
  pid_t found;
  do
    found = ::waitpid(child, &code, 0);
  while (found < 0 && errno == EINTR);
  status = found == child ? code : -1;
  ended = true;
  if (finishing || found != child)
    return;
  // the program gets an exception where it waits; where it does not, it ends here
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  if (!finishing) {
    say("tremula: the process that builds and runs the graph has ended, so this program ends\n");
    ::_exit(1);
  }
}

void forgetInChild() {
  if (parentSocket >= 0)
    ::close(parentSocket);
  parentSocket = -1;
}

std::string endingOfServer() {
  for (int i = 0; i < 50 && !ended; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  if (!ended)
    return "";
  const int code = status;
  if (code >= 0 && WIFSIGNALED(code))
    return " (signal " + std::to_string(WTERMSIG(code)) + ")";
  if (code >= 0 && WIFEXITED(code) && WEXITSTATUS(code) == 127)
    return ": its Python could not be started; set TREMULA_PYTHON to one that has tremula, or run `tremula cpp enable` again";
  if (code >= 0 && WIFEXITED(code))
    return " (exit code " + std::to_string(WEXITSTATUS(code)) + ")";
  return "";
}

} // namespace

struct ConnectionAtExit {
  static void run() {
    if (instance)
      instance->finish();
  }
};

Connection &Connection::get() {
  static Connection *made = new Connection();
  if (made->owner_ != ::getpid())
    throw system_runtime_error(
        "this process was forked from the one that the graph belongs to; make graphs and devices after the fork, in one of both");
  return *made;
}

bool Connection::alive() {
  return instance && !instance->broken_ && !finishing && instance->owner_ == ::getpid();
}

Connection::Connection() {
  owner_ = ::getpid();
  start();
  instance = this;
}

void Connection::start() {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
    throw system_runtime_error(std::string("no socket could be made: ") + std::strerror(errno));
  ::fcntl(pair[0], F_SETFD, FD_CLOEXEC);
  ::fcntl(pair[1], F_SETFD, FD_CLOEXEC);
  const int size = 1 << 20;
  for (int each : pair) {
    ::setsockopt(each, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
    ::setsockopt(each, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
  }
  const char *python = std::getenv("TREMULA_PYTHON");
  if (!python || !*python)
    python = TREMULA_PYTHON;
  // -P: the folder in which the program was started is not searched for modules
  std::vector<std::string> command{python, "-P", "-m", MODULE, "3", std::to_string(wireVersion)};
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread(keep, pair[1], std::move(command)).detach();
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  while (!started)
    std::this_thread::yield();
  if (started < 0)
    throw system_runtime_error("no process could be started for the graph");
  socket_ = parentSocket = pair[0];
  ::pthread_atfork(nullptr, nullptr, forgetInChild);
  std::atexit(ConnectionAtExit::run);
}

// At the end of the program: the server finishes its files and gives devices back.
void Connection::finish() {
  if (owner_ != ::getpid() || finishing)
    return;
  if (ended) {
    finishing = true;
    return;
  }
  finishing = true;
  broken_ = true;
  ::shutdown(socket_, SHUT_WR);
  for (int i = 0; i < 1000 && !ended; ++i) {
    // what it still says is not needed, but must not keep it from ending
    struct pollfd waiting = {socket_, POLLIN, 0};
    if (::poll(&waiting, 1, 10) > 0) {
      char rest[65536];
      if (::recv(socket_, rest, sizeof(rest), MSG_DONTWAIT) <= 0)
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
  if (!ended && server > 0)
    ::kill(server, SIGKILL);
}

void Connection::lost() {
  broken_ = true;
  if (finishing)
    throw unrecoverable_runtime_error("the program is ending; graphs and engines cannot be used any more");
  throw unrecoverable_runtime_error("the process that builds and runs the graph has ended" + endingOfServer());
}

void Connection::writeAll(const void *from, std::size_t length) {
  const char *at = static_cast<const char *>(from);
  while (length) {
    const ssize_t done = ::send(socket_, at, length, MSG_NOSIGNAL);
    if (done < 0 && errno == EINTR)
      continue;
    if (done <= 0)
      lost();
    at += done;
    length -= static_cast<std::size_t>(done);
  }
}

void Connection::readAll(void *to, std::size_t length) {
  char *at = static_cast<char *>(to);
  while (length) {
    const ssize_t done = ::recv(socket_, at, length, 0);
    if (done < 0 && errno == EINTR)
      continue;
    if (done <= 0)
      lost();
    at += done;
    length -= static_cast<std::size_t>(done);
  }
}

void Connection::send(char kind, const Writer &payload) {
  if (broken_)
    lost();
  const std::uint64_t length = payload.bytes().size();
  if (length > LARGEST_FRAME)
    throw overflow_error("a message of " + std::to_string(length) + " bytes is larger than the limit of 16 GiB");
  char header[9];
  std::memcpy(header, &length, 8);
  header[8] = kind;
  writeAll(header, sizeof(header));
  writeAll(payload.bytes().data(), payload.bytes().size());
}

char Connection::receive(std::vector<char> &payload) {
  char header[9];
  readAll(header, sizeof(header));
  std::uint64_t length;
  std::memcpy(&length, header, 8);
  if (length > LARGEST_FRAME) {
    broken_ = true;
    throw unrecoverable_runtime_error("the process that builds the graph sent a message of an impossible size");
  }
  payload.resize(static_cast<std::size_t>(length));
  readAll(payload.data(), payload.size());
  return header[8];
}

void Connection::flush() {
  std::vector<std::pair<char, std::uint32_t>> gone;
  {
    std::lock_guard<std::mutex> lock(releasedMutex_);
    gone.swap(released_);
  }
  if (!gone.empty()) {
    Writer numbers;
    std::vector<std::int64_t> column;
    for (const auto &each : gone) {
      column.push_back(each.first);
      column.push_back(each.second);
    }
    numbers.column(column);
    notice("release", numbers, 1);
  }
  flushGraphs();
}

void Connection::flushGraphs() {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  for (GraphCore *core : cores_)
    core->flush();
}

void Connection::notice(const std::string &name, const Writer &arguments, std::size_t count) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  Writer payload;
  payload.list(count + 1);
  payload.text(name);
  payload.append(arguments);
  send('N', payload);
}

Result Connection::request(const std::string &name, const Value &arguments, std::size_t count,
                           const std::string &where) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  if (broken_)
    lost();
  flush();
  Writer payload;
  payload.list(count + 2);
  payload.text(name);
  payload.text(where);
  payload.append(arguments.writer);
  send('Q', payload);
  std::exception_ptr thrown;
  std::vector<char> frame;
  for (;;) {
    const char kind = receive(frame);
    if (kind == 'U' || kind == 'P') {
      const std::vector<char> asked = std::move(frame);
      frame = std::vector<char>();
      try {
        answer(asked);
      } catch (...) {
        if (broken_)
          throw;
        thrown = std::current_exception();
        if (kind == 'U')
          send('W', Writer());
      }
      continue;
    }
    Reader reader(frame.data(), frame.size());
    const Result found = reader.value();
    if ((kind != 'R' && kind != 'X') || found.size() < 3) {
      broken_ = true;
      throw unrecoverable_runtime_error("the process that builds the graph sent a message that is not known");
    }
    learn(found[0]);
    if (kind == 'X') {
      if (thrown)
        std::rethrow_exception(thrown);
      throwByName(found[1].text(), found[2].text());
    }
    return found[1];
  }
}

// What was added to graphs in the other process.
void Connection::learn(const Result &changes) {
  for (const Result &change : changes.items())
    for (GraphCore *core : cores_)
      if (static_cast<std::int64_t>(core->number) == change[0].integer())
        core->learnVariables(change);
}

void Connection::answer(const std::vector<char> &payload) {
  Reader reader(payload.data(), payload.size());
  const Result asked = reader.value();
  const bool wanted = asked[0].boolean();
  learn(asked[2]);
  const auto found = answers_.find(static_cast<std::uint32_t>(asked[1].integer()));
  if (found == answers_.end())
    throw system_runtime_error("the process that runs the graph asked for a callback that is not there any more");
  const std::shared_ptr<Answer> function = found->second; // it may be replaced while it runs
  const std::vector<Result> arguments(asked[3].items().begin(), asked[3].items().end());
  const Value given = (*function)(arguments);
  if (!wanted)
    return;
  flush();
  Writer reply;
  if (given.writer.bytes().empty())
    reply.none();
  else
    reply.append(given.writer);
  send('V', reply);
}

std::uint32_t Connection::addAnswer(Answer answer) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  answers_[nextAnswer_] = std::make_shared<Answer>(std::move(answer));
  return nextAnswer_++;
}

void Connection::removeAnswer(std::uint32_t number) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  answers_.erase(number);
}

void Connection::release(char kind, std::uint32_t number) {
  std::lock_guard<std::mutex> lock(releasedMutex_);
  released_.emplace_back(kind, number);
}

void Connection::addCore(GraphCore *core) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  cores_.push_back(core);
}

void Connection::removeCore(GraphCore *core) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  cores_.erase(std::remove(cores_.begin(), cores_.end(), core), cores_.end());
}

RemoteObject::~RemoteObject() {
  if (Connection::alive())
    Connection::get().release('h', number);
}

// -- values from bytes

namespace {
[[noreturn]] void malformed(const char *what) {
  throw unrecoverable_runtime_error(std::string("the process that builds the graph sent a value that cannot be read: ") + what);
}
} // namespace

const char *Reader::take(std::size_t length) {
  if (length > static_cast<std::size_t>(end_ - at_))
    malformed("it is too short");
  const char *from = at_;
  at_ += length;
  return from;
}

template <typename T> T Reader::raw() {
  T value;
  std::memcpy(&value, take(sizeof(T)), sizeof(T));
  return value;
}

std::string Reader::string() {
  const std::uint32_t length = raw<std::uint32_t>();
  return std::string(take(length), length);
}


std::shared_ptr<Tensor> Reader::tensor() {
  const std::shared_ptr<GraphCore> core = coreByNumber(raw<std::uint32_t>());
  const Type type(raw<std::uint8_t>());
  const unsigned rank = raw<std::uint8_t>();
  Dims shape, strides;
  std::uint64_t elements = 1;
  for (unsigned i = 0; i < rank; ++i) {
    shape.push(raw<std::int64_t>());
    if (shape[i] < 0)
      malformed("a length is negative");
    elements *= static_cast<std::uint64_t>(shape[i]);
  }
  if (raw<std::uint8_t>()) {
    if (elements > static_cast<std::uint64_t>(end_ - at_) / 8)
      malformed("a list of addresses is too short");
    Addresses addresses(static_cast<std::size_t>(elements));
    std::memcpy(addresses.data(), take(static_cast<std::size_t>(elements) * 8),
                static_cast<std::size_t>(elements) * 8);
    return std::make_shared<Tensor>(
        TensorAccess::make(core, type, shape, 0, contiguousStrides(shape, 1),
                           std::make_shared<const Addresses>(std::move(addresses))));
  }
  const std::int64_t offset = raw<std::int64_t>();
  for (unsigned i = 0; i < rank; ++i)
    strides.push(raw<std::int64_t>());
  return std::make_shared<Tensor>(TensorAccess::make(core, type, shape, offset, strides));
}

Result Reader::value() {
  Result made;
  if (++depth_ > DEEPEST)
    malformed("it is nested too deeply");
  switch (raw<char>()) {
  case 'N':
    break;
  case '0':
  case '1':
    made.kind = Result::Kind::Boolean;
    made.integer_ = at_[-1] == '1';
    break;
  case 'i':
  case 'u':
    made.kind = Result::Kind::Integer;
    made.integer_ = raw<std::int64_t>();
    break;
  case 'd':
    made.kind = Result::Kind::Real;
    made.real_ = raw<double>();
    break;
  case 's':
    made.kind = Result::Kind::Text;
    made.text_ = string();
    break;
  case 'b': {
    made.kind = Result::Kind::Data;
    made.letter = 'B';
    const std::uint64_t length = raw<std::uint64_t>();
    made.text_.assign(take(static_cast<std::size_t>(length)), static_cast<std::size_t>(length));
    break;
  }
  case 'a': {
    made.kind = Result::Kind::Data;
    made.letter = raw<char>();
    if (made.letter != 'q' && made.letter != 'd')
      malformed("an array has an unknown type");
    const std::uint64_t count = raw<std::uint64_t>();
    if (count > LARGEST_FRAME)
      malformed("an array is too long");
    made.text_.assign(take(static_cast<std::size_t>(count) * 8), static_cast<std::size_t>(count) * 8);
    break;
  }
  case 'l':
  case 'm': {
    const bool map = at_[-1] == 'm';
    made.kind = map ? Result::Kind::Map : Result::Kind::List;
    const std::uint32_t count = raw<std::uint32_t>();
    if (count > static_cast<std::size_t>(end_ - at_))
      malformed("a list is too long");
    made.items_.reserve(count);
    for (std::uint32_t i = 0; i < count; ++i) {
      if (map)
        made.keys_.push_back(string());
      made.items_.push_back(value());
    }
    break;
  }
  case 't':
    made.kind = Result::Kind::Tensor;
    made.tensor_ = tensor();
    break;
  case 'y':
    made.kind = Result::Kind::Type;
    made.integer_ = raw<std::uint8_t>();
    break;
  case 'p':
    made.kind = Result::Kind::Program;
    made.program_ = std::make_shared<program::Program>(ProgramAccess::ofServer(raw<std::uint32_t>()));
    break;
  case 'c':
    made.kind = Result::Kind::ComputeSet;
    made.real_ = raw<std::uint32_t>();
    made.integer_ = raw<std::uint32_t>();
    break;
  case 'h':
    made.kind = Result::Kind::Object;
    made.object_ = std::make_shared<RemoteObject>(raw<std::uint32_t>());
    break;
  default:
    malformed("its kind is unknown");
  }
  --depth_;
  return made;
}

} // namespace detail
} // namespace poplar
