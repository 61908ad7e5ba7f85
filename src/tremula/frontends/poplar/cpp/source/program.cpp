// Programs: trees of nodes that are sent when they are needed, each once.
#include "core.hpp"

namespace poplar {

using detail::ProgramAccess;
using detail::ProgramNode;

namespace detail {

ProgramNode::~ProgramNode() {
  if (sent && Connection::alive())
    Connection::get().release('p', sent);
}

program::Program ProgramAccess::ofServer(std::uint32_t number) {
  program::Program made;
  made.node_ = std::make_shared<ProgramNode>();
  made.node_->kind = "of server";
  made.node_->sent = number;
  return made;
}

namespace {

std::uint32_t nextProgram = 1;

void writeNode(Writer &to, const ProgramNode &node) {
  to.list(9);
  to.integer(node.sent);
  to.text(node.kind);
  to.text(node.name);
  to.text(node.source);
  std::vector<std::int64_t> children;
  for (const auto &each : node.children)
    children.push_back(each->sent);
  to.column(children);
  to.list(node.tensors.size());
  for (const Tensor &each : node.tensors)
    to.tensor(each);
  to.column(node.numbers);
  to.list(node.texts.size());
  for (const std::string &each : node.texts)
    to.text(each);
  to.list(node.objects.size());
  for (const auto &each : node.objects)
    to.reference('h', each->number);
}

} // namespace

// Sends a program and those below it that were not sent yet, innermost first.
std::uint32_t lowerProgram(const std::shared_ptr<ProgramNode> &root) {
  if (root->sent)
    return root->sent;
  std::vector<ProgramNode *> order;
  std::vector<std::pair<ProgramNode *, std::size_t>> open{{root.get(), 0}};
  std::unordered_set<ProgramNode *> seen{root.get()};
  while (!open.empty()) {
    ProgramNode *node = open.back().first;
    if (open.back().second < node->children.size()) {
      ProgramNode *child = node->children[open.back().second++].get();
      if (!child->sent && seen.insert(child).second)
        open.emplace_back(child, 0);
    } else {
      order.push_back(node);
      open.pop_back();
    }
  }
  Writer nodes;
  nodes.list(order.size());
  for (ProgramNode *node : order) {
    node->sent = nextProgram++;
    writeNode(nodes, *node);
  }
  Connection &connection = Connection::get();
  connection.flushGraphs();
  connection.notice("programs", nodes, 1);
  return root->sent;
}

} // namespace detail

namespace program {

namespace {
ProgramNode &fill(std::shared_ptr<ProgramNode> &node, const char *kind, const DebugContext &debug) {
  node->kind = kind;
  node->name = debug.getPathName();
  node->source = detail::placeOf(debug);
  return *node;
}

std::shared_ptr<ProgramNode> child(const Program &program) { return ProgramAccess::node(program); }

[[noreturn]] void wrong(const std::string &message, const DebugContext &debug) {
  const std::string place = detail::placeOf(debug);
  throw control_program_error(message + (place.empty() ? "" : " (" + place + ")"));
}

void mustBeTensor(const Tensor &tensor, const DebugContext &debug) {
  if (!tensor.valid())
    wrong("a program cannot use a Tensor without a value", debug);
}

void checkEnds(const Type &type, std::size_t elements, const std::string &what, const Tensor &tensor,
               const DebugContext &debug) {
  mustBeTensor(tensor, debug);
  if (type != tensor.elementType() || elements != tensor.numElements())
    wrong(what + std::to_string(elements) + " elements of type " + type.toString() + ", the tensor has " +
              std::to_string(tensor.numElements()) + " of type " + tensor.elementType().toString(),
          debug);
}
} // namespace

Program::Program() : node_(std::make_shared<ProgramNode>()) {}

bool Program::isEmpty() const {
  if (node_->kind == "Sequence") {
    for (const auto &each : node_->children) {
      Program part;
      part.node_ = each;
      if (!part.isEmpty())
        return false;
    }
    return true;
  }
  return node_->kind == "Program";
}

Sequence::Sequence(const DebugContext &debug) { fill(node_, "Sequence", debug); }

Sequence::Sequence(std::initializer_list<Program> programs, const DebugContext &debug) {
  fill(node_, "Sequence", debug);
  for (const Program &each : programs)
    add(each);
}

Sequence::Sequence(const std::vector<Program> &programs, const DebugContext &debug) {
  fill(node_, "Sequence", debug);
  for (const Program &each : programs)
    add(each);
}

void Sequence::add(const Program &program) {
  const std::shared_ptr<ProgramNode> added = child(program);
  if (node_.use_count() > 1 + (added == node_) || node_->sent || node_->kind != "Sequence") {
    // others hold this program as it is
    auto copy = std::make_shared<ProgramNode>();
    copy->kind = "Sequence";
    copy->name = node_->name;
    copy->source = node_->source;
    if (node_->kind == "Sequence")
      copy->children = node_->children;
    else
      copy->children.push_back(node_);
    node_ = copy;
  } else if (added == node_) {
    auto copy = std::make_shared<ProgramNode>();
    copy->kind = "Sequence";
    copy->children = node_->children;
    node_->children.push_back(copy);
    return;
  }
  node_->children.push_back(added);
}

Block::Block(const Program &body, const DebugContext &debug) {
  fill(node_, "Block", debug).children = {child(body)};
}

Execute::Execute(ComputeSet cs, const DebugContext &debug) {
  fill(node_, "Execute", debug).numbers = {cs.graph(), cs.getId()};
}
Execute::Execute(ComputeSet cs, Tensor exitValue, const DebugContext &debug) {
  mustBeTensor(exitValue, debug);
  ProgramNode &node = fill(node_, "Execute", debug);
  node.numbers = {cs.graph(), cs.getId()};
  node.tensors = {exitValue};
}

Copy::Copy(Tensor source, Tensor destination, bool dontOutline, const DebugContext &debug) {
  mustBeTensor(source, debug);
  mustBeTensor(destination, debug);
  if (source.elementType() != destination.elementType())
    wrong("a copy cannot turn " + source.elementType().toString() + " into " +
              destination.elementType().toString() + "; use cast",
          debug);
  if (source.numElements() != destination.numElements())
    wrong("a copy from a tensor of shape " + source.shapeToString() + " to one of shape " +
              destination.shapeToString() + ": the numbers of elements differ",
          debug);
  ProgramNode &node = fill(node_, "Copy", debug);
  node.tensors = {source, destination};
  node.numbers = {dontOutline};
}
Copy::Copy(Tensor source, Tensor destination, const char *name, const DebugContext &debug)
    : Copy(source, destination, false, DebugContext(name, debug.location())) {}

Copy::Copy(const DataStream &stream, Tensor destination, bool optimiseMemory, const DebugContext &debug) {
  if (stream.type() != DataStreamType::HostToDeviceFIFO || !stream.object())
    wrong("stream '" + stream.handle() + "' goes to the host, the copy the other way", debug);
  checkEnds(stream.elementType(), stream.numElements(), "stream '" + stream.handle() + "' carries ",
            destination, debug);
  ProgramNode &node = fill(node_, "StreamRead", debug);
  node.objects = {stream.object()};
  node.tensors = {destination};
  node.numbers = {optimiseMemory};
}
Copy::Copy(Tensor source, const DataStream &stream, bool optimiseMemory, const DebugContext &debug) {
  if (stream.type() != DataStreamType::DeviceToHostFIFO || !stream.object())
    wrong("stream '" + stream.handle() + "' goes to the device, the copy the other way", debug);
  checkEnds(stream.elementType(), stream.numElements(), "stream '" + stream.handle() + "' carries ",
            source, debug);
  ProgramNode &node = fill(node_, "StreamWrite", debug);
  node.objects = {stream.object()};
  node.tensors = {source};
  node.numbers = {optimiseMemory};
}

namespace {
void remote(std::shared_ptr<ProgramNode> &node, const char *kind, const RemoteBuffer &buffer,
            const Tensor &tensor, const Tensor *offset, const DebugContext &debug) {
  const std::size_t rows = offset ? offset->numElements() : 1;
  checkEnds(buffer.elementType(), buffer.numElements() * rows,
            std::to_string(rows) + " rows of remote buffer '" + buffer.handle() + "' are ", tensor, debug);
  ProgramNode &made = fill(node, kind, debug);
  made.objects = {buffer.object()};
  made.tensors = {tensor};
  if (offset)
    made.tensors.push_back(*offset);
}
} // namespace

Copy::Copy(const RemoteBuffer &buffer, Tensor destination, const DebugContext &debug) {
  remote(node_, "RemoteRead", buffer, destination, nullptr, debug);
}
Copy::Copy(const RemoteBuffer &buffer, Tensor destination, Tensor offset, const DebugContext &debug) {
  remote(node_, "RemoteRead", buffer, destination, &offset, debug);
}
Copy::Copy(Tensor source, const RemoteBuffer &buffer, const DebugContext &debug) {
  remote(node_, "RemoteWrite", buffer, source, nullptr, debug);
}
Copy::Copy(Tensor source, const RemoteBuffer &buffer, Tensor offset, const DebugContext &debug) {
  remote(node_, "RemoteWrite", buffer, source, &offset, debug);
}

CrossReplicaCopy::CrossReplicaCopy(Tensor source, Tensor destination,
                                   std::map<unsigned, unsigned> replicaMap, const DebugContext &debug) {
  ProgramNode &node = fill(node_, "CrossReplicaCopy", debug);
  node.tensors = {source, destination};
  for (const auto &each : replicaMap) {
    node.numbers.push_back(each.first);
    node.numbers.push_back(each.second);
  }
}

WriteUndef::WriteUndef(Tensor tensor, const DebugContext &debug) {
  fill(node_, "WriteUndef", debug).tensors = {tensor};
}
AssumeEqualAcrossReplicas::AssumeEqualAcrossReplicas(Tensor tensor, const DebugContext &debug) {
  fill(node_, "AssumeEqualAcrossReplicas", debug).tensors = {tensor};
}

Repeat::Repeat(unsigned count, const Program &body, const DebugContext &debug) {
  ProgramNode &node = fill(node_, "Repeat", debug);
  node.numbers = {count};
  node.children = {child(body)};
}

namespace {
void repeatWhile(std::shared_ptr<ProgramNode> &made, const Program &condition, const Tensor &predicate,
                 const Program &body, bool expected, const DebugContext &debug) {
  mustBeTensor(predicate, debug);
  ProgramNode &node = fill(made, "RepeatWhile", debug);
  node.children = {child(condition), child(body)};
  node.tensors = {predicate};
  node.numbers = {expected};
}
} // namespace

RepeatWhileTrue::RepeatWhileTrue(const Program &condition, Tensor predicate, const Program &body,
                                 const DebugContext &debug) {
  repeatWhile(node_, condition, predicate, body, true, debug);
}
RepeatWhileFalse::RepeatWhileFalse(const Program &condition, Tensor predicate, const Program &body,
                                   const DebugContext &debug) {
  repeatWhile(node_, condition, predicate, body, false, debug);
}

If::If(Tensor predicate, const Program &trueBody, const Program &falseBody, const DebugContext &debug) {
  mustBeTensor(predicate, debug);
  ProgramNode &node = fill(node_, "If", debug);
  node.tensors = {predicate};
  node.children = {child(trueBody), child(falseBody)};
}
If::If(Tensor predicate, const Program &trueBody, const DebugContext &debug)
    : If(predicate, trueBody, Program(), debug) {}

Switch::Switch(Tensor control, const std::vector<std::pair<std::int32_t, Program>> &cases,
               const Program &defaultCase, const DebugContext &debug) {
  mustBeTensor(control, debug);
  ProgramNode &node = fill(node_, "Switch", debug);
  node.tensors = {control};
  node.children = {child(defaultCase)};
  node.numbers = {0}; // whether a value without a case is an error; then the values of the cases
  for (const auto &each : cases)
    add(each.first, each.second);
}
Switch::Switch(Tensor control, const std::vector<std::pair<std::int32_t, Program>> &cases,
               const DebugContext &debug)
    : Switch(control, cases, Program(), debug) {}
Switch::Switch(Tensor control, const DebugContext &debug) : Switch(control, {}, Program(), debug) {}
Switch::Switch(Tensor control, const Program &defaultCase, const DebugContext &debug)
    : Switch(control, {}, defaultCase, debug) {}

Switch Switch::switchWithBoundsChecking(Tensor control,
                                        const std::vector<std::pair<std::int32_t, Program>> &cases,
                                        const DebugContext &debug) {
  Switch made(control, cases, Program(), debug);
  made.node_->numbers[0] = 1;
  return made;
}
Switch Switch::switchWithBoundsChecking(Tensor control, const DebugContext &debug) {
  return switchWithBoundsChecking(control, {}, debug);
}
Switch Switch::switchWithUnreachableDefault(Tensor control, const DebugContext &debug) {
  return switchWithBoundsChecking(control, {}, debug);
}

Switch &Switch::add(std::int32_t value, const Program &body) {
  for (std::size_t i = 1; i < node_->numbers.size(); ++i)
    if (node_->numbers[i] == value)
      throw control_program_error("the switch has a case for " + std::to_string(value) + " already");
  if (node_.use_count() > 1 || node_->sent) {
    auto copy = std::make_shared<ProgramNode>(*node_);
    copy->sent = 0;
    node_ = copy;
  }
  node_->numbers.push_back(value);
  node_->children.push_back(child(body));
  return *this;
}

Call::Call(Function function, const DebugContext &debug) {
  if (!function.object())
    wrong("a Function without a value cannot be called: Graph::addFunction makes one", debug);
  fill(node_, "Call", debug).objects = {function.object()};
}

PrintTensor::PrintTensor(Tensor tensor, const DebugContext &debug)
    : PrintTensor(debug.getPathName().empty() ? StringRef(tensor.getDebugStr()).str() : debug.getPathName(),
                  tensor, debug) {}
PrintTensor::PrintTensor(StringRef title, Tensor tensor, const DebugContext &debug) {
  mustBeTensor(tensor, debug);
  ProgramNode &node = fill(node_, "PrintTensor", debug);
  node.tensors = {tensor};
  node.texts = {title.str()};
}
PrintTensor::PrintTensor(Tensor tensor, const PrintTensorFmt &format, const DebugContext &debug)
    : PrintTensor(tensor.getDebugStr(), tensor, format, debug) {}
PrintTensor::PrintTensor(StringRef title, Tensor tensor, const PrintTensorFmt &format,
                         const DebugContext &debug)
    : PrintTensor(title, tensor, debug) {
  const char *formats[] = {"Auto", "Fixed", "Scientific", "None"};
  node_->numbers = {format.summariseThreshold, format.edgeItems, format.maxLineWidth, format.digits};
  node_->texts.push_back(formats[static_cast<int>(format.floatFormat)]);
  node_->texts.push_back(std::string{format.separator, format.openBracket, format.closeBracket});
}

Sync::Sync(SyncType type, const DebugContext &debug) {
  const char *names[] = {"INTERNAL", "EXTERNAL", "GLOBAL"};
  fill(node_, "Sync", debug).texts = {names[static_cast<int>(type)]};
}

Abort::Abort(const DebugContext &debug) { fill(node_, "Abort", debug).texts = {debug.getPathName()}; }
Abort::Abort(const std::string &message, const DebugContext &debug) {
  fill(node_, "Abort", debug).texts = {message};
}
AbortOnCondition::AbortOnCondition(Tensor predicate, const DebugContext &debug)
    : AbortOnCondition(predicate, debug.getPathName(), debug) {}
AbortOnCondition::AbortOnCondition(Tensor predicate, const std::string &message, const DebugContext &debug) {
  mustBeTensor(predicate, debug);
  ProgramNode &node = fill(node_, "AbortOnCondition", debug);
  node.tensors = {predicate};
  node.texts = {message};
}
ErrorProgram::ErrorProgram(StringRef message, Tensor data, const DebugContext &debug) {
  mustBeTensor(data, debug);
  ProgramNode &node = fill(node_, "ErrorProgram", debug);
  node.tensors = {data};
  node.texts = {message.str()};
}

CallHost::CallHost(const HostFunction &function, ArrayRef<Tensor> inputs, ArrayRef<Tensor> outputs,
                   const DebugContext &debug) {
  ProgramNode &node = fill(node_, "CallHost", debug);
  node.objects = {function.object()};
  node.numbers = {static_cast<std::int64_t>(inputs.size())};
  node.tensors.assign(inputs.begin(), inputs.end());
  node.tensors.insert(node.tensors.end(), outputs.begin(), outputs.end());
}

} // namespace program
} // namespace poplar
