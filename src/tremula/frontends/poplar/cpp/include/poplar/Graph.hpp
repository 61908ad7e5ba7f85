// Graphs: variables on tiles, vertices in compute sets, and what connects them with the host.
#ifndef POPLAR_GRAPH_HPP
#define POPLAR_GRAPH_HPP

#include <poplar/ArrayRef.hpp>
#include <poplar/CodeletFileType.hpp>
#include <poplar/DataStream.hpp>
#include <poplar/DebugContext.hpp>
#include <poplar/Device.hpp>
#include <poplar/GraphElements.hpp>
#include <poplar/Interval.hpp>
#include <poplar/OptionFlags.hpp>
#include <poplar/ReplicatedStreamMode.hpp>
#include <poplar/StringRef.hpp>
#include <poplar/Target.hpp>
#include <poplar/Tensor.hpp>
#include <poplar/TensorCloneMethod.hpp>
#include <poplar/Type.hpp>
#include <poplar/VariableMappingMethod.hpp>
#include <poplar/VariableRef.hpp>
#include <poplar/exceptions.hpp>
#include <poplar/detail/HostValues.hpp>
#include <poplar/detail/Prelude.hpp>

namespace poplar {

namespace program {
class Program;
}

enum class SerializationFormat { Binary, JSON };

struct replication_factor {
  explicit replication_factor(unsigned count) : value(count) {}
  unsigned value;
};

// How many cycles and operations a vertex takes.
struct VertexPerfEstimate {
  VertexPerfEstimate(std::uint64_t cycles = 0, std::uint64_t flops = 0)
      : cycles(cycles), flops(flops) {}
  std::uint64_t cycles, flops;
  std::string getStr() const { return std::to_string(cycles); }
};

class VertexIntrospector;
typedef std::function<VertexPerfEstimate(const VertexIntrospector &, const Target &)>
    PerfEstimateFunc;
typedef PerfEstimateFunc CycleEstimateFunc;

class Graph {
public:
  typedef std::vector<std::vector<Interval>> TileToTensorMapping;

  struct ConnectionDesc {
    ConnectionDesc(StringRef field, Tensor tensor)
        : field(field.str()), tensors{std::move(tensor)}, single(true) {}
    ConnectionDesc(StringRef field, ArrayRef<Tensor> list)
        : field(field.str()), tensors(list.begin(), list.end()) {}
    template <typename T, typename = typename std::enable_if<
                              std::is_arithmetic<T>::value>::type>
    ConnectionDesc(StringRef field, T value)
        : field(field.str()), value(detail::hostValues(&value, 1, true)), constant(true) {}
    std::string field;
    std::vector<Tensor> tensors;
    detail::HostValues value;
    bool single = false, constant = false;
  };

  Graph();
  explicit Graph(const Target &target, replication_factor replicas = replication_factor(1));
  explicit Graph(const Device &device, replication_factor replicas = replication_factor(1));
  Graph(const Target &target, unsigned, replication_factor replicas)
      : Graph(target, replicas) {}
  Graph(Graph &&) = default;
  Graph &operator=(Graph &&) = default;
  Graph(const Graph &) = delete;
  Graph &operator=(const Graph &) = delete;

  // -- targets and parts of graphs
  const Target &getTarget() const { return target_; }
  unsigned getReplicationFactor() const;
  unsigned getPhysicalReplicationFactor() const { return getReplicationFactor(); }
  Graph getTopLevelGraph() const;
  Graph createVirtualGraph(unsigned lowerTile, unsigned upperTile);
  Graph createVirtualGraph(unsigned tilesPerIPU);
  Graph createVirtualGraph(const std::vector<unsigned> &tiles);
  Graph createReplicatedGraph(unsigned replicas);

