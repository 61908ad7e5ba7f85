// The public class Graph: what it records, and what it asks of the process that builds the graph.
#include "core.hpp"

namespace poplar {

using detail::HostValues;
using detail::Result;
using detail::TensorAccess;

namespace {

// A call of a public method of the Python class Graph.
template <typename... A>
Result graphMethod(const Graph &graph, const char *name, A &&... arguments) {
  return detail::ask("method", graph, name, detail::list(std::forward<A>(arguments)...));
}

float halfAsFloat(std::uint16_t bits) {
  float value;
  copyDeviceHalfToFloat(Target(), &bits, &value, 1);
  return value;
}

std::vector<float> halvesAsFloats(const std::uint16_t *bits, std::size_t count) {
  std::vector<float> values(count);
  copyDeviceHalfToFloat(Target(), bits, values.data(), count);
  return values;
}

} // namespace

Graph::Graph(std::shared_ptr<detail::GraphCore> core, unsigned number, Target target,
             std::shared_ptr<const std::vector<unsigned>> tiles)
    : core_(std::move(core)), number_(number), target_(std::move(target)), tiles_(std::move(tiles)) {}

Graph::Graph() : Graph(Target::createIPUTarget(1, "ipu2")) {}

Graph::Graph(const Device &device, replication_factor replicas)
    : Graph(device.getTarget(), replicas) {}

Graph::Graph(const Target &target, replication_factor replicas) {
  if (!target.facts())
    throw invalid_machine_model("a graph needs the target of a device; this Target stands for none");
  const Result made = detail::ask("graph", target.facts()->object, replicas.value);
  number_ = static_cast<unsigned>(made[0].integer());
  target_ = detail::targetOf(made[1]);
  core_ = std::make_shared<detail::GraphCore>(number_, replicas.value, made[2].boolean());
  detail::registerCore(core_);
}

unsigned Graph::getReplicationFactor() const { return core_->replicas; }

Graph Graph::getTopLevelGraph() const {
  const Result made = detail::ask("whole", *this);
  return Graph(core_, core_->number, detail::targetOf(made[1]), nullptr);
}

Graph Graph::part(const std::vector<unsigned> &tiles) {
  std::vector<std::int64_t> column(tiles.begin(), tiles.end());
  const Result made = detail::ask("part", *this, column);
  auto whole = std::make_shared<std::vector<unsigned>>();
  for (unsigned each : tiles)
    whole->push_back(wholeTile(each));
  return Graph(core_, static_cast<unsigned>(made[0].integer()), detail::targetOf(made[1]), whole);
}

Graph Graph::createVirtualGraph(unsigned lowerTile, unsigned upperTile) {
  std::vector<unsigned> tiles;
  for (unsigned each = lowerTile; each < upperTile; ++each)
    tiles.push_back(each);
  return part(tiles);
}

Graph Graph::createVirtualGraph(const std::vector<unsigned> &tiles) { return part(tiles); }

Graph Graph::createVirtualGraph(unsigned tilesPerIPU) {
  const unsigned all = target_.getNumTiles(), perIpu = target_.getTilesPerIPU();
  if (!tilesPerIPU || tilesPerIPU > perIpu || all % perIpu)
    throw invalid_tile_mapping(std::to_string(tilesPerIPU) + " tiles of each IPU cannot be chosen from " +
                               std::to_string(all) + " tiles");
  std::vector<unsigned> tiles;
  for (unsigned first = 0; first < all; first += perIpu)
    for (unsigned each = 0; each < tilesPerIPU; ++each)
      tiles.push_back(first + each);
  return part(tiles);
}

Graph Graph::createReplicatedGraph(unsigned) {
  throw graph_replication_error(
      "createReplicatedGraph is not offered: give the number of replicas when the graph is made, "
      "Graph(target, replication_factor(n))");
}

unsigned Graph::wholeTile(unsigned tile) const {
  const std::size_t count =
      tiles_ ? tiles_->size() : target_.getNumTiles();
  if (tile >= count)
    throw invalid_tile_mapping("tile " + std::to_string(tile) + " does not exist: the graph has " +
                               std::to_string(count) + " tiles" + core_->place());
  return tiles_ ? (*tiles_)[tile] : tile;
}

// -- variables

Tensor Graph::addVariable(const Type &type, ArrayRef<std::size_t> shape, const DebugContext &debug) {
  core_->where = debug.location();
  const detail::Dims dims = detail::dimsOf(shape);
  const std::int64_t address = core_->addVariable(type, dims, debug.getPathName(), false, detail::placeOf(debug));
  return TensorAccess::make(core_, type, dims, address,
                            detail::contiguousStrides(dims, core_->elementSize(type)));
}

Tensor Graph::addVariable(const Type &type, ArrayRef<std::size_t> shape,
                          VariableMappingMethod method, const DebugContext &debug) {
  const Tensor made = addVariable(type, shape, debug);
  if (method == VariableMappingMethod::LINEAR)
    detail::call("poputil", "mapTensorLinearly", *this, made);
  return made;
}

Tensor Graph::addConstantValues(const Type &type, ArrayRef<std::size_t> shape,
                                const HostValues &values, const DebugContext &debug) {
  core_->where = debug.location();
  const detail::Dims dims = detail::dimsOf(shape);
  if (values.count != 1 && static_cast<std::int64_t>(values.count) != detail::product(dims))
    throw tensor_creation_error("a constant of shape " + detail::shapeText(dims) + " needs " +
                                std::to_string(detail::product(dims)) + " values, not " +
                                std::to_string(values.count) + core_->place());
  const std::int64_t address = core_->addVariable(type, dims, debug.getPathName(), true, detail::placeOf(debug));
  const Tensor made = TensorAccess::make(core_, type, dims, address,
                                         detail::contiguousStrides(dims, core_->elementSize(type)));
  if (made.numElements())
    core_->setInitial(made, values);
  return made;
}

Tensor Graph::addConstantHalf(const Type &type, ArrayRef<std::size_t> shape, std::uint16_t value,
                              const DebugContext &debug) {
  return addConstant<float>(type, shape, halfAsFloat(value), debug);
}
Tensor Graph::addConstantHalf(const Type &type, ArrayRef<std::size_t> shape,
                              const std::uint16_t *values, const DebugContext &debug) {
  return addConstant(type, shape, halvesAsFloats(values, detail::elementsOf(shape)), debug);
}
Tensor Graph::addConstantHalf(const Type &type, ArrayRef<std::size_t> shape,
                              const std::vector<std::uint16_t> &values, const DebugContext &debug) {
  return addConstant(type, shape, halvesAsFloats(values.data(), values.size()), debug);
}

Tensor Graph::addReplicationIndexConstant(const DebugContext &debug) {
  return graphMethod(*this, "addReplicationIndexConstant", debug).tensor();
}

Tensor Graph::clone(const Tensor &tensor, const DebugContext &debug, TensorCloneMethod method) {
  return graphMethod(*this, "clone", tensor, debug,
                     detail::enumeration("poplar", "TensorCloneMethod", toString(method).c_str()))
      .tensor();
}

Tensor Graph::clone(const Type &type, const Tensor &tensor, const DebugContext &debug,
                    TensorCloneMethod method) {
  if (type == tensor.elementType())
    return clone(tensor, debug, method);
  const Tensor made = addVariable(type, tensor.shape(), debug);
  setTileMapping(made, getTileMapping(tensor, false));
  return made;
}

Tensor Graph::cloneN(const Type &type, const Tensor &tensor, std::size_t count, const DebugContext &debug,
                     TensorCloneMethod method) {
  std::vector<Tensor> all;
  for (std::size_t i = 0; i < count; ++i)
    all.push_back(clone(type, tensor, debug, method).expand({0}));
  return concat(all);
}
Tensor Graph::cloneN(const Tensor &tensor, std::size_t count, const DebugContext &debug, TensorCloneMethod method) {
  return cloneN(tensor.elementType(), tensor, count, debug, method);
}

void Graph::setInitialValues(const Tensor &tensor, const HostValues &values) {
  core_->setInitial(tensor, values);
}
void Graph::setInitialValueHalf(const Tensor &tensor, std::uint16_t value) {
  setInitialValue(tensor, halfAsFloat(value));
}
void Graph::setInitialValueHalf(const Tensor &tensor, ArrayRef<std::uint16_t> values) {
  setInitialValue(tensor, halvesAsFloats(values.data(), values.size()));
}

// -- tiles

void Graph::setTileMapping(const Tensor &tensor, unsigned tile, SourceLocation where) {
  core_->where = where;
  if (!tensor.valid())
    throw invalid_tile_mapping("a Tensor without a value cannot be put on a tile" + core_->place());
  core_->map(tensor, wholeTile(tile));
}

void Graph::setTileMapping(const Tensor &tensor, const TileToTensorMapping &mapping,
                           SourceLocation where) {
  core_->where = where;
  if (!tensor.valid())
    throw invalid_tile_mapping("a Tensor without a value cannot be put on tiles" + core_->place());
  const Tensor flat = tensor.flatten();
  for (std::size_t tile = 0; tile < mapping.size(); ++tile)
    for (const Interval &each : mapping[tile])
      core_->map(flat.slice(each), wholeTile(static_cast<unsigned>(tile)));
}

void Graph::setTileMapping(VertexRef vertex, unsigned tile, SourceLocation where) {
  core_->where = where;
  core_->setTile(vertex.batch(), vertex.number(), wholeTile(tile));
}

Graph::TileToTensorMapping Graph::getTileMapping(const Tensor &tensor, bool requireComplete) const {
  const Result found = detail::ask("tile mapping", *this, tensor);
  const auto begin = found[0].numbers<std::size_t>(), end = found[1].numbers<std::size_t>();
  const auto tile = found[2].numbers<std::int64_t>();
  TileToTensorMapping mapping(tiles_ ? tiles_->size() : target_.getNumTiles());
  for (std::size_t i = 0; i < tile.size(); ++i) {
    if (tile[i] >= 0)
      mapping.at(static_cast<std::size_t>(tile[i])).emplace_back(begin[i], end[i]);
    else if (requireComplete)
      throw invalid_tile_mapping("elements " + std::to_string(begin[i]) + " to " + std::to_string(end[i] - 1) +
                                 " of " + tensor.getDebugStr() +
                                 " are on no tile; set their mapping, or ask with requireComplete=false");
  }
  return mapping;
}

Graph::TileToTensorMapping Graph::getTileMapping(const Tensor &tensor, bool *isComplete) const {
  TileToTensorMapping mapping = getTileMapping(tensor, false);
  std::size_t mapped = 0;
  for (const auto &tile : mapping)
    for (const Interval &each : tile)
      mapped += each.size();
  if (isComplete)
    *isComplete = mapped == tensor.numElements();
  return mapping;
}

Graph::TileToTensorMapping Graph::getVariableTileMapping(const VariableRef &variable) const {
  const detail::Variable &known = core_->variables.at(variable.id());
  detail::Dims shape;
  shape.push(known.bytes / known.elementBytes);
  return getTileMapping(TensorAccess::make(core_, Type(known.type), shape, known.address,
                                           detail::contiguousStrides(shape, known.elementBytes)),
                        false);
}

std::vector<std::vector<Interval>>
Graph::getSortedContiguousRegions(const Tensor &tensor, ArrayRef<Interval> regions,
                                  bool removeAliasedIntervals,
                                  std::vector<std::size_t> *aliases) const {
  if (aliases)
    throw poplar_error("getSortedContiguousRegions does not give aliases here; call it without the last argument");
  struct Piece {
    std::int64_t address;
    std::size_t begin, size;
  };
  std::vector<Piece> pieces;
  const Tensor flat = tensor.flatten();
  for (const Interval &region : regions) {
    const Tensor part = flat.slice(region);
    const detail::Addresses addresses = TensorAccess::addresses(part);
    for (const Interval &each : part.getContiguousRegions())
      pieces.push_back(Piece{addresses[each.begin()], region.begin() + each.begin(), each.size()});
  }
  std::sort(pieces.begin(), pieces.end(), [](const Piece &a, const Piece &b) {
    return std::tie(a.address, a.begin, a.size) < std::tie(b.address, b.begin, b.size);
  });
  std::vector<std::vector<Interval>> found;
  std::int64_t end = -1;
  for (const Piece &each : pieces) {
    if (removeAliasedIntervals && end >= 0 && each.address < end)
      continue;
    if (end != each.address)
      found.emplace_back();
    found.back().emplace_back(each.begin, each.begin + each.size);
    end = each.address + static_cast<std::int64_t>(each.size) * TensorAccess::elementBytes(tensor);
  }
  return found;
}

void Graph::reorderToSimplify(Tensor *tensor, ArrayRef<Tensor *> others, bool) const {
  *tensor = tensor->flatten();
  for (Tensor *each : others)
    *each = each->flatten();
  const detail::Addresses addresses = TensorAccess::addresses(*tensor);
  if (std::is_sorted(addresses.begin(), addresses.end()))
    return;
  std::vector<std::size_t> order(addresses.size());
  std::iota(order.begin(), order.end(), std::size_t(0));
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return addresses[a] < addresses[b]; });
  const auto reordered = [&](const Tensor &from) {
    const detail::Addresses old = TensorAccess::addresses(from);
    if (old.size() != order.size())
      throw tensor_creation_error("the tensors to reorder have different numbers of elements");
    auto next = std::make_shared<detail::Addresses>();
    for (std::size_t place : order)
      next->push_back(old[place]);
    return TensorAccess::make(core_, from.elementType(), TensorAccess::shape(from), 0,
                              detail::contiguousStrides(TensorAccess::shape(from), 1), next);
  };
  *tensor = reordered(*tensor);
  for (Tensor *each : others)
    *each = reordered(*each);
}

