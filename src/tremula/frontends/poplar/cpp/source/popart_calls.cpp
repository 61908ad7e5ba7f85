// Custom operators of PopART for Python, through ctypes: make one, ask for its outputs and gradients, run it.
#include "graph_runner.hpp"

#include <popart/opmanager.hpp>
#include <popart/popx/opxmanager.hpp>

namespace {

using tremula::guarded;
using tremula::TensorShape;

popart::DataType dataTypeOf(const poplar::Type &type) {
  for (popart::DataType each :
       {popart::DataType::FLOAT, popart::DataType::FLOAT16, popart::DataType::INT32, popart::DataType::UINT32,
        popart::DataType::BOOL, popart::DataType::INT8, popart::DataType::UINT8, popart::DataType::INT16,
        popart::DataType::UINT16})
    if (popart::popx::popType(each) == type)
      return each;
  throw popart::error("PopART has no type for {}", type.toString());
}

// The index of the tensor at a place: indices may have gaps, where an optional tensor is missing.
int indexAt(const popart::TensorIndexMap &tensors, int place) {
  std::map<int, popart::TensorId> ids = tensors.tensorIdMap();
  return std::next(ids.begin(), place)->first;
}

// One operator with the types of its tensors.
struct Operator {
  std::shared_ptr<popart::Graph> graph;
  std::shared_ptr<popart::Op> op;
  std::unique_ptr<tremula::GraphRunner> runner;

  void connect(int index, const TensorShape &input) {
    popart::Shape shape(input.shape.begin(), input.shape.end());
    popart::TensorInfo info(dataTypeOf(input.type), shape);
    op->connectIn(index, popart::Tensor("input" + std::to_string(index), info));
  }

  std::vector<poplar::Tensor> grow(poplar::Graph &poplarGraph, poplar::program::Sequence &prog,
                                   const std::vector<poplar::Tensor> &inputs) const {
    popart::popx::Devicex device(poplarGraph);
    std::size_t place = 0;
    for (const auto &each : op->input->tensorIdMap())
      device.tensors[each.second] = inputs[place++];
    std::unique_ptr<popart::popx::Opx> opx = popart::popx::OpxManager::createOpx(op.get(), &device);
    if (!opx)
      throw popart::error("operator {} has no Opx: its library registers no OpxCreator for it", op->opid);
    opx->grow(prog);
    std::vector<poplar::Tensor> results;
    for (const auto &each : op->output->tensorIdMap())
      results.push_back(opx->get(each.second));
    return results;
  }

  std::vector<TensorShape> inputShapes() const {
    std::vector<TensorShape> found;
    for (const auto &each : op->input->tensorMap())
      found.push_back(TensorShape{popart::popx::popType(each.second->info), each.second->info.shape_szt(), true});
    return found;
  }
};

} // namespace

