// What is recorded of a graph until it is sent: columns of variables, tiles, vertices and connections.
#include "core.hpp"

namespace poplar {
namespace detail {

namespace {

const std::int64_t ALIGNMENT = 16;
// Rows after which a block is sent, so that both processes work at the same time.
const std::size_t ROWS_OF_BLOCK = 200000;

std::map<std::uint32_t, std::weak_ptr<GraphCore>> &cores() {
  static auto *made = new std::map<std::uint32_t, std::weak_ptr<GraphCore>>();
  return *made;
}

void writeTexts(Writer &to, const std::vector<std::string> &texts) {
  to.list(texts.size());
  for (const std::string &each : texts)
    to.text(each);
}

} // namespace

void registerCore(const std::shared_ptr<GraphCore> &core) {
  cores()[core->number] = core;
  Connection::get().addCore(core.get());
}

std::shared_ptr<GraphCore> coreByNumber(std::uint32_t number) {
  const auto found = cores().find(number);
  std::shared_ptr<GraphCore> core = found == cores().end() ? nullptr : found->second.lock();
  if (!core)
    throw unrecoverable_runtime_error("the process that builds the graph spoke of a graph that is not there any more");
  return core;
}

GraphCore::GraphCore(unsigned number, unsigned replicas, bool accurateHalf)
    : number(number), replicas(replicas), accurateHalf(accurateHalf) {}

GraphCore::~GraphCore() {
  cores().erase(number);
  if (Connection::alive()) {
    Connection::get().removeCore(this);
    Connection::get().release('g', number);
  }
}

std::string GraphCore::place() const {
  const std::string text = placeOf(where);
  return text.empty() ? "" : " (" + text + ")";
}

// -- variables

std::int64_t GraphCore::addVariable(const Type &type, const Dims &shape, const std::string &name,
                                    bool constant, const std::string &source) {
  const std::int64_t size = elementSize(type);
  const std::int64_t address = memorySize;
  const std::int64_t elements = product(shape);
  if (elements < 0 || elements > (std::int64_t(1) << 40))
    throw tensor_creation_error("a variable cannot have shape " + shapeText(shape) + place());
  variables.push_back(Variable{address, elements * size, static_cast<unsigned char>(type.number()),
                               static_cast<unsigned char>(size), constant, name});
  bases.push_back(address);
  memorySize += (std::max<std::int64_t>(elements * size, 1) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  newTypes_.push_back(type.number());
  newRanks_.push_back(static_cast<std::int64_t>(shape.size()));
  newLengths_.insert(newLengths_.end(), shape.data(), shape.data() + shape.size());
  newConstant_.push_back(constant);
  newNames_.push_back(name);
  newSources_.push_back(source);
  flushIfMuch();
  return address;
}

std::size_t GraphCore::variableAt(std::int64_t address) const {
  const auto after = std::upper_bound(bases.begin(), bases.end(), address);
  return static_cast<std::size_t>(after - bases.begin()) - 1;
}

void GraphCore::learnVariables(const Result &change) {
  computeSets = static_cast<unsigned>(change[1].integer());
  memorySize = change[2].integer();
  const std::vector<std::int64_t> rows = change[3].numbers<std::int64_t>();
  const std::vector<Result> &names = change[4].items();
  for (std::size_t i = 0; i < names.size() && 5 * i + 4 < rows.size(); ++i) {
    const std::int64_t *row = &rows[5 * i];
    variables.push_back(Variable{row[0], row[1], static_cast<unsigned char>(row[2]),
                                 static_cast<unsigned char>(row[3]), row[4] != 0, names[i].text()});
    bases.push_back(row[0]);
  }
}

void GraphCore::setInitial(const Tensor &tensor, const HostValues &values) {
  const std::size_t elements = tensor.numElements();
  if (values.count != 1 && values.count != elements)
    throw tensor_creation_error("a tensor of " + std::to_string(elements) +
                                " elements cannot start with " + std::to_string(values.count) +
                                " values" + place());
  if (values.letter == 'V')
    throw type_error("the values of a tensor have to be numbers" + place());
  initial_.tensor(tensor);
  initial_.array(values.letter, values.bytes.data(), values.count, values.size);
  ++initialCount_;
  rows_ += 1 + values.bytes.size() / 32;
  flushIfMuch();
}

// -- tiles

void GraphCore::map(const Tensor &tensor, unsigned tile) {
  const auto add = [&](const Run &run) {
    if (!run.count)
      return;
    mapStart_.push_back(run.start);
    mapCount_.push_back(run.count);
    mapStep_.push_back(run.step);
    mapTile_.push_back(tile);
  };
  Run run;
  if (TensorAccess::singleRun(tensor, run))
    add(run);
  else
    for (const Run &each : TensorAccess::runs(tensor))
      add(each);
  ++rows_;
  flushIfMuch();
}

// -- codelets and vertices

void GraphCore::learnCodelets(const Result &table) {
  for (const Result &row : table.items()) {
    CodeletInfo codelet;
    codelet.name = row[0].text();
    for (const Result &field : row[1].items()) {
      FieldInfo made;
      made.name = field[0].text();
      made.kind = field[1].text();
      made.writes = field[2].boolean();
      made.type = static_cast<int>(field[3].integer());
      made.number = static_cast<unsigned>(codelet.fields.size());
      codelet.fields[made.name] = made;
    }
    const auto known = codeletNumbers.find(codelet.name);
    if (known != codeletNumbers.end()) {
      codelets[known->second] = codelet;
    } else {
      codeletNumbers[codelet.name] = static_cast<unsigned>(codelets.size());
      codelets.push_back(codelet);
    }
  }
}

Batch &GraphCore::batchOf(ComputeSet set, const std::string &type, unsigned &number) {
  auto codelet = codeletNumbers.find(type);
  if (codelet == codeletNumbers.end()) {
    Value arguments;
    arguments.writer.reference('g', this->number);
    arguments.writer.text(type);
    learnCodelets(Connection::get().request("codelet", arguments, 2, placeOf(where)));
    codelet = codeletNumbers.find(type);
  }
  if (set.getId() >= computeSets || set.graph() != this->number)
    throw graph_object_creation_error("a vertex of type " + type +
                                      " is added to a compute set that this graph does not have" + place());
  const std::uint64_t key = (std::uint64_t(set.getId()) << 32) | codelet->second;
  const auto found = batchNumbers_.find(key);
  if (found != batchNumbers_.end()) {
    number = found->second;
    return batches[number];
  }
  number = static_cast<unsigned>(batches.size());
  batchNumbers_[key] = number;
  batches.emplace_back();
  batches.back().set = set;
  batches.back().codelet = codelet->second;
  batches.back().source = placeOf(where);
  return batches.back();
}

Batch *GraphCore::touch(unsigned number) {
  Batch *batch = &batches[number];
  if (!batch->touched) {
    batch->touched = true;
    touched_.push_back(number);
  }
  ++rows_;
  return batch;
}

std::size_t GraphCore::addVertex(Batch &batch, unsigned number) {
  flushIfMuch();
  touch(number);
  batch.tiles.push_back(-1);
  return batch.count++;
}

void GraphCore::setTile(unsigned number, std::size_t vertex, unsigned tile) {
  Batch *batch = touch(number);
  if (vertex >= batch->sent) {
    batch->tiles[vertex - batch->sent] = tile;
  } else {
    batch->movedVertex.push_back(static_cast<std::int64_t>(vertex));
    batch->movedTile.push_back(tile);
  }
}

void GraphCore::setSize(unsigned number, std::size_t vertex, const std::string &field,
                        std::size_t size) {
  Batch *batch = touch(number);
  const FieldInfo &info = fieldOf(*batch, field);
  if (info.kind == "scalar" || info.kind == "state")
    throw graph_connection_error("field '" + field + "' of vertex type " + name(*batch) +
                                 " has no size" + place());
  batch->sizeField.push_back(info.number);
  batch->sizeVertex.push_back(static_cast<std::int64_t>(vertex));
  batch->sizeValue.push_back(static_cast<std::int64_t>(size));
}

void GraphCore::setEstimate(unsigned number, std::size_t vertex, double cycles, double flops) {
  Batch *batch = touch(number);
  batch->estimateVertex.push_back(static_cast<std::int64_t>(vertex));
  batch->estimateCycles.push_back(cycles);
  batch->estimateFlops.push_back(flops);
}

const FieldInfo &GraphCore::fieldOf(const Batch &batch, const std::string &field) const {
  const CodeletInfo &codelet = codelets[batch.codelet];
  const auto found = codelet.fields.find(field);
  if (found == codelet.fields.end()) {
    std::string known;
    for (const auto &each : codelet.fields)
      known += (known.empty() ? "" : ", ") + each.first;
    throw unknown_field("vertex type " + codelet.name + " has no field '" + field + "'" + place() +
                        "; its fields are: " + (known.empty() ? "none" : known));
  }
  return found->second;
}

void GraphCore::addEdge(FieldColumns &columns, std::size_t vertex, std::int64_t number,
                        const Tensor &tensor) {
  Run run;
  if (!TensorAccess::singleRun(tensor, run)) {
    run = Run{-1, static_cast<std::int64_t>(columns.viewCount++), 0};
    columns.views.tensor(tensor);
  }
  columns.vertex.push_back(static_cast<std::int64_t>(vertex));
  columns.number.push_back(number);
  columns.offset.push_back(run.start);
  columns.count.push_back(run.count);
  columns.step.push_back(run.step);
  ++rows_;
}

void GraphCore::connect(unsigned number, std::size_t vertex, const std::string &field, long edge,
                        const Tensor &tensor) {
  Batch *batch = touch(number);
  const FieldInfo &info = fieldOf(*batch, field);
  if (!tensor.valid())
    throw graph_connection_error("field '" + field + "' of vertex type " + name(*batch) +
                                 " cannot be connected to a Tensor without a value" + place());
  if (info.type >= 0 && info.type != static_cast<int>(tensor.elementType().number()))
    throw graph_connection_error("field '" + field + "' of vertex type " + name(*batch) + " holds " +
                                 Type(static_cast<unsigned char>(info.type)).toString() + ", the tensor " +
                                 tensor.elementType().toString() + place());
  FieldColumns &columns = batch->fields[info.number];
  if (info.kind == "vector") {
    addEdge(columns, vertex, edge < 0 ? 0 : edge, tensor.rank() == 1 ? tensor : tensor.flatten());
  } else if (info.kind == "scalar") {
    if (tensor.numElements() != 1)
      throw graph_connection_error("field '" + field + "' of vertex type " + name(*batch) +
                                   " holds one element, the tensor has " +
                                   std::to_string(tensor.numElements()) + place());
    addEdge(columns, vertex, 0, tensor);
  } else if (info.kind == "vector list") {
    if (edge >= 0) {
      addEdge(columns, vertex, edge, tensor.flatten());
      return;
    }
    if (tensor.rank() < 2)
      throw graph_connection_error(
          "field '" + field + "' of vertex type " + name(*batch) +
          " is a list of vectors: connect a tensor with two dimensions or a list of tensors, not one of shape " +
          tensor.shapeToString() + place());
    for (std::size_t row = 0; row < tensor.dim(0); ++row)
      addEdge(columns, vertex, static_cast<std::int64_t>(row), tensor[row].flatten());
  } else {
    throw graph_connection_error("field '" + field + "' of vertex type " + name(*batch) +
                                 " is not an edge: set it with setInitialValue" + place());
  }
}

void GraphCore::connect(unsigned number, std::size_t vertex, const std::string &field, long edge,
                        ArrayRef<Tensor> tensors) {
  const FieldInfo &info = fieldOf(batches[number], field);
  if (info.kind == "vector list" && edge < 0) {
    for (std::size_t i = 0; i < tensors.size(); ++i)
      connect(number, vertex, field, static_cast<long>(i), tensors[i]);
    return;
  }
  std::vector<Tensor> flat;
  for (const Tensor &each : tensors)
    flat.push_back(each.flatten());
  connect(number, vertex, field, edge, concat(flat));
}

void GraphCore::setState(unsigned number, std::size_t vertex, const std::string &field, long edge,
                         const HostValues &values) {
  const FieldInfo info = fieldOf(batches[number], field);
  if (info.kind == "state" || info.kind == "state vector") {
    Batch *batch = touch(number);
    StateColumns &columns =
        batch->states[StateKey{info.number, values.letter, values.size, values.scalar}];
    columns.vertex.push_back(static_cast<std::int64_t>(vertex));
    columns.count.push_back(static_cast<std::int64_t>(values.count));
    columns.bytes.insert(columns.bytes.end(), values.bytes.begin(), values.bytes.end());
    return;
  }
  // a value for an edge is a constant beside the vertex
  if (info.writes || info.type < 0 || values.letter == 'V')
    throw graph_connection_error("field '" + field + "' of vertex type " + name(batches[number]) +
                                 " needs a tensor, not a value" + place());
  Dims shape;
  if (!values.scalar)
    shape.push(static_cast<std::int64_t>(values.count));
  const Type type(static_cast<unsigned char>(info.type));
  const std::int64_t address = addVariable(type, shape, field, true, placeOf(where));
  const Tensor constant = TensorAccess::make(coreByNumber(this->number), type, shape, address,
                                             contiguousStrides(shape, elementSize(type)));
  setInitial(constant, values);
  besideVariable_.push_back(static_cast<std::int64_t>(variables.size()) - 1);
  besideBatch_.push_back(number);
  besideVertex_.push_back(static_cast<std::int64_t>(vertex));
  connect(number, vertex, field, edge, constant);
}

void GraphCore::addComputeSet(const std::string &name, const std::string &source) {
  newSets_.emplace_back(name, source);
  ++computeSets;
}

// -- blocks

bool GraphCore::pending() const {
  return !newTypes_.empty() || initialCount_ || !mapStart_.empty() || !newSets_.empty() ||
         !touched_.empty();
}

void GraphCore::flushIfMuch() {
  if (rows_ > ROWS_OF_BLOCK)
    flush();
}

void GraphCore::flush() {
  if (!pending())
    return;
  Writer block;
  block.reference('g', number);
  block.map(6);
  block.key("variables");
  block.list(6);
  block.column(newTypes_);
  block.column(newRanks_);
  block.column(newLengths_);
  block.column(newConstant_);
  writeTexts(block, newNames_);
  writeTexts(block, newSources_);
  block.key("initial");
  block.list(2 * initialCount_);
  block.append(initial_);
  block.key("tiles");
  block.list(4);
  for (const Column *each : {&mapStart_, &mapCount_, &mapStep_, &mapTile_})
    block.column(*each);
  block.key("compute sets");
  block.list(2 * newSets_.size());
  for (const auto &each : newSets_) {
    block.text(each.first);
    block.text(each.second);
  }
  block.key("vertices");
  writeBatches(block);
  block.key("beside vertices");
  block.list(besideVariable_.size());
  for (std::size_t i = 0; i < besideVariable_.size(); ++i) {
    const Batch &batch = batches[static_cast<std::size_t>(besideBatch_[i])];
    block.list(4);
    block.integer(besideVariable_[i]);
    block.integer(batch.set.getId());
    block.text(name(batch));
    block.integer(besideVertex_[i]);
  }
  for (Column *each : {&newTypes_, &newRanks_, &newLengths_, &newConstant_, &mapStart_, &mapCount_,
                       &mapStep_, &mapTile_, &besideVariable_, &besideBatch_, &besideVertex_})
    each->clear();
  newNames_.clear();
  newSources_.clear();
  initial_.clear();
  newSets_.clear();
  touched_.clear();
  initialCount_ = rows_ = 0;
  Connection::get().notice("block", block, 2);
}

void GraphCore::writeBatches(Writer &block) {
  block.list(touched_.size());
  for (unsigned number : touched_) {
    Batch &batch = batches[number];
    const CodeletInfo &codelet = codelets[batch.codelet];
    std::vector<std::string> names(codelet.fields.size());
    for (const auto &each : codelet.fields)
      names[each.second.number] = each.first;
    block.list(13);
    block.integer(batch.set.getId());
    block.text(codelet.name);
    block.text(batch.source);
    block.integer(static_cast<std::int64_t>(batch.sent));
    block.column(batch.tiles);
    block.column(batch.movedVertex);
    block.column(batch.movedTile);
    block.list(batch.fields.size());
    for (const auto &each : batch.fields) {
      const FieldColumns &columns = each.second;
      block.list(7);
      block.text(names[each.first]);
      for (const Column *column :
           {&columns.vertex, &columns.number, &columns.offset, &columns.count, &columns.step})
        block.column(*column);
      block.list(columns.viewCount);
      block.append(columns.views);
    }
    block.list(batch.states.size());
    for (const auto &each : batch.states) {
      block.list(7);
      block.text(names[each.first.field]);
      block.text(std::string(1, each.first.letter));
      block.integer(static_cast<std::int64_t>(each.first.size));
      block.boolean(each.first.scalar);
      block.column(each.second.vertex);
      block.column(each.second.count);
      block.data(each.second.bytes.data(), each.second.bytes.size());
    }
    block.list(batch.sizeField.size());
    for (std::size_t i = 0; i < batch.sizeField.size(); ++i) {
      block.list(3);
      block.text(names[static_cast<std::size_t>(batch.sizeField[i])]);
      block.integer(batch.sizeVertex[i]);
      block.integer(batch.sizeValue[i]);
    }
    block.column(batch.estimateVertex);
    block.column(batch.estimateCycles);
    block.column(batch.estimateFlops);
    batch.sent = batch.count;
    batch.touched = false;
    for (Column *each : {&batch.tiles, &batch.movedVertex, &batch.movedTile, &batch.sizeField,
                         &batch.sizeVertex, &batch.sizeValue, &batch.estimateVertex})
      each->clear();
    batch.estimateCycles.clear();
    batch.estimateFlops.clear();
    batch.fields.clear();
    batch.states.clear();
  }
}

} // namespace detail
} // namespace poplar