Tensor Graph::findUnbroadcastTensor(const Tensor &tensor) const {
  Tensor found = tensor;
  for (unsigned i = 0; i < tensor.rank(); ++i)
    if (tensor.dim(i) > 1 && TensorAccess::strides(tensor)[i] == 0)
      found = found.slice(0, 1, i);
  return found;
}

// -- codelets and vertices

bool Graph::addCodelets(StringRef source, CodeletFileType type, StringRef compileFlags,
                        StringRef targetName) {
  core_->learnCodelets(detail::ask("addCodelets", *this, source, false,
                                   codeletFileTypeToString(type), compileFlags, targetName));
  return true;
}

bool Graph::addCodelets(StringRef source, CodeletFileType type, StringRef compileFlags,
                        std::ostream &compileOutput, StringRef targetName) {
  try {
    return addCodelets(source, type, compileFlags, targetName);
  } catch (const graph_program_compilation_error &problem) {
    compileOutput << problem.what() << '\n';
    throw;
  }
}

bool Graph::addCodelets(std::stringstream &source, StringRef compileFlags, CodeletFileType type,
                        StringRef targetName) {
  core_->learnCodelets(detail::ask("addCodelets", *this, source.str(), true,
                                   codeletFileTypeToString(type), compileFlags, targetName));
  return true;
}

