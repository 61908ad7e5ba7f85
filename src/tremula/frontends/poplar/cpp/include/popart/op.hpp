// Operators: what they take and give, their gradients, and their attributes. Custom operators derive from `Op`.
#ifndef POPART_OP_HPP
#define POPART_OP_HPP

#include <popart/alias/aliasmodel.hpp>
#include <popart/attributes.hpp>
#include <popart/basicoptionals.hpp>
#include <popart/datatype.hpp>
#include <popart/error.hpp>
#include <popart/graph.hpp>
#include <popart/names.hpp>
#include <popart/operatoridentifier.hpp>
#include <popart/opserialiser.hpp>
#include <popart/region.hpp>
#include <popart/tensor.hpp>
#include <popart/tensorindex.hpp>
#include <popart/tensorinfo.hpp>
#include <popart/tensorlocation.hpp>
#include <popart/tensornames.hpp>

namespace popart {

enum class GradOpInType { In = 0, Out, GradOut };

// Where a gradient operator takes an input from: input `iNonGrad` of the operator, its output, or the gradient of that.
class GradInOutMapper {
public:
  GradInOutMapper(InIndex grad, int nonGrad, GradOpInType kind) : iGrad(grad), iNonGrad(nonGrad), type(kind) {}
  InIndex iGrad;
  int iNonGrad;
  GradOpInType type;
};

enum class RecomputeType { Undefined = 0, Checkpoint, Recompute, Recomputed };
enum class ExecutionContext {
  Normal = 0,
  AccumulateOuterFragment,
  WeightsFromHostFragment,
  WeightsToHostFragment,
  OptimizerFromHostFragment,
  Subgraph
};

typedef std::set<std::pair<std::set<InIndex>, std::set<OutIndex>>> ReplicatedTensorShardingIndices;

class Op {
public:
  class Settings {
  public:
    Settings(Graph &graph_, const std::string &name_) : graph(graph_), name(name_) {}
    Settings(Graph &graph_, const std::string &name_, const std::string &) : graph(graph_), name(name_) {}
    Settings copy(const OpId &) const { return *this; }

    std::reference_wrapper<Graph> graph;
    std::string name;
    RecomputeType recomputeType = RecomputeType::Undefined;
    OptionalVGraphId vgraphId;
    OptionalPipelineStage pipelineStage;
    OptionalExecutionPhase executionPhase;
    OptionalBatchSerializedPhase batchSerializedPhase;
    ExecutionContext executionContext = ExecutionContext::Normal;
    double schedulePriority = 0;
    std::map<std::string, std::string> extraOutlineAttributes;
    std::set<InIndex> inferTensorMappingToFrom;
    bool optimizerOp = false;
    bool gradientClippingOp = false;
    Graph &getGraph() { return graph.get(); }
    const Graph &getGraph() const { return graph.get(); }
    Ir &getIr() const { return graph.get().getIr(); }
  };

  Op(const OperatorIdentifier &opid_, const Settings &settings_)
      : input(new TensorIndexMap), output(new TensorIndexMap), id(0), opid(opid_), settings(settings_) {}
  // A copy has the attributes of the original, and no tensors.
  Op(const Op &other)
      : input(new TensorIndexMap), output(new TensorIndexMap), id(other.id), opid(other.opid),
        settings(other.settings) {}
  Op &operator=(const Op &) = delete;
  virtual ~Op() {}

  std::unique_ptr<TensorIndexMap> input, output;
  OpId id;
  OperatorIdentifier opid;
  Settings settings;

  Settings &getSettings() { return settings; }
  const Settings &getSettings() const { return settings; }
  virtual Settings getInSettings(InIndex) const { return settings; }
  virtual Settings getOutSettings(OutIndex) const { return settings; }
  Settings adjustInSettings(InIndex, Settings given) const { return given; }
  Graph &getGraph() { return settings.graph.get(); }
  const Graph &getGraph() const { return settings.graph.get(); }
  Ir &getIr() { return settings.getIr(); }
  const Ir &getIr() const { return settings.getIr(); }
  const std::string &name() const { return settings.name; }
  virtual std::string str() const { return opid.type; }
  std::string debugName() const { return settings.name.empty() ? opid.type : settings.name + "(" + opid.type + ")"; }