extern "C" {

struct TremulaAttribute {
  const char *name;
  char kind; // i: 64-bit integers, f: floats, s: texts
  long count; // -1: one value, not a list of one
  const void *values;
};

const char *tremula_popart_error() { return tremula::lastError().c_str(); }

long tremula_popart_count() { return static_cast<long>(popart::OpManager::entries().size()); }

int tremula_popart_name(long number, const char **domain, const char **type) {
  const auto &entries = popart::OpManager::entries();
  if (number < 0 || number >= static_cast<long>(entries.size()))
    return -1;
  const popart::OperatorIdentifier &opid = entries[static_cast<std::size_t>(number)].opid;
  *domain = opid.domain.c_str();
  *type = opid.type.c_str();
  return opid.version;
}

void tremula_popart_free(void *handle) { delete static_cast<Operator *>(handle); }

// An operator for inputs of these types, or null. `version` 0: the newest.
void *tremula_popart_make(const char *domain, const char *type, int version, const TremulaAttribute *attributes,
                          long attributeCount, const tremula::TremulaTensor *inputs, int inputCount, int outputCount) {
  return guarded<void *>(nullptr, [&]() -> void * {
    const popart::OpManager::Entry *best = nullptr;
    for (const auto &each : popart::OpManager::entries())
      if (each.opid.domain == domain && each.opid.type == type && (version == 0 || each.opid.version == version) &&
          (best == nullptr || each.opid.version > best->opid.version))
        best = &each;
    if (best == nullptr)
      throw popart::error("no operator {} of domain {} and version {} is registered", type, domain, version);
    popart::Attributes given;
    for (long i = 0; i < attributeCount; ++i) {
      const TremulaAttribute &each = attributes[i];
      bool single = each.count < 0;
      std::size_t count = single ? 1 : static_cast<std::size_t>(each.count);
      if (each.kind == 'i') {
        const std::int64_t *values = static_cast<const std::int64_t *>(each.values);
        given.add(each.name, popart::Attributes::Ints(values, values + count), single);
      } else if (each.kind == 'f') {
        const float *values = static_cast<const float *>(each.values);
        given.add(each.name, popart::Attributes::Floats(values, values + count), single);
      } else {
        const char *const *values = static_cast<const char *const *>(each.values);
        given.add(each.name, popart::Attributes::Strings(values, values + count), single);
      }
    }
    std::unique_ptr<Operator> made(new Operator);
    made->graph = std::make_shared<popart::Graph>();
    popart::Op::Settings settings(*made->graph, type);
    std::vector<popart::TensorId> inputIds, outputIds;
    for (int i = 0; i < inputCount; ++i)
      inputIds.push_back("input" + std::to_string(i));
    for (int i = 0; i < outputCount; ++i)
      outputIds.push_back("output" + std::to_string(i));
    made->op = best->make(popart::OpCreatorInfo(best->opid, settings, given, inputIds, outputIds));
    for (int i = 0; i < inputCount; ++i)
      made->connect(i, tremula::shapeOf(inputs[i]));
    made->op->setup();
    return made.release();
  });
}

// The same as an operator that exists, for inputs of these types at these indices, or null.
void *tremula_popart_make_like(const void *original, const int *indices, const tremula::TremulaTensor *inputs,
                               int inputCount, const int *outputs, int outputCount) {
  return guarded<void *>(nullptr, [&]() -> void * {
    std::unique_ptr<Operator> made(new Operator);
    made->op = static_cast<const popart::Op *>(original)->clone();
    made->graph = made->op->getGraph().shared_from_this();
    for (int i = 0; i < inputCount; ++i)
      made->connect(indices[i], tremula::shapeOf(inputs[i]));
    for (int i = 0; i < outputCount; ++i)
      made->op->output->insert(outputs[i], popart::Tensor("output" + std::to_string(outputs[i]), popart::TensorInfo()));
    made->op->setup();
    for (const auto &each : made->op->output->tensorMap())
      if (std::find(outputs, outputs + outputCount, each.first) == outputs + outputCount)
        throw popart::error("{} has an output with index {}, but no tensor is named for it", made->op->opid, each.first);
      else if (!each.second->info.isSet())
        throw popart::error("{} has no output with index {}: its setup() gives it no type", made->op->opid, each.first);
    return made.release();
  });
}

int tremula_popart_outputs(void *handle) { return static_cast<Operator *>(handle)->op->output->n(); }

// The type of the output at a place: its Poplar type, and its shape into `shape`, which has room for `room` lengths. Gives
// the rank.
int tremula_popart_output(void *handle, int place, int *type, long long *shape, int room) {
  return guarded(-1, [&]() {
    const popart::Op &op = *static_cast<Operator *>(handle)->op;
    const popart::TensorInfo &info = op.output->tensors().at(static_cast<std::size_t>(place))->info;
    if (info.rank() > room)
      throw popart::error("output {} has {} dimensions; {} are possible", place, info.rank(), room);
    *type = static_cast<int>(popart::popx::popType(info).number());
    std::copy(info.shape().begin(), info.shape().end(), shape);
    return info.rank();
  });
}

// Gradient operators of an operator: how many, and each with its inputs connected.
int tremula_popart_gradients(void *handle) {
  return guarded(-1, [&]() { return static_cast<int>(static_cast<Operator *>(handle)->op->getGradOps().size()); });
}

void *tremula_popart_gradient(void *handle, int number) {
  return guarded<void *>(nullptr, [&]() -> void * {
    Operator &forward = *static_cast<Operator *>(handle);
    std::vector<std::unique_ptr<popart::Op>> all = forward.op->getGradOps();
    std::unique_ptr<Operator> made(new Operator);
    made->graph = forward.graph;
    made->op = std::move(all.at(static_cast<std::size_t>(number)));
    const popart::Op &op = *forward.op;
    for (const popart::GradInOutMapper &each : made->op->gradInputInfo()) {
      const popart::TensorInfo &info =
          each.type == popart::GradOpInType::In ? op.inInfo(each.iNonGrad) : op.outInfo(each.iNonGrad);
      made->op->connectIn(each.iGrad, popart::Tensor("input" + std::to_string(each.iGrad), info));
    }
    made->op->setup();
    return made.release();
  });
}

// Where the input at a place of a gradient operator is from: 0 an input, 1 an output, 2 the gradient of an output.
int tremula_popart_gradient_input(void *handle, int place, int *from) {
  return guarded(-1, [&]() {
    const int index = indexAt(*static_cast<Operator *>(handle)->op->input, place);
    for (const popart::GradInOutMapper &each : static_cast<Operator *>(handle)->op->gradInputInfo())
      if (each.iGrad == index) {
        *from = each.iNonGrad;
        return static_cast<int>(each.type);
      }
    return -1;
  });
}

int tremula_popart_inputs(void *handle) { return static_cast<Operator *>(handle)->op->input->n(); }

// The input of the forward operator that the output at a place is the gradient of; -1: of none.
int tremula_popart_gradient_output(void *handle, int place) {
  return guarded(-1, [&]() {
    const int index = indexAt(*static_cast<Operator *>(handle)->op->output, place);
    const std::map<int, int> &places = static_cast<Operator *>(handle)->op->gradOutToNonGradIn();
    auto found = places.find(index);
    return found == places.end() ? -1 : found->second;
  });
}

// Computes once. 0: done.
int tremula_popart_run(void *handle, const void *const *inputs, void *const *outputs) {
  return guarded(1, [&]() {
    Operator &made = *static_cast<Operator *>(handle);
    if (!made.runner)
      made.runner.reset(new tremula::GraphRunner(
          made.inputShapes(), [&made](poplar::Graph &graph, poplar::program::Sequence &prog,
                                      const std::vector<poplar::Tensor> &given) {
            return made.grow(graph, prog, given);
          }));
    made.runner->run(inputs, outputs);
    return 0;
  });
}

} // extern "C"