bool Graph::addCodelets(std::stringstream &source, StringRef compileFlags,
                        std::ostream &compileOutput, CodeletFileType type, StringRef targetName) {
  try {
    return addCodelets(source, compileFlags, type, targetName);
  } catch (const graph_program_compilation_error &problem) {
    compileOutput << problem.what() << '\n';
    throw;
  }
}

bool Graph::addCodelets(const std::vector<std::string> &sources, StringRef compileFlags) {
  for (const std::string &each : sources)
    addCodelets(each, CodeletFileType::Auto, compileFlags);
  return true;
}

bool Graph::hasCodelet(StringRef vertexType) const {
  return core_->codeletNumbers.count(vertexType.str()) ||
         graphMethod(*this, "hasCodelet", vertexType).boolean();
}

ComputeSet Graph::addComputeSet(const DebugContext &debug) {
  const ComputeSet made(core_->computeSets, core_->number);
  core_->addComputeSet(debug.getPathName(), detail::placeOf(debug));
  return made;
}

VertexRef Graph::addVertex(ComputeSet cs, StringRef vertexType, SourceLocation where) {
  core_->where = where;
  unsigned number = 0;
  detail::Batch &batch = core_->batchOf(cs, vertexType.str(), number);
  return VertexRef(core_.get(), number, core_->addVertex(batch, number));
}

