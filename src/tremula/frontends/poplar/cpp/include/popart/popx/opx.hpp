// What an operator computes: `grow` adds Poplar programs. Implementations of custom operators derive from `Opx`.
#ifndef POPART_POPX_OPX_HPP
#define POPART_POPX_OPX_HPP

#include <popart/op.hpp>
#include <popart/popx/devicex.hpp>
#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>
#include <poplar/Tensor.hpp>

namespace popart {
namespace popx {

enum class InputCreatorType { CanCreate = 0, CanUnwind, CanDelegate, CanDelegateOrUnwind, CanCreateOrUnwind, Deadend };

class Opx {
public:
  Opx(Op *op, Devicex *device) : op_p(op), dv_p(device) {}
  virtual ~Opx() {}

  virtual void grow(poplar::program::Sequence &prog) const;
  virtual InputCreatorType getInputCreatorType(InIndex) const { return InputCreatorType::Deadend; }
  virtual poplar::Tensor createInput(InIndex index, const poplar::DebugNameAndId &name) const;
  virtual poplar::Tensor createInputTensor(InIndex index, const poplar::DebugNameAndId &name) const {
    return createInput(index, name);
  }
  virtual poplar::Tensor unwindTensorLayout(poplar::Tensor tensor, InIndex, OutIndex) const { return tensor; }
  virtual view::RegMap unwindRegion(InIndex, OutIndex) const {
    return [](const view::Region &region) { return view::Regions(1, region); };
  }
  virtual std::set<TensorId> mustExistBeforeCreate(InIndex) const { return std::set<TensorId>(); }
  virtual bool createsEquiv(int, const Opx *, int) const { return false; }

  virtual poplar::Graph &graph() const { return dv_p->graph; }
  poplar::Graph &inGraph(InIndex) const { return dv_p->graph; }
  poplar::Graph &outGraph(OutIndex) const { return dv_p->graph; }
  poplar::Graph &topLevelGraph() const { return dv_p->graph; }

  template <class OP> OP &getOp() const {
    OP *found = dynamic_cast<OP *>(op_p);
    if (found == nullptr)
      throw error("operator {} is not of the class that its Opx asks for", op_p->opid);
    return *found;
  }
  const Op &baseOp() const { return *op_p; }

  bool hasInput(InIndex index) const { return op_p->hasInput(index); }
  bool hasOutput(OutIndex index) const { return op_p->hasOutput(index); }
  const TensorInfo &inInfo(InIndex index) const { return op_p->inInfo(index); }
  const Shape &inShape(InIndex index) const { return op_p->inShape(index); }
  const TensorInfo &outInfo(OutIndex index) const { return op_p->output->tensor(index)->info; }
  const Shape &outShape(OutIndex index) const { return outInfo(index).shape(); }
  std::vector<std::size_t> inShapeSzt(InIndex index) const { return inInfo(index).shape_szt(); }
  std::vector<std::size_t> outShapeSzt(OutIndex index) const { return outInfo(index).shape_szt(); }
  const TensorId &inId(InIndex index) const { return op_p->inId(index); }
  const TensorId &outId(OutIndex index) const { return op_p->outId(index); }
  Tensor *inTensor(InIndex index) const { return op_p->inTensor(index); }
  Tensor *outTensor(OutIndex index) const { return op_p->outTensor(index); }

  const poplar::Tensor &get(const TensorId &id) const;
  void insert(const TensorId &id, const poplar::Tensor &tensor) const { dv_p->tensors[id] = tensor; }
  const poplar::Tensor &getInTensor(InIndex index) const { return get(inId(index)); }
  const poplar::Tensor &getOutTensor(OutIndex index) const { return get(outId(index)); }
  void setOutTensor(OutIndex index, const poplar::Tensor &tensor) const;

  poplar::Tensor cloneNcopy(poplar::program::Sequence &prog, const poplar::Tensor &tensor,
                            const std::string &name = "") const;
  poplar::Tensor cloneNcopy(poplar::program::Sequence &prog, const TensorId &id) const {
    return cloneNcopy(prog, get(id));
  }
  poplar::Tensor getConst(const poplar::Type &type, const std::vector<std::size_t> &shape, double value,
                          const std::string &name = "") const;
  poplar::Tensor getScalarVariable(const poplar::Type &type, const std::string &name = "") const;
  poplar::Tensor broadcast(const std::vector<std::int64_t> &shape, const TensorId &id) const {
    return broadcast(shape, get(id));
  }
  poplar::Tensor broadcast(const std::vector<std::int64_t> &shape, poplar::Tensor tensor) const;

  std::string idStr() const { return op_p->name(); }
  std::string debugName(const std::string &name = "") const {
    return name.empty() ? op_p->debugName() : op_p->debugName() + "/" + name;
  }
  poplar::DebugNameAndId debugContext(const std::string &name = "") const {
    return poplar::DebugNameAndId(debugName(name));
  }
  poplar::DebugNameAndId getDebugNameAndId(const std::string &name = "") const { return debugContext(name); }
  Devicex *getDevicex() const { return dv_p; }

protected:
  template <class OP> void verifyOp(Op *op, const OperatorIdentifier &opid) const {
    verifyOp<OP>(op, std::vector<OperatorIdentifier>(1, opid));
  }
  template <class OP> void verifyOp(Op *op, std::vector<OperatorIdentifier> opids) const {
    if (dynamic_cast<OP *>(op) == nullptr)
      throw error("operator {} is not of the class that its Opx is for", op->opid);
    for (const auto &each : opids)
      if (each == op->opid)
        return;
    if (!opids.empty())
      throw error("operator {} has an Opx that is for {}", op->opid, opids.front());
  }
  template <class OP> void verifyOp(Op *op) const { verifyOp<OP>(op, std::vector<OperatorIdentifier>()); }

  Op *op_p;
  Devicex *dv_p;
};

typedef Opx PopOpx;

} // namespace popx
} // namespace popart

#endif
