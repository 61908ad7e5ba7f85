// Patterns rewrite the graph of PopART's compiler, which does not run here: one that is registered is a compile error, so
// that no program relies on a rewrite that never happens.
#ifndef POPART_PATTERNS_PATTERN_HPP
#define POPART_PATTERNS_PATTERN_HPP
#include <popart/op.hpp>
namespace popart {
class Pattern {
public:
  virtual ~Pattern() {}
};
class PreAliasPattern : public Pattern {
public:
  virtual bool matches(Op *) const = 0;
  virtual std::vector<const Tensor *> touches(Op *) const = 0;
  virtual bool apply(Op *) const = 0;
};
template <class PATTERN> class PatternCreator {
  static_assert(sizeof(PATTERN) == 0,
                "Patterns rewrite the graph of PopART's compiler, which does not run here. Leave this pattern out, and "
                "give the operator that it replaces an Opx or a Python implementation "
                "(popart.register_custom_op, tremula.custom_ops.register).");

public:
  PatternCreator(const char *, bool = true, bool = false) {}
};
} // namespace popart
#endif