VertexRef Graph::addVertex(ComputeSet cs, StringRef vertexType, ArrayRef<ConnectionDesc> connections,
                           SourceLocation where) {
  const VertexRef vertex = addVertex(cs, vertexType, where);
  for (const ConnectionDesc &each : connections) {
    if (each.constant)
      core_->setState(vertex.batch(), vertex.number(), each.field, -1, each.value);
    else if (each.single)
      core_->connect(vertex.batch(), vertex.number(), each.field, -1, each.tensors[0]);
    else
      core_->connect(vertex.batch(), vertex.number(), each.field, -1, ArrayRef<Tensor>(each.tensors));
  }
  return vertex;
}

void Graph::connect(FieldRef field, const Tensor &tensor, SourceLocation where) {
  core_->where = where;
  core_->connect(field.vertex().batch(), field.vertex().number(), field.name(), field.edge(), tensor);
}

void Graph::connect(FieldRef field, ArrayRef<Tensor> tensors, SourceLocation where) {
  core_->where = where;
  core_->connect(field.vertex().batch(), field.vertex().number(), field.name(), field.edge(), tensors);
}

void Graph::connectValues(const FieldRef &field, const HostValues &values) {
  core_->setState(field.vertex().batch(), field.vertex().number(), field.name(), field.edge(), values);
}
void Graph::setFieldValues(const FieldRef &field, const HostValues &values) {
  connectValues(field, values);
}
void Graph::setInitialValueHalf(FieldRef field, std::uint16_t value) {
  setInitialValue(field, halfAsFloat(value));
}
void Graph::setInitialValueHalf(FieldRef field, ArrayRef<std::uint16_t> values) {
  setInitialValue(field, halvesAsFloats(values.data(), values.size()));
}

