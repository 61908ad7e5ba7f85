// Calls of functions of the Python packages: the byte forms of arguments, and what comes back.
#include "core.hpp"

#include <poplar/CSRFunctions.hpp>
#include <poplar/CycleCount.hpp>
#include <poplar/RandomSeed.hpp>

namespace poplar {
namespace detail {

std::uint32_t lowerProgram(const std::shared_ptr<ProgramNode> &root);

void addGraph(Value &to, const Graph &graph) { to.writer.reference('g', graph.number()); }
void addProgram(Value &to, const program::Program &program) {
  to.writer.reference('p', lowerProgram(ProgramAccess::node(program)));
}
void addComputeSet(Value &to, const ComputeSet &cs) {
  to.writer.reference('c', cs.graph());
  to.writer.raw(static_cast<std::uint32_t>(cs.getId()));
}
void addObject(Value &to, const std::shared_ptr<RemoteObject> &object) {
  if (object)
    to.writer.reference('h', object->number);
  else
    to.writer.none();
}

namespace {
// A callback that lives as long as the process: the server may keep the function.
std::uint32_t keptAnswer(Callback function) { return Connection::get().addAnswer(std::move(function)); }
} // namespace

void addCallback(Value &to, Callback function) {
  to.writer.reference('F', keptAnswer(std::move(function)));
}

void addSequence(Value &to, program::Sequence &sequence) {
  to.writer.tag('q');
  program::Sequence *target = &sequence;
  to.returned.push_back([target](const Result &programs) {
    for (const Result &each : programs.items())
      target->add(each.program());
  });
}
void addOut(Value &to, std::vector<ComputeSet> &vector) {
  to.writer.tag('w');
  std::vector<ComputeSet> *target = &vector;
  to.returned.push_back([target](const Result &items) {
    for (const Result &each : items.items())
      target->push_back(each.computeSet());
  });
}
void addOut(Value &to, std::vector<Tensor> &vector) {
  to.writer.tag('w');
  std::vector<Tensor> *target = &vector;
  to.returned.push_back([target](const Result &items) {
    for (const Result &each : items.items())
      target->push_back(each.tensor());
  });
}
void addOut(Value &to, std::vector<program::Program> &vector) {
  to.writer.tag('w');
  std::vector<program::Program> *target = &vector;
  to.returned.push_back([target](const Result &items) {
    for (const Result &each : items.items())
      target->push_back(each.program());
  });
}

Result finishCall(const char *module, const char *function, std::size_t count, Value &arguments,
                  const SourceLocation &where) {
  Value all;
  all.writer.text(module, std::strlen(module));
  all.writer.text(function, std::strlen(function));
  all.writer.list(count);
  all.append(arguments);
  const Result found = Connection::get().request("call", all, 3, placeOf(where));
  // the result, and what was written to each argument that takes results
  for (std::size_t i = 0; i < all.returned.size(); ++i)
    all.returned[i](found[1][i]);
  return found[0];
}

// -- results

namespace {
[[noreturn]] void unexpected(const char *wanted) {
  throw unrecoverable_runtime_error(std::string("a function gave a result of another kind than ") + wanted);
}
} // namespace

bool Result::boolean() const {
  if (kind != Kind::Boolean && kind != Kind::Integer)
    unexpected("a truth value");
  return integer_ != 0;
}
std::int64_t Result::integer() const {
  if (kind == Kind::Real)
    return static_cast<std::int64_t>(real_);
  if (kind != Kind::Integer && kind != Kind::Boolean)
    unexpected("a whole number");
  return integer_;
}
double Result::real() const {
  if (kind == Kind::Integer || kind == Kind::Boolean)
    return static_cast<double>(integer_);
  if (kind != Kind::Real)
    unexpected("a number");
  return real_;
}
const std::string &Result::text() const {
  if (kind != Kind::Text)
    unexpected("a text");
  return text_;
}
const std::string &Result::data() const {
  if (kind != Kind::Data)
    unexpected("bytes");
  return text_;
}
Tensor Result::tensor() const {
  if (kind != Kind::Tensor)
    unexpected("a tensor");
  return *tensor_;
}
std::vector<Tensor> Result::tensors() const {
  std::vector<Tensor> found;
  for (const Result &each : items_)
    found.push_back(each.tensor());
  return found;
}
Type Result::type() const {
  if (kind != Kind::Type)
    unexpected("an element type");
  return Type(static_cast<unsigned char>(integer_));
}
program::Program Result::program() const {
  if (kind != Kind::Program)
    unexpected("a program");
  return *program_;
}
ComputeSet Result::computeSet() const {
  if (kind != Kind::ComputeSet)
    unexpected("a compute set");
  return ComputeSet(static_cast<unsigned>(integer_), static_cast<unsigned>(real_));
}
std::shared_ptr<RemoteObject> Result::object() const {
  if (kind != Kind::Object)
    unexpected("an object");
  return object_;
}
const Result &Result::operator[](std::size_t place) const {
  if (place >= items_.size())
    unexpected("a list that is long enough");
  return items_[place];
}
const Result &Result::at(const std::string &key) const {
  static const Result none;
  for (std::size_t i = 0; i < keys_.size(); ++i)
    if (keys_[i] == key)
      return items_[i];
  return none;
}

} // namespace detail

// -- functions of the package `poplar` itself

namespace {
detail::Value syncOf(SyncType type) {
  const char *names[] = {"INTERNAL", "EXTERNAL", "GLOBAL"};
  return detail::enumeration("poplar", "SyncType", names[static_cast<int>(type)]);
}
} // namespace

void setFloatingPointBehaviour(Graph &, program::Sequence &, const FloatingPointBehaviour &,
                               const DebugContext &) {
  detail::ask("without effect", "setFloatingPointBehaviour", "the host computes with its own rules");
}
void setFloatingPointBehaviour(Graph &graph, program::Sequence &prog,
                               const FloatingPointBehaviour &behaviour, unsigned, const DebugContext &debug) {
  setFloatingPointBehaviour(graph, prog, behaviour, debug);
}
void setStochasticRounding(Graph &, program::Sequence &, bool, const DebugContext &) {
  detail::ask("without effect", "setStochasticRounding", "the host rounds to the nearest number");
}
void setStochasticRounding(Graph &graph, program::Sequence &prog, bool enable, unsigned,
                           const DebugContext &debug) {
  setStochasticRounding(graph, prog, enable, debug);
}
Tensor getHwSeeds(Graph &graph, program::Sequence &program, const DebugContext &debug) {
  return detail::call("poplar", "getHwSeeds", graph, program, debug).tensor();
}
void setHwSeeds(Graph &graph, const Tensor &seeds, program::Sequence &program, const DebugContext &debug) {
  detail::call("poplar", "setHwSeeds", graph, seeds, program, debug);
}

Tensor cycleCount(Graph &graph, program::Sequence &program, unsigned tile, SyncType syncType,
                  const DebugContext &debug) {
  const program::Program body = program;
  const detail::Result made =
      detail::ask("cycle count", graph, static_cast<const program::Program &>(body), tile, syncOf(syncType), debug);
  program::Sequence counted;
  counted.add(made[1].program());
  program = counted;
  return made[0].tensor();
}

Tensor cycleStamp(Graph &graph, program::Sequence &program, unsigned tile, SyncType syncType,
                  const DebugContext &debug) {
  return detail::call("poplar", "cycleStamp", graph, program, tile, syncOf(syncType), debug).tensor();
}

std::vector<Tensor> cycleStamp(Graph &graph, program::Sequence &program,
                               const std::vector<unsigned> &tiles, SyncType syncType,
                               const DebugContext &debug) {
  std::vector<Tensor> all;
  for (unsigned tile : tiles)
    all.push_back(cycleStamp(graph, program, tile, syncType, debug));
  return all;
}

} // namespace poplar
