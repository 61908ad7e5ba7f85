// Marks wait here, and go to the other process in groups, with their times.
#include "core.hpp"

#include <pvti/pvti.hpp>

#include <atomic>
#include <mutex>
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif

namespace pvti {

namespace {

using poplar::detail::Writer;

const std::size_t MANY = 1000;

bool recording() {
  static const bool wanted = std::getenv("PVTI_OPTIONS") != nullptr;
  return wanted;
}

std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::int64_t thread() {
#ifdef __linux__
  return static_cast<std::int64_t>(::syscall(SYS_gettid));
#else
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(pthread_self()));
#endif
}

class Marks {
public:
  static Marks &get() {
    static Marks *made = new Marks(); // outlives all threads
    return *made;
  }

  void add(const char *kind, const std::string &channel, const std::string &label,
           const std::string &metadata) {
    if (!recording() || off(channel))
      return;
    const std::lock_guard<std::mutex> lock(mutex_);
    waiting_.list(6);
    waiting_.text(kind);
    waiting_.integer(thread());
    waiting_.integer(now());
    waiting_.text(channel);
    waiting_.text(label);
    if (metadata.empty())
      waiting_.none();
    else
      waiting_.text(metadata);
    counted();
  }

  void sample(const std::vector<std::string> &of, const std::vector<double> &edges,
              const std::vector<double> &values) {
    if (!recording())
      return;
    const std::lock_guard<std::mutex> lock(mutex_);
    waiting_.list(5);
    waiting_.text(edges.empty() ? "series" : "heat map");
    waiting_.integer(now());
    waiting_.list(of.size());
    for (const std::string &each : of)
      waiting_.text(each);
    waiting_.column(edges);
    waiting_.column(values);
    counted();
  }

  void flush() {
    const std::lock_guard<std::mutex> lock(mutex_);
    send();
  }

  void choose(const std::string &channel, bool on) {
    const std::lock_guard<std::mutex> lock(mutex_);
    chosen_[channel] = on;
  }
  bool off(const std::string &channel) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = chosen_.find(channel);
    return found != chosen_.end() && !found->second;
  }
  std::map<std::string, bool> all() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return chosen_;
  }

private:
  void counted() {
    if (!count_++) {
      // the server is started before this handler is registered, so that it is stopped after it has run
      poplar::detail::Connection::get();
      static const int registered = std::atexit([] { Marks::get().flush(); });
      static_cast<void>(registered);
    }
    if (count_ >= MANY)
      send();
  }
  void send() {
    if (!count_ || !poplar::detail::Connection::alive())
      return;
    Writer rows;
    rows.list(count_);
    rows.append(waiting_);
    waiting_.clear();
    count_ = 0;
    poplar::detail::Connection::get().notice("marks", rows, 1);
  }

  std::mutex mutex_;
  Writer waiting_;
  std::size_t count_ = 0;
  std::map<std::string, bool> chosen_;
};

} // namespace

TraceChannel traceDrivers("Drivers");
TraceChannel tracePoplar("Poplar");
TraceChannel traceFramework("Framework");

TraceChannel::TraceChannel(const std::string &name) : name_(name) {
  if (!Marks::get().all().count(name))
    Marks::get().choose(name, true);
}
TraceChannel createTraceChannel(const std::string &name) { return TraceChannel(name); }
void enableTraceChannel(TraceChannel *channel) { Marks::get().choose(channel->name(), true); }
void disableTraceChannel(TraceChannel *channel) { Marks::get().choose(channel->name(), false); }
bool checkTraceChannel(const TraceChannel *channel) {
  return recording() && !Marks::get().off(channel->name());
}
std::vector<std::pair<std::string, bool>> listTraceChannels() {
  std::vector<std::pair<std::string, bool>> all;
  for (const auto &each : Marks::get().all())
    all.emplace_back(each.first, recording() && each.second);
  return all;
}
std::string getCurrentTraceFilename() {
  if (!recording())
    return "";
  Marks::get().flush();
  return poplar::detail::ask("trace file").text();
}
void closeTrace() {
  if (!recording())
    return;
  Marks::get().flush();
  poplar::detail::ask("close trace");
}

Tracepoint::Tracepoint(const TraceChannel *channel, const std::string &label, const std::string &metadata)
    : channel_(channel), label_(label) {
  begin(channel, label, metadata);
}
Tracepoint::~Tracepoint() { end(channel_, label_); }
void Tracepoint::begin(const TraceChannel *channel, const std::string &label, const std::string &metadata) {
  Marks::get().add("begin", channel->name(), label, metadata);
}
void Tracepoint::end(const TraceChannel *channel, const std::string &label, const std::string &metadata) {
  Marks::get().add("end", channel->name(), label, metadata);
}
void Tracepoint::event(const TraceChannel *channel, const std::string &label, const std::string &metadata) {
  Marks::get().add("moment", channel->name(), label, metadata);
}

ThreadName::ThreadName(const std::string &name) { Marks::get().add("name", "", name, ""); }

void Series::add(double value) { Marks::get().sample({graph_, unit_, name_}, {}, {value}); }
void HeatmapDouble::add(const std::vector<double> &values) {
  Marks::get().sample({name_, unit_}, edges_, values);
}

std::string createJsonMetadata(const std::map<std::string, std::string> &values) {
  std::ostringstream out;
  poplar::ProfileValue::Map map;
  for (const auto &each : values)
    map.emplace(each.first, poplar::ProfileValue(each.second));
  poplar::serializeToJSON(out, poplar::ProfileValue(map));
  std::string text = out.str();
  text.erase(text.find_last_not_of('\n') + 1);
  return text;
}

} // namespace pvti