void Graph::setFieldSize(FieldRef field, std::size_t size) {
  core_->setSize(field.vertex().batch(), field.vertex().number(), field.name(), size);
}

std::size_t Graph::getMaxVertexFieldValue(StringRef vertexType, StringRef field) const {
  return static_cast<std::size_t>(
      graphMethod(*this, "getMaxVertexFieldValue", vertexType, field).integer());
}
std::size_t Graph::getMaxFieldDim(StringRef vertexType, StringRef field, unsigned dimension) const {
  return static_cast<std::size_t>(
      graphMethod(*this, "getMaxFieldDim", vertexType, field, dimension).integer());
}

void Graph::setPerfEstimate(const VertexRef &vertex, std::uint64_t cycles, std::uint64_t flops) {
  core_->setEstimate(vertex.batch(), vertex.number(), static_cast<double>(cycles),
                     static_cast<double>(flops));
}

std::uint64_t Graph::getPerfEstimate(const VertexRef &vertex) const {
  const detail::Batch &batch = core_->batches.at(vertex.batch());
  return static_cast<std::uint64_t>(
      detail::ask("estimate of vertex", *this, batch.set, core_->name(batch), vertex.number()).integer());
}

void Graph::registerPerfEstimator(StringRef vertexType, PerfEstimateFunc estimator) {
  const Target target = target_;
  // asked with maps of the fields' sizes and of the members' values
  const auto answer = [estimator, target](const std::vector<Result> &asked) {
    std::map<std::string, VertexIntrospector::FieldInfo> fields;
    for (std::size_t i = 0; i < asked.at(0).size(); ++i) {
      const Result &row = asked[0][i];
      fields.emplace(asked[0].keys()[i],
                     VertexIntrospector::FieldInfo(static_cast<std::size_t>(row[0].integer()),
                                                   row[1].numbers<std::size_t>()));
    }
    std::map<std::string, std::vector<double>> values;
    for (std::size_t i = 0; i < asked.at(1).size(); ++i)
      values.emplace(asked[1].keys()[i], asked[1][i].numbers<double>());
    const VertexPerfEstimate found =
        estimator(VertexIntrospector(std::move(fields), std::move(values)), target);
    return detail::list(found.cycles, found.flops);
  };
  detail::ask("estimator", *this, vertexType, detail::callback(answer));
}

VertexIntrospector::FieldInfo VertexIntrospector::getFieldInfo(const std::string &name) const {
  const auto found = fields_.find(name);
  if (found == fields_.end())
    throw unknown_field("an estimator asks for a field '" + name + "' that the vertex does not have");
  return found->second;
}