  // -- variables
  Tensor addVariable(const Type &type, ArrayRef<std::size_t> shape,
                     const DebugContext &debug = {});
  Tensor addVariable(const Type &type, ArrayRef<std::size_t> shape,
                     VariableMappingMethod method, const DebugContext &debug = {});
  Tensor addLinearlyTiledVariable(const Type &type, ArrayRef<std::size_t> shape,
                                  const DebugContext &debug = {}) {
    return addVariable(type, shape, VariableMappingMethod::LINEAR, debug);
  }
  template <typename T>
  Tensor addConstant(const Type &type, ArrayRef<std::size_t> shape, ArrayRef<T> values,
                     const DebugContext &debug = {}) {
    return addConstantValues(type, shape,
                             detail::hostValues(values.data(), values.size(), false), debug);
  }
  template <typename T, typename A>
  Tensor addConstant(const Type &type, ArrayRef<std::size_t> shape,
                     const std::vector<T, A> &values, const DebugContext &debug = {}) {
    const std::vector<T> plain(values.begin(), values.end());
    return addConstantValues(type, shape, detail::hostValues(plain), debug);
  }
  template <typename T,
            typename std::enable_if<std::is_arithmetic<T>::value, int>::type = 0>
  Tensor addConstant(const Type &type, ArrayRef<std::size_t> shape, T value,
                     const DebugContext &debug = {}) {
    return addConstantValues(type, shape, detail::hostValues(&value, 1, true), debug);
  }
  template <typename T, typename P,
            typename std::enable_if<std::is_pointer<P>::value, int>::type = 0>
  Tensor addConstant(const Type &type, ArrayRef<std::size_t> shape, P values,
                     const DebugContext &debug = {}) {
    return addConstantValues(
        type, shape, detail::hostValues(values, detail::elementsOf(shape), false), debug);
  }
  template <typename P,
            typename std::enable_if<std::is_pointer<P>::value, int>::type = 0>
  Tensor addConstant(const Type &type, ArrayRef<std::size_t> shape, P values,
                     const DebugContext &debug = {}) {
    return addConstantValues(
        type, shape, detail::hostValues(values, detail::elementsOf(shape), false), debug);
  }
  Tensor addConstantHalf(const Type &type, ArrayRef<std::size_t> shape, std::uint16_t value,
                         const DebugContext &debug = {});
  Tensor addConstantHalf(const Type &type, ArrayRef<std::size_t> shape,
                         const std::uint16_t *values, const DebugContext &debug = {});
  Tensor addConstantHalf(const Type &type, ArrayRef<std::size_t> shape,
                         const std::vector<std::uint16_t> &values,
                         const DebugContext &debug = {});
  Tensor addReplicationIndexConstant(const DebugContext &debug = {});
  Tensor clone(const Type &type, const Tensor &tensor, const DebugContext &debug = {},
               TensorCloneMethod method = TensorCloneMethod::PRESERVE_ORDER_UNLESS_ALIASES);
  Tensor clone(const Tensor &tensor, const DebugContext &debug = {},
               TensorCloneMethod method = TensorCloneMethod::PRESERVE_ORDER_UNLESS_ALIASES);
  Tensor cloneN(const Type &type, const Tensor &tensor, std::size_t count, const DebugContext &debug = {},
                TensorCloneMethod method = TensorCloneMethod::PRESERVE_ORDER_UNLESS_ALIASES);
  Tensor cloneN(const Tensor &tensor, std::size_t count, const DebugContext &debug = {},
                TensorCloneMethod method = TensorCloneMethod::PRESERVE_ORDER_UNLESS_ALIASES);

  template <typename T, typename = typename std::enable_if<
                            std::is_arithmetic<T>::value>::type>
  void setInitialValue(const Tensor &tensor, const T &value) {
    setInitialValues(tensor, detail::hostValues(&value, 1, true));
  }
  template <typename T> void setInitialValue(const Tensor &tensor, ArrayRef<T> values) {
    setInitialValues(tensor, detail::hostValues(values.data(), values.size(), false));
  }
  template <typename T, typename A>
  void setInitialValue(const Tensor &tensor, const std::vector<T, A> &values) {
    const std::vector<T> plain(values.begin(), values.end());
    setInitialValues(tensor, detail::hostValues(plain));
  }
  template <typename T, typename = typename std::enable_if<
                            !std::is_convertible<T, Tensor>::value &&
                            (std::is_arithmetic<T>::value || std::is_enum<T>::value ||
                             std::is_class<T>::value || std::is_pointer<T>::value)>::type>
  void setInitialValue(FieldRef field, const T &value) {
    setFieldValues(field, detail::anyValue(value));
  }
  template <typename T> void setInitialValue(FieldRef field, ArrayRef<T> values) {
    setFieldValues(field, detail::hostValues(values.data(), values.size(), false));
  }
  template <typename T, typename A>
  void setInitialValue(FieldRef field, const std::vector<T, A> &values) {
    const std::vector<T> plain(values.begin(), values.end());
    setFieldValues(field, detail::hostValues(plain));
  }
  void setInitialValueHalf(const Tensor &tensor, std::uint16_t value);
  void setInitialValueHalf(const Tensor &tensor, ArrayRef<std::uint16_t> values);
  void setInitialValueHalf(FieldRef field, std::uint16_t value);
  void setInitialValueHalf(FieldRef field, ArrayRef<std::uint16_t> values);

