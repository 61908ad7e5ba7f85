// Operators whose attributes are one struct, which their gradients share.
#ifndef POPART_OP_CUSTOM_PARAMETERIZEDOP_HPP
#define POPART_OP_CUSTOM_PARAMETERIZEDOP_HPP

#include <popart/graph.hpp>
#include <popart/opmanager.hpp>

namespace popart {

// `TDerivedOp` is the class that derives from this one; it says `static OperatorIdentifier defaultOperatorId()`.
// `TOpParams` says `void appendAttributes(OpSerialiserBase &) const` and
// `static TOpParams makeFromAttributes(const Attributes &)`.
template <typename TDerivedOp, typename TOpParams> class ParameterizedOp : public Op {
public:
  using ParamsType = TOpParams;

  ParameterizedOp(const OperatorIdentifier &opid_, const ParamsType &given, const Op::Settings &settings_)
      : Op(opid_, settings_), m_params(given) {}
  ParameterizedOp(const ParamsType &given, const Op::Settings &settings_)
      : ParameterizedOp(TDerivedOp::defaultOperatorId(), given, settings_) {}
  // With the parameters and settings of another operator, as a gradient has them.
  template <typename T>
  ParameterizedOp(const OperatorIdentifier &opid_, const ParameterizedOp<T, TOpParams> &other)
      : ParameterizedOp(opid_, other.params(), other.settings) {}
  template <typename T>
  ParameterizedOp(const ParameterizedOp<T, TOpParams> &other)
      : ParameterizedOp(TDerivedOp::defaultOperatorId(), other) {}

  std::unique_ptr<Op> clone() const override {
    return std::unique_ptr<Op>(new TDerivedOp(dynamic_cast<const TDerivedOp &>(*this)));
  }

  // What an OpCreator is given.
  static std::unique_ptr<TDerivedOp> createOpFromCreatorInfo(const OpCreatorInfo &info) {
    return std::unique_ptr<TDerivedOp>(
        new TDerivedOp(info.opid, TOpParams::makeFromAttributes(info.attributes), info.settings));
  }

  // Adds an operator to a graph, which keeps it.
  static TDerivedOp *createOpInGraph(Graph &graph, const std::map<InIndex, TensorId> &in,
                                     const std::map<OutIndex, TensorId> &out, const OperatorIdentifier &opid_,
                                     const TOpParams &given, const Op::Settings &settings_) {
    return graph.createConnectedOp<TDerivedOp>(in, out, opid_, given, settings_);
  }
  static TDerivedOp *createOpInGraph(Graph &graph, const std::map<InIndex, TensorId> &in,
                                     const std::map<OutIndex, TensorId> &out, const TOpParams &given,
                                     const Op::Settings &settings_) {
    return createOpInGraph(graph, in, out, TDerivedOp::defaultOperatorId(), given, settings_);
  }

  const TOpParams &params() const { return m_params; }

  void appendAttributes(OpSerialiserBase &serialiser) const override {
    Op::appendAttributes(serialiser);
    m_params.appendAttributes(serialiser);
  }
  void appendOutlineAttributes(OpSerialiserBase &serialiser) const override {
    Op::appendOutlineAttributes(serialiser);
    m_params.appendAttributes(serialiser);
  }
  float getSubgraphValue() const override { return getHighSubgraphValue(); }
  bool requiresRandomSeed() const override { return false; }

protected:
  ParamsType m_params;
};

} // namespace popart

#endif