const std::vector<double> &VertexIntrospector::valuesOf(const std::string &name) const {
  const auto found = values_.find(name);
  if (found == values_.end() || found->second.empty())
    throw unknown_field("an estimator asks for a member '" + name + "' that the vertex does not have");
  return found->second;
}

// -- the host

void Graph::createHostWrite(StringRef handle, const Tensor &tensor, bool rearrangeOnHost) {
  graphMethod(*this, "createHostWrite", handle, tensor, rearrangeOnHost);
}
void Graph::createHostRead(StringRef handle, const Tensor &tensor, bool rearrangeOnHost) {
  graphMethod(*this, "createHostRead", handle, tensor, rearrangeOnHost);
}

DataStream Graph::addHostToDeviceFIFO(StringRef handle, const Type &type, std::size_t numElements,
                                      ReplicatedStreamMode mode, const OptionFlags &options) {
  const bool own = mode == ReplicatedStreamMode::REPLICATE;
  const Result made = graphMethod(
      *this, "addHostToDeviceFIFO", handle, type, numElements,
      detail::enumeration("poplar", "ReplicatedStreamMode", own ? "REPLICATE" : "BROADCAST"), options);
  return DataStream(handle.str(), type, numElements, DataStreamType::HostToDeviceFIFO, made.object());
}

DataStream Graph::addDeviceToHostFIFO(StringRef handle, const Type &type, std::size_t numElements,
                                      const OptionFlags &options) {
  const Result made = graphMethod(*this, "addDeviceToHostFIFO", handle, type, numElements, options);
  return DataStream(handle.str(), type, numElements, DataStreamType::DeviceToHostFIFO, made.object());
}

RemoteBuffer Graph::addRemoteBuffer(StringRef handle, const Type &type, std::size_t numElements,
                                    std::size_t repeats, bool rearrangeOnHost, bool optimiseMemory) {
  const Result made = graphMethod(*this, "addRemoteBuffer", handle, type, numElements, repeats,
                                  rearrangeOnHost, optimiseMemory);
  return RemoteBuffer(handle.str(), type, numElements, repeats, made.object());
}

HostFunction Graph::addHostFunction(StringRef handle, ArrayRef<HostFunctionArgument> inputs,
                                    ArrayRef<HostFunctionArgument> outputs) {
  std::vector<std::pair<Type, std::size_t>> in, out;
  for (const HostFunctionArgument &each : inputs)
    in.emplace_back(each.type, each.elements);
  for (const HostFunctionArgument &each : outputs)
    out.emplace_back(each.type, each.elements);
  return HostFunction(handle.str(), detail::ask("host function", *this, handle, in, out).object());
}

Function Graph::addFunction(const program::Program &program) {
  return Function(graphMethod(*this, "addFunction", program).object());
}

// -- sizes and texts

unsigned Graph::getNumComputeSets() const { return core_->computeSets; }
unsigned Graph::getNumVars() const { return static_cast<unsigned>(core_->variables.size()); }
std::size_t Graph::getNumVertices() const {
  return static_cast<std::size_t>(graphMethod(*this, "getNumVertices").integer());
}
std::size_t Graph::getNumVertices(ComputeSet cs) const {
  return static_cast<std::size_t>(graphMethod(*this, "getNumVertices", cs).integer());
}

void Graph::outputVertexGraph(std::ostream &os, ArrayRef<program::Program> programs) const {
  os << detail::ask("vertex graph", *this, programs).text();
}
void Graph::outputComputeGraph(std::ostream &os, ArrayRef<program::Program> programs) const {
  os << detail::ask("compute graph", *this, programs).text();
}
void Graph::serialize(std::ostream &os, SerializationFormat) const {
  os << detail::ask("graph as text", *this).text();
}
void Graph::serializeTensors(std::ostream &, ArrayRef<Tensor>, SerializationFormat) const {
  throw poplar_error("serializeTensors is not offered: save a compiled program with Executable::serialize");
}
std::vector<Tensor> Graph::deserializeTensors(std::istream &, SerializationFormat) {
  throw poplar_error("deserializeTensors is not offered: load a compiled program with Executable::deserialize");
}

} // namespace poplar
