// Operators of PopART: types, attributes, the registries, and the helpers of Op and Opx.
#include <popart/attributes.hpp>
#include <popart/logging.hpp>
#include <popart/op/identity.hpp>
#include <popart/opmanager.hpp>
#include <popart/popx/opxmanager.hpp>

#include <poplar/TensorCloneMethod.hpp>

#include <mutex>

namespace popart {

// -- types

const DataTypeInfo &dataTypeInfo(DataType type) {
  static const std::vector<DataTypeInfo> table = {
      {DataType::UINT8, 1, true, "UINT8", "uint8"},
      {DataType::INT8, 1, true, "INT8", "int8"},
      {DataType::UINT16, 2, true, "UINT16", "uint16"},
      {DataType::INT16, 2, true, "INT16", "int16"},
      {DataType::INT32, 4, true, "INT32", "int32"},
      {DataType::INT64, 8, true, "INT64", "int64"},
      {DataType::UINT32, 4, true, "UINT32", "uint32"},
      {DataType::UINT64, 8, true, "UINT64", "uint64"},
      {DataType::BOOL, 1, true, "BOOL", "bool"},
      {DataType::FLOAT, 4, false, "FLOAT", "float32"},
      {DataType::FLOAT16, 2, false, "FLOAT16", "float16"},
      {DataType::BFLOAT16, 2, false, "BFLOAT16", "bfloat16"},
      {DataType::DOUBLE, 8, false, "DOUBLE", "float64"},
      {DataType::COMPLEX64, 8, false, "COMPLEX64", "complex64"},
      {DataType::COMPLEX128, 16, false, "COMPLEX128", "complex128"},
      {DataType::STRING, -1, false, "STRING", "string"},
      {DataType::FLOAT8_143, 1, false, "FLOAT8_143", "float8_143"},
      {DataType::FLOAT8_152, 1, false, "FLOAT8_152", "float8_152"},
      {DataType::UNDEFINED, -1, false, "UNDEFINED", "undefined"},
  };
  return table.at(static_cast<std::size_t>(type));
}

DataType dataTypeFromString(const std::string &name) {
  for (int number = 0; number <= static_cast<int>(DataType::UNDEFINED); ++number) {
    const DataTypeInfo &info = dataTypeInfo(static_cast<DataType>(number));
    if (info.name() == name || info.lcasename() == name)
      return info.type();
  }
  throw error("there is no data type {}", name);
}

std::ostream &operator<<(std::ostream &os, const DataType &type) { return os << dataTypeInfo(type).name(); }

static std::size_t lengthOf(const Shape &shape, std::size_t rank, std::size_t place) {
  std::size_t missing = rank - shape.size();
  return place < missing ? 1 : static_cast<std::size_t>(shape[place - missing]);
}

Shape npOut(const Shape &a, const Shape &b) {
  std::size_t rank = std::max(a.size(), b.size());
  Shape found;
  for (std::size_t place = 0; place < rank; ++place) {
    std::size_t x = lengthOf(a, rank, place), y = lengthOf(b, rank, place);
    if (x != y && x != 1 && y != 1)
      throw error("shapes {} and {} do not broadcast", a, b);
    found.push_back(static_cast<std::int64_t>(x == 1 ? y : x));
  }
  return found;
}

TensorInfo npOut(const TensorInfo &a, const TensorInfo &b) {
  if (a.dataType() != b.dataType())
    throw error("types {} and {} differ", a.dataType(), b.dataType());
  return TensorInfo(a.dataType(), npOut(a.shape(), b.shape()));
}

// -- attributes

std::vector<std::string> Attributes::getNames() const {
  std::vector<std::string> names;
  for (const auto &each : kinds_)
    names.push_back(each.first);
  return names;
}

// As in ONNX, an attribute has one type. Asked for as another type it is empty or zero; that is said once.
static void tellOfOtherType(const std::string &name, const char *asked, const char *given) {
  static std::mutex guard;
  static std::set<std::vector<std::string>> told;
  std::lock_guard<std::mutex> locked(guard);
  if (told.insert({name, asked, given}).second)
    logging::warn("attribute {} is given as {}, but the operator asks for {}: it gets none of its values", name, given,
                  asked);
}

template <typename V> V Attributes::found(const std::map<std::string, V> &values, const std::string &name, Kind asked) const {
  static const char *const names[] = {"int", "ints", "float", "floats", "string", "strings"};
  auto kind = kinds_.find(name);
  if (kind == kinds_.end())
    throw error("no attribute key {}", name);
  if (kind->second == asked)
    return values.at(name);
  // a list without values has no type
  if (kind->second == Kind::Ints && ints_.at(name).empty())
    return V();
  tellOfOtherType(name, names[static_cast<int>(asked)], names[static_cast<int>(kind->second)]);
  return V();
}

template <> Attributes::Ints Attributes::getAttribute<Attributes::Ints>(const std::string &name) const {
  return found(ints_, name, Kind::Ints);
}
template <> Attributes::Floats Attributes::getAttribute<Attributes::Floats>(const std::string &name) const {
  return found(floats_, name, Kind::Floats);
}
template <> Attributes::Strings Attributes::getAttribute<Attributes::Strings>(const std::string &name) const {
  return found(strings_, name, Kind::Strings);
}
template <> Attributes::Int Attributes::getAttribute<Attributes::Int>(const std::string &name) const {
  Ints values = found(ints_, name, Kind::Int);
  return values.empty() ? 0 : values.front();
}
template <> Attributes::Float Attributes::getAttribute<Attributes::Float>(const std::string &name) const {
  Floats values = found(floats_, name, Kind::Float);
  return values.empty() ? 0.0f : values.front();
}
// An empty text counts as missing.
template <> Attributes::String Attributes::getAttribute<Attributes::String>(const std::string &name) const {
  Strings values = found(strings_, name, Kind::String);
  if (values.empty() || values.front().empty())
    throw error("no attribute key {} with a text", name);
  return values.front();
}
template <>
Attributes::String Attributes::getAttribute<Attributes::String>(const std::string &name, const String &other) const {
  if (!hasAttribute(name))
    return other;
  Strings values = found(strings_, name, Kind::String);
  return values.empty() || values.front().empty() ? other : values.front();
}

// -- operators

Tensor *TensorIndexMap::tensor(int index) const {
  auto found = tensors_.find(index);
  if (found == tensors_.end())
    throw error("the operator has no tensor with index {}; it has {}", index, tensors_.size());
  return found->second.get();
}

void Graph::connect(const std::shared_ptr<Op> &op, const std::map<InIndex, TensorId> &,
                    const std::map<OutIndex, TensorId> &) {
  throw error("{} cannot be added to this graph: operators are created in graphs of PopXL only, through their Python "
              "bindings. A PopART session makes one where the model has it (builder.customOp)",
              op->opid);
}

void Op::setup() { throw error("operator {} does not say what its outputs are: it has no setup()", opid); }

const std::vector<GradInOutMapper> &Op::gradInputInfo() const {
  throw error("gradient operator {} does not say what its inputs are: it has no gradInputInfo()", opid);
}

const std::map<int, int> &Op::gradOutToNonGradIn() const {
  throw error("gradient operator {} does not say what its outputs are: it has no gradOutToNonGradIn()", opid);
}

std::unique_ptr<Op> Op::getInplaceVariant(const OperatorIdentifier &wanted) const {
  throw error("operator {} has no in-place form {}", opid, wanted);
}

TensorInfo &Op::outInfo(OutIndex index) {
  // an operator may name an output for the first time in its setup()
  if (!output->hasIndex(index))
    output->insert(index, Tensor(opid.type + "/output" + std::to_string(index), TensorInfo()));
  return output->tensor(index)->info;
}

IdentityGradOp::IdentityGradOp(const Op::Settings &settings)
    : Op(OperatorIdentifier("ai.graphcore", "IdentityGrad", 1), settings) {}

std::unique_ptr<Op> IdentityGradOp::clone() const { return std::unique_ptr<Op>(new IdentityGradOp(*this)); }

const std::vector<GradInOutMapper> &IdentityGradOp::gradInputInfo() const {
  static const std::vector<GradInOutMapper> found = {{0, 0, GradOpInType::GradOut}};
  return found;
}

const std::map<int, int> &IdentityGradOp::gradOutToNonGradIn() const {
  static const std::map<int, int> found = {{0, 0}};
  return found;
}

// -- registries

static std::vector<OpManager::Entry> &operators() {
  static std::vector<OpManager::Entry> entries;
  return entries;
}

void OpManager::registerOp(const OperatorIdentifier &opid, const OpDefinition &definition, OpFactoryFunc make) {
  for (Entry &each : operators())
    if (each.opid == opid) {
      each = Entry{opid, definition, make};
      return;
    }
  operators().push_back(Entry{opid, definition, make});
}

const std::vector<OpManager::Entry> &OpManager::entries() { return operators(); }

namespace popx {

static std::map<OperatorIdentifier, OpxManager::OpxFactoryFunc> &implementations() {
  static std::map<OperatorIdentifier, OpxManager::OpxFactoryFunc> entries;
  return entries;
}

void OpxManager::registerOpx(const OperatorIdentifier &opid, OpxFactoryFunc make) { implementations()[opid] = make; }

std::unique_ptr<Opx> OpxManager::createOpx(Op *op, Devicex *device) {
  auto found = implementations().find(op->opid);
  return found == implementations().end() ? std::unique_ptr<Opx>() : found->second(op, device);
}

// -- implementations

class IdentityGradOpx : public Opx {
public:
  IdentityGradOpx(Op *op, Devicex *device) : Opx(op, device) {}
  void grow(poplar::program::Sequence &prog) const override { setOutTensor(0, cloneNcopy(prog, getInTensor(0))); }
};

static OpxCreator<IdentityGradOpx> identityGradOpxCreator(OperatorIdentifier("ai.graphcore", "IdentityGrad", 1));

poplar::Type popType(DataType type) {
  switch (type) {
  case DataType::UINT8:
    return poplar::UNSIGNED_CHAR;
  case DataType::INT8:
    return poplar::SIGNED_CHAR;
  case DataType::UINT16:
    return poplar::UNSIGNED_SHORT;
  case DataType::INT16:
    return poplar::SHORT;
  case DataType::INT32:
  case DataType::INT64:
    return poplar::INT;
  case DataType::UINT32:
  case DataType::UINT64:
    return poplar::UNSIGNED_INT;
  case DataType::BOOL:
    return poplar::BOOL;
  case DataType::FLOAT:
    return poplar::FLOAT;
  case DataType::FLOAT16:
    return poplar::HALF;
  default:
    throw error("the device has no type for {}", type);
  }
}

poplar::Type popType(const TensorInfo &info) { return popType(info.dataType()); }

void Opx::grow(poplar::program::Sequence &) const { throw error("the Opx of {} has no grow()", op_p->opid); }

poplar::Tensor Opx::createInput(InIndex index, const poplar::DebugNameAndId &) const {
  throw error("the Opx of {} has no createInput() for input {}", op_p->opid, index);
}

const poplar::Tensor &Opx::get(const TensorId &id) const {
  auto found = dv_p->tensors.find(id);
  if (found == dv_p->tensors.end())
    throw error("there is no Poplar tensor {} yet", id);
  return found->second;
}

void Opx::setOutTensor(OutIndex index, const poplar::Tensor &tensor) const {
  std::vector<std::size_t> wanted = outInfo(index).shape_szt();
  if (tensor.shape() != wanted) {
    Shape given(tensor.shape().begin(), tensor.shape().end());
    throw error("output {} of {} has shape {}, but setup() said {}", index, op_p->opid, given, outShape(index));
  }
  insert(outId(index), tensor);
}

poplar::Tensor Opx::cloneNcopy(poplar::program::Sequence &prog, const poplar::Tensor &tensor,
                               const std::string &name) const {
  poplar::Tensor made = graph().clone(tensor, debugContext(name.empty() ? "clone" : name));
  prog.add(poplar::program::Copy(tensor, made));
  return made;
}

poplar::Tensor Opx::getConst(const poplar::Type &type, const std::vector<std::size_t> &shape, double value,
                             const std::string &name) const {
  poplar::Tensor made = type == poplar::HALF || type == poplar::FLOAT
                            ? graph().addConstant(type, shape, static_cast<float>(value), debugContext(name))
                            : graph().addConstant(type, shape, static_cast<int>(value), debugContext(name));
  graph().setTileMapping(made, 0);
  return made;
}

poplar::Tensor Opx::getScalarVariable(const poplar::Type &type, const std::string &name) const {
  poplar::Tensor made = graph().addVariable(type, {}, debugContext(name));
  graph().setTileMapping(made, 0);
  return made;
}

poplar::Tensor Opx::broadcast(const std::vector<std::int64_t> &shape, poplar::Tensor tensor) const {
  while (tensor.rank() < shape.size())
    tensor = tensor.expand({0});
  for (unsigned place = 0; place < shape.size(); ++place) {
    std::size_t wanted = static_cast<std::size_t>(shape[place]);
    if (tensor.dim(place) == 1 && wanted != 1)
      tensor = tensor.broadcast(static_cast<unsigned>(wanted), place);
  }
  return tensor;
}

} // namespace popx
} // namespace popart