  // -- tiles
  void setTileMapping(const Tensor &tensor, unsigned tile,
                      SourceLocation where = SourceLocation::Current());
  void setTileMapping(const Tensor &tensor, const TileToTensorMapping &mapping,
                      SourceLocation where = SourceLocation::Current());
  void setTileMapping(VertexRef vertex, unsigned tile,
                      SourceLocation where = SourceLocation::Current());
  TileToTensorMapping getTileMapping(const Tensor &tensor, bool requireComplete = true) const;
  TileToTensorMapping getTileMapping(const Tensor &tensor, bool *isComplete) const;
  TileToTensorMapping getVariableTileMapping(const VariableRef &variable) const;
  std::vector<std::vector<Interval>>
  getSortedContiguousRegions(const Tensor &tensor, ArrayRef<Interval> regions,
                             bool removeAliasedIntervals = false,
                             std::vector<std::size_t> *aliases = nullptr) const;
  void reorderToSimplify(Tensor *tensor, ArrayRef<Tensor *> others,
                         bool requireSimplestOrder = true) const;
  Tensor findUnbroadcastTensor(const Tensor &tensor) const;

  // -- codelets and vertices
  bool addCodelets(StringRef source, CodeletFileType type = CodeletFileType::Auto,
                   StringRef compileFlags = "", StringRef targetName = "");
  bool addCodelets(StringRef source, CodeletFileType type, StringRef compileFlags,
                   std::ostream &compileOutput, StringRef targetName = "");
  bool addCodelets(std::stringstream &source, StringRef compileFlags = "",
                   CodeletFileType type = CodeletFileType::CppSource,
                   StringRef targetName = "");
  bool addCodelets(std::stringstream &source, StringRef compileFlags,
                   std::ostream &compileOutput,
                   CodeletFileType type = CodeletFileType::CppSource,
                   StringRef targetName = "");
  bool addCodelets(const std::vector<std::string> &sources, StringRef compileFlags = "");
  bool hasCodelet(StringRef vertexType) const;
  ComputeSet addComputeSet(const DebugContext &debug = {});
  VertexRef addVertex(ComputeSet cs, StringRef vertexType,
                      SourceLocation where = SourceLocation::Current());
  VertexRef addVertex(ComputeSet cs, StringRef vertexType,
                      ArrayRef<ConnectionDesc> connections,
                      SourceLocation where = SourceLocation::Current());
  void connect(FieldRef field, const Tensor &tensor,
               SourceLocation where = SourceLocation::Current());
  void connect(FieldRef field, ArrayRef<Tensor> tensors,
               SourceLocation where = SourceLocation::Current());
  template <typename T, typename = typename std::enable_if<
                            std::is_arithmetic<T>::value>::type>
  void connect(FieldRef field, T value) {
    connectValues(field, detail::hostValues(&value, 1, true));
  }
  template <typename T, typename = typename std::enable_if<
                            std::is_arithmetic<T>::value>::type>
  void connect(FieldRef field, ArrayRef<T> values) {
    connectValues(field, detail::hostValues(values.data(), values.size(), false));
  }
  template <typename T, typename = typename std::enable_if<
                            std::is_arithmetic<T>::value>::type>
  void connect(FieldRef field, const std::vector<T> &values) {
    connectValues(field, detail::hostValues(values));
  }
  void setFieldSize(FieldRef field, std::size_t size);
  std::size_t getMaxVertexFieldValue(StringRef vertexType, StringRef field) const;
  std::size_t getMaxFieldDim(StringRef vertexType, StringRef field, unsigned dimension) const;
  void setPerfEstimate(const VertexRef &vertex, std::uint64_t cycles, std::uint64_t flops = 0);
  void setPerfEstimate(const VertexRef &vertex, const VertexPerfEstimate &estimate) {
    setPerfEstimate(vertex, estimate.cycles, estimate.flops);
  }
  void setCycleEstimate(const VertexRef &vertex, std::uint64_t cycles) {
    setPerfEstimate(vertex, cycles);
  }
  std::uint64_t getPerfEstimate(const VertexRef &vertex) const;
  void registerPerfEstimator(StringRef vertexType, PerfEstimateFunc estimator);
  void registerCycleEstimator(StringRef vertexType, PerfEstimateFunc estimator) {
    registerPerfEstimator(vertexType, std::move(estimator));
  }

