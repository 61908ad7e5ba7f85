// Marks of a program on the host, for a trace file: spans, moments, and numbers over time. They are recorded where
// PVTI_OPTIONS asks for it; the process beside the program writes the file.
#ifndef PVTI_PVTI_HPP
#define PVTI_PVTI_HPP

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace pvti {

typedef std::chrono::steady_clock::time_point Timestamp;

// A named group of marks, which are switched on and off together. Those with one name are one group.
class TraceChannel {
public:
  TraceChannel(const std::string &name);
  TraceChannel(const char *name) : TraceChannel(std::string(name)) {}
  const std::string &name() const { return name_; }

private:
  std::string name_;
};

TraceChannel createTraceChannel(const std::string &name);
void enableTraceChannel(TraceChannel *channel);
void disableTraceChannel(TraceChannel *channel);
bool checkTraceChannel(const TraceChannel *channel);
std::vector<std::pair<std::string, bool>> listTraceChannels();
std::string getCurrentTraceFilename();
void closeTrace();

extern TraceChannel traceDrivers;
extern TraceChannel tracePoplar;
extern TraceChannel traceFramework;

// A span of time: from its construction to its end.
class Tracepoint {
public:
  Tracepoint(const TraceChannel *channel, const std::string &label, const std::string &metadata = "");
  Tracepoint(const TraceChannel &channel, const std::string &label, const std::string &metadata = "")
      : Tracepoint(&channel, label, metadata) {}
  ~Tracepoint();
  Tracepoint(const Tracepoint &) = delete;
  Tracepoint &operator=(const Tracepoint &) = delete;

  static void begin(const TraceChannel *channel, const std::string &label, const std::string &metadata = "");
  static void end(const TraceChannel *channel, const std::string &label, const std::string &metadata = "");
  static void event(const TraceChannel *channel, const std::string &label, const std::string &metadata = "");

private:
  const TraceChannel *channel_;
  std::string label_;
};

// Names the calling thread in the trace.
class ThreadName {
public:
  explicit ThreadName(const std::string &name);
};

// One line of a graph.
class Series {
public:
  Series(std::string graph, std::string unit, std::string name)
      : graph_(std::move(graph)), unit_(std::move(unit)), name_(std::move(name)) {}
  void add(double value);

private:
  std::string graph_, unit_, name_;
};

class Graph {
public:
  explicit Graph(std::string name, std::string unit = "")
      : name_(std::move(name)), unit_(std::move(unit)) {}
  Series addSeries(const std::string &name) { return Series(name_, unit_, name); }

private:
  std::string name_, unit_;
};

// How values are distributed over time, in bins between these edges.
class HeatmapDouble {
public:
  HeatmapDouble(std::string name, std::vector<double> edges, std::string unit = "")
      : name_(std::move(name)), unit_(std::move(unit)), edges_(std::move(edges)) {}
  void add(const std::vector<double> &values);

private:
  std::string name_, unit_;
  std::vector<double> edges_;
};

// Text of JSON for a mark.
std::string createJsonMetadata(const std::map<std::string, std::string> &values);

} // namespace pvti

#endif
