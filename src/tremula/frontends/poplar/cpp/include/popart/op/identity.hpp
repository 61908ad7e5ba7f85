// The gradient operator that passes a gradient on.
#ifndef POPART_OP_IDENTITY_HPP
#define POPART_OP_IDENTITY_HPP
#include <popart/op.hpp>
namespace popart {
class IdentityGradOp : public Op {
public:
  explicit IdentityGradOp(const Op::Settings &settings);
  explicit IdentityGradOp(const Op &forward) : IdentityGradOp(forward.settings) {}
  std::unique_ptr<Op> clone() const override;
  void setup() override { outInfo(0) = inInfo(0); }
  const std::vector<GradInOutMapper> &gradInputInfo() const override;
  const std::map<int, int> &gradOutToNonGradIn() const override;
  float getSubgraphValue() const override { return getLowSubgraphValue(); }
};
} // namespace popart
#endif