  // -- the host
  void createHostWrite(StringRef handle, const Tensor &tensor, bool rearrangeOnHost = false);
  void createHostRead(StringRef handle, const Tensor &tensor, bool rearrangeOnHost = false);
  DataStream addHostToDeviceFIFO(
      StringRef handle, const Type &type, std::size_t numElements,
      ReplicatedStreamMode mode = ReplicatedStreamMode::REPLICATE,
      const OptionFlags &options = {});
  DataStream addDeviceToHostFIFO(StringRef handle, const Type &type, std::size_t numElements,
                                 const OptionFlags &options = {});
  RemoteBuffer addRemoteBuffer(StringRef handle, const Type &type, std::size_t numElements,
                               std::size_t repeats = 1, bool rearrangeOnHost = false,
                               bool optimiseMemory = false);
  struct HostFunctionArgument {
    HostFunctionArgument(Type type, std::size_t elements) : type(type), elements(elements) {}
    Type type;
    std::size_t elements;
  };
  HostFunction addHostFunction(StringRef handle, ArrayRef<HostFunctionArgument> inputs,
                               ArrayRef<HostFunctionArgument> outputs);
  Function addFunction(const program::Program &program);

  // -- sizes and texts
  unsigned getNumComputeSets() const;
  unsigned getNumVars() const;
  std::size_t getNumVertices() const;
  std::size_t getNumVertices(ComputeSet cs) const;
  void outputVertexGraph(std::ostream &os,
                         ArrayRef<program::Program> programs = {}) const;
  void outputComputeGraph(std::ostream &os,
                          ArrayRef<program::Program> programs = {}) const;
  void serialize(std::ostream &os, SerializationFormat format) const;
  void serializeTensors(std::ostream &os, ArrayRef<Tensor> tensors,
                        SerializationFormat format) const;
  std::vector<Tensor> deserializeTensors(std::istream &is, SerializationFormat format);

  const std::shared_ptr<detail::GraphCore> &core() const { return core_; }
  // The number of this graph, or this part of it, in the process that builds it.
  unsigned number() const { return number_; }

private:
  friend struct detail::TensorAccess;
  Graph(std::shared_ptr<detail::GraphCore> core, unsigned number, Target target,
        std::shared_ptr<const std::vector<unsigned>> tiles);
  Tensor addConstantValues(const Type &type, ArrayRef<std::size_t> shape,
                           const detail::HostValues &values, const DebugContext &debug);
  void setInitialValues(const Tensor &tensor, const detail::HostValues &values);
  void setFieldValues(const FieldRef &field, const detail::HostValues &values);
  void connectValues(const FieldRef &field, const detail::HostValues &values);
  unsigned wholeTile(unsigned tile) const;
  Graph part(const std::vector<unsigned> &tiles);

  std::shared_ptr<detail::GraphCore> core_;
  unsigned number_ = 0;
  Target target_;
  // The tiles that a part of a graph has; none: all of them.
  std::shared_ptr<const std::vector<unsigned>> tiles_;
};

// What an estimator may ask about a vertex.
class VertexIntrospector {
public:
  class FieldInfo {
  public:
    FieldInfo(std::size_t elements, std::vector<std::size_t> edges)
        : elements_(elements), edges_(std::move(edges)) {}
    std::size_t size() const { return edges_.empty() ? elements_ : edges_.size(); }
    std::size_t getSizeAtIndex(std::size_t i) const { return edges_.at(i); }

  private:
    std::size_t elements_;
    std::vector<std::size_t> edges_;
  };
  VertexIntrospector(std::map<std::string, FieldInfo> fields,
                     std::map<std::string, std::vector<double>> values)
      : fields_(std::move(fields)), values_(std::move(values)) {}
  FieldInfo getFieldInfo(const std::string &name) const;
  template <typename T> T getFieldValue(const std::string &name) const {
    return static_cast<T>(valuesOf(name).at(0));
  }
  template <typename T> std::vector<T> getFieldValues(const std::string &name) const {
    const std::vector<double> &found = valuesOf(name);
    return std::vector<T>(found.begin(), found.end());
  }

private:
  const std::vector<double> &valuesOf(const std::string &name) const;
  std::map<std::string, FieldInfo> fields_;
  std::map<std::string, std::vector<double>> values_;
};

} // namespace poplar

#endif