  // -- what operators implement
  virtual void setup();
  virtual std::unique_ptr<Op> clone() const = 0;
  virtual std::vector<std::unique_ptr<Op>> getGradOps() { return std::vector<std::unique_ptr<Op>>(); }
  virtual const std::vector<GradInOutMapper> &gradInputInfo() const;
  virtual const std::map<int, int> &gradOutToNonGradIn() const;
  virtual void appendAttributes(OpSerialiserBase &) const {}
  virtual void appendOutlineAttributes(OpSerialiserBase &) const {}
  virtual float getSubgraphValue() const = 0;
  static float getHighSubgraphValue() { return 1000.0f; }
  static float getLowSubgraphValue() { return 0.1f; }
  virtual bool requiresRandomSeed() const { return false; }
  virtual InIndex getSeedInIndex() const { return -1; }
  virtual std::set<InIndex> optionalInputs() const { return std::set<InIndex>(); }

  // -- what only passes of the compiler ask
  virtual bool canBeReplacedByIdentity() const { return false; }
  virtual bool canShard() const { return false; }
  virtual bool hasSideEffect() const { return false; }
  virtual bool isOutlineable() const { return true; }
  virtual bool isNorm() const { return false; }
  virtual bool isElementWiseUnary() const { return false; }
  virtual bool isOptimizerOp() const { return false; }
  virtual bool isLossOp() const { return false; }
  virtual bool copiesOptimizerTensors() const { return false; }
  virtual std::vector<std::tuple<OperatorIdentifier, float>> inplacePriorityDefault() const {
    return std::vector<std::tuple<OperatorIdentifier, float>>();
  }
  virtual std::unique_ptr<Op> getInplaceVariant(const OperatorIdentifier &wanted) const;
  virtual view::RegMap fwdRegMap(InIndex, OutIndex) const { return identityMap(); }
  virtual view::RegMap bwdRegMap(InIndex, OutIndex) const { return identityMap(); }
  virtual view::Regions uses(InIndex) const { return view::Regions(); }
  virtual view::Regions modifies(InIndex) const { return view::Regions(); }
  virtual view::Regions aliases(InIndex, OutIndex) const { return view::Regions(); }
  virtual ReplicatedTensorShardingIndices getReplicatedTensorShardingIndices() const {
    return ReplicatedTensorShardingIndices();
  }
  virtual void growAliasModel(AliasModel &) const {}

  // -- tensors
  void connectIn(InIndex index, const Tensor &tensor) { input->insert(index, tensor); }
  void createOut(OutIndex index, const Tensor &tensor) { output->insert(index, tensor); }
  bool hasInput(InIndex index) const { return input->hasIndex(index); }
  bool hasOutput(OutIndex index) const { return output->hasIndex(index); }
  Tensor *inTensor(InIndex index) { return input->tensor(index); }
  const Tensor *inTensor(InIndex index) const { return input->tensor(index); }
  Tensor *outTensor(OutIndex index) { return output->tensor(index); }
  const Tensor *outTensor(OutIndex index) const { return output->tensor(index); }
  const TensorId &inId(InIndex index) const { return input->id(index); }
  const TensorId &outId(OutIndex index) const { return output->id(index); }
  TensorInfo &inInfo(InIndex index) { return input->tensor(index)->info; }
  const TensorInfo &inInfo(InIndex index) const { return input->tensor(index)->info; }
  TensorInfo &outInfo(OutIndex index);
  const TensorInfo &outInfo(OutIndex index) const { return output->tensor(index)->info; }
  const Shape &inShape(InIndex index) const { return inInfo(index).shape(); }
  const Shape &outShape(OutIndex index) const { return outInfo(index).shape(); }
  std::size_t inTensorCount() const { return static_cast<std::size_t>(input->n()); }
  std::size_t outTensorCount() const { return static_cast<std::size_t>(output->n()); }
  int inRank(InIndex index) const { return inInfo(index).rank(); }
  int outRank(OutIndex index) const { return outInfo(index).rank(); }

  template <typename T> bool isConvertibleTo() const { return dynamic_cast<const T *>(this) != nullptr; }

private:
  static view::RegMap identityMap() {
    return [](const view::Region &region) { return view::Regions(1, region); };
  }
};

} // namespace popart

#endif
