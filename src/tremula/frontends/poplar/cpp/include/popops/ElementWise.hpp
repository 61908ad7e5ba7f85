// Element-wise functions of tensors: `map` of an expression, and a family for each operation: a new
// tensor, in place, or into an output.
#ifndef POPOPS_ELEMENTWISE_HPP
#define POPOPS_ELEMENTWISE_HPP

#include <popops/Expr.hpp>
#include <poputil/DebugInfo.hpp>

namespace popops {

// `map` of an expression or of an operation, in its three forms.
inline poplar::Tensor map(poplar::Graph &graph, const expr::Expr &expr,
                          const std::vector<poplar::Tensor> &ts,
                          poplar::program::Sequence &prog,
                          const poplar::DebugContext &debugContext = {},
                          const poplar::OptionFlags &options = {}) {
  return poplar::detail::call("popops", "map", graph, expr, ts, prog, debugContext, options)
      .tensor();
}
inline std::vector<poplar::Tensor> map(poplar::Graph &graph, const std::vector<expr::Any> &exprs,
                                       const std::vector<poplar::Tensor> &ts,
                                       poplar::program::Sequence &prog,
                                       const poplar::DebugContext &debugContext = {},
                                       const poplar::OptionFlags &options = {}) {
  return poplar::detail::call("popops", "map", graph, exprs, ts, prog, debugContext, options)
      .tensors();
}
inline void mapInPlace(poplar::Graph &graph, const expr::Expr &expr,
                       const std::vector<poplar::Tensor> &ts, poplar::program::Sequence &prog,
                       const poplar::DebugContext &debugContext = {},
                       const poplar::OptionFlags &options = {}) {
  poplar::detail::call("popops", "mapInPlace", graph, expr, ts, prog, debugContext, options);
}
inline void mapInPlace(poplar::Graph &graph, const std::vector<expr::Any> &exprs,
                       const std::vector<poplar::Tensor> &ts, poplar::program::Sequence &prog,
                       const poplar::DebugContext &debugContext = {},
                       const poplar::OptionFlags &options = {}) {
  poplar::detail::call("popops", "mapInPlace", graph, exprs, ts, prog, debugContext, options);
}
inline void mapWithOutput(poplar::Graph &graph, const expr::Expr &expr,
                          const std::vector<poplar::Tensor> &ts, const poplar::Tensor &out,
                          poplar::program::Sequence &prog,
                          const poplar::DebugContext &debugContext = {},
                          const poplar::OptionFlags &options = {}) {
  poplar::detail::call("popops", "mapWithOutput", graph, expr, ts, out, prog, debugContext,
                       options);
}
inline void mapWithOutput(poplar::Graph &graph, const std::vector<expr::Any> &exprs,
                          const std::vector<poplar::Tensor> &ts,
                          const std::vector<poplar::Tensor> &outs,
                          poplar::program::Sequence &prog,
                          const poplar::DebugContext &debugContext = {},
                          const poplar::OptionFlags &options = {}) {
  poplar::detail::call("popops", "mapWithOutput", graph, exprs, ts, outs, prog, debugContext,
                       options);
}

inline poplar::Tensor map(
    poplar::Graph &graph, expr::UnaryOpType op, const poplar::Tensor &a,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}) {
  return poplar::detail::call("popops", "map", graph, op, a, prog, debugContext, options).tensor();
}

inline void mapInPlace(
    poplar::Graph &graph, expr::UnaryOpType op, const poplar::Tensor &a,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}) {
  poplar::detail::call("popops", "mapInPlace", graph, op, a, prog, debugContext, options);
}

inline void mapWithOutput(
    poplar::Graph &graph, expr::UnaryOpType op, const poplar::Tensor &a, const poplar::Tensor &out,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}) {
  poplar::detail::call("popops", "mapWithOutput", graph, op, a, out, prog, debugContext, options);
}

inline poplar::Tensor map(
    poplar::Graph &graph, expr::BinaryOpType op, const poplar::Tensor &a, const poplar::Tensor &b,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}) {
  return poplar::detail::call(
      "popops", "map", graph, op, a, b, prog, debugContext, options).tensor();
}

inline void mapInPlace(
    poplar::Graph &graph, expr::BinaryOpType op, const poplar::Tensor &a, const poplar::Tensor &b,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}) {
  poplar::detail::call("popops", "mapInPlace", graph, op, a, b, prog, debugContext, options);
}

inline void mapWithOutput(
    poplar::Graph &graph, expr::BinaryOpType op, const poplar::Tensor &a, const poplar::Tensor &b,
    const poplar::Tensor &out, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {
  poplar::detail::call(
      "popops", "mapWithOutput", graph, op, a, b, out, prog, debugContext, options);
}

inline poplar::Tensor map(
    poplar::Graph &graph, expr::TernaryOpType op, const poplar::Tensor &a, const poplar::Tensor &b,
    const poplar::Tensor &c, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {
  return poplar::detail::call(
      "popops", "map", graph, op, a, b, c, prog, debugContext, options).tensor();
}

inline void mapInPlace(
    poplar::Graph &graph, expr::TernaryOpType op, const poplar::Tensor &a, const poplar::Tensor &b,
    const poplar::Tensor &c, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {
  poplar::detail::call("popops", "mapInPlace", graph, op, a, b, c, prog, debugContext, options);
}

inline void mapWithOutput(
    poplar::Graph &graph, expr::TernaryOpType op, const poplar::Tensor &a, const poplar::Tensor &b,
    const poplar::Tensor &c, const poplar::Tensor &out, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {
  poplar::detail::call(
      "popops", "mapWithOutput", graph, op, a, b, c, out, prog, debugContext, options);
}

// The functions of one name.
#define POPOPS_UNARY(NAME)                                                     \
  inline poplar::Tensor NAME(                                                  \
      poplar::Graph &graph, const poplar::Tensor &a,                           \
      poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {}, \
      const poplar::OptionFlags &options = {}) {                               \
    return poplar::detail::call("popops", #NAME, graph, a, prog, debugContext, options) \
        .tensor();                                                             \
  }                                                                            \
  inline void NAME##InPlace(                                                   \
      poplar::Graph &graph, const poplar::Tensor &a,                           \
      poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {}, \
      const poplar::OptionFlags &options = {}) {                               \
    poplar::detail::call("popops", #NAME "InPlace", graph, a, prog, debugContext, options); \
  }                                                                            \
  inline void NAME##WithOutput(                                                \
      poplar::Graph &graph, const poplar::Tensor &a,                           \
      const poplar::Tensor &out,                                               \
      poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {}, \
      const poplar::OptionFlags &options = {}) {                               \
    poplar::detail::call("popops", #NAME "WithOutput", graph, a, out, prog, debugContext, options); \
  }
#define POPOPS_BINARY(NAME)                                                    \
  inline poplar::Tensor NAME(                                                  \
      poplar::Graph &graph, const poplar::Tensor &a, const poplar::Tensor &b,  \
      poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {}, \
      const poplar::OptionFlags &options = {}) {                               \
    return poplar::detail::call("popops", #NAME, graph, a, b, prog, debugContext, options) \
        .tensor();                                                             \
  }                                                                            \
  inline void NAME##InPlace(                                                   \
      poplar::Graph &graph, const poplar::Tensor &a, const poplar::Tensor &b,  \
      poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {}, \
      const poplar::OptionFlags &options = {}) {                               \
    poplar::detail::call("popops", #NAME "InPlace", graph, a, b, prog, debugContext, options); \
  }                                                                            \
  inline void NAME##WithOutput(                                                \
      poplar::Graph &graph, const poplar::Tensor &a, const poplar::Tensor &b,  \
      const poplar::Tensor &out,                                               \
      poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {}, \
      const poplar::OptionFlags &options = {}) {                               \
    poplar::detail::call("popops", #NAME "WithOutput", graph, a, b, out, prog, debugContext, options); \
  }                                                                            \
  template <typename T, typename = typename std::enable_if<std::is_arithmetic<T>::value>::type> \
  inline poplar::Tensor NAME(                                                  \
      poplar::Graph &graph, const poplar::Tensor &a, T b,                      \
      poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {}, \
      const poplar::OptionFlags &options = {}) {                               \
    return poplar::detail::call("popops", #NAME, graph, a, b, prog, debugContext, options) \
        .tensor();                                                             \
  }                                                                            \
  template <typename T, typename = typename std::enable_if<std::is_arithmetic<T>::value>::type> \
  inline void NAME##InPlace(                                                   \
      poplar::Graph &graph, const poplar::Tensor &a, T b,                      \
      poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {}, \
      const poplar::OptionFlags &options = {}) {                               \
    poplar::detail::call("popops", #NAME "InPlace", graph, a, b, prog, debugContext, options); \
  }                                                                            \
  template <typename T, typename = typename std::enable_if<std::is_arithmetic<T>::value>::type> \
  inline void NAME##WithOutput(                                                \
      poplar::Graph &graph, const poplar::Tensor &a, T b,                      \
      const poplar::Tensor &out,                                               \
      poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {}, \
      const poplar::OptionFlags &options = {}) {                               \
    poplar::detail::call("popops", #NAME "WithOutput", graph, a, b, out, prog, debugContext, options); \
  }                                                                            \
  template <typename T, typename = typename std::enable_if<std::is_arithmetic<T>::value>::type> \
  inline poplar::Tensor NAME(                                                  \
      poplar::Graph &graph, T a, const poplar::Tensor &b,                      \
      poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {}, \
      const poplar::OptionFlags &options = {}) {                               \
    return poplar::detail::call("popops", #NAME, graph, a, b, prog, debugContext, options) \
        .tensor();                                                             \
  }                                                                            \
  template <typename T, typename = typename std::enable_if<std::is_arithmetic<T>::value>::type> \
  inline void NAME##WithOutput(                                                \
      poplar::Graph &graph, T a, const poplar::Tensor &b,                      \
      const poplar::Tensor &out,                                               \
      poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {}, \
      const poplar::OptionFlags &options = {}) {                               \
    poplar::detail::call("popops", #NAME "WithOutput", graph, a, b, out, prog, debugContext, options); \
  }
#define POPOPS_TERNARY(NAME)                                                   \
  inline poplar::Tensor NAME(                                                  \
      poplar::Graph &graph, const poplar::Tensor &a, const poplar::Tensor &b, const poplar::Tensor &c, \
      poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {}, \
      const poplar::OptionFlags &options = {}) {                               \
    return poplar::detail::call("popops", #NAME, graph, a, b, c, prog, debugContext, options) \
        .tensor();                                                             \
  }                                                                            \
  inline void NAME##InPlace(                                                   \
      poplar::Graph &graph, const poplar::Tensor &a, const poplar::Tensor &b, const poplar::Tensor &c, \
      poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {}, \
      const poplar::OptionFlags &options = {}) {                               \
    poplar::detail::call("popops", #NAME "InPlace", graph, a, b, c, prog, debugContext, options); \
  }                                                                            \
  inline void NAME##WithOutput(                                                \
      poplar::Graph &graph, const poplar::Tensor &a, const poplar::Tensor &b, const poplar::Tensor &c, \
      const poplar::Tensor &out,                                               \
      poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {}, \
      const poplar::OptionFlags &options = {}) {                               \
    poplar::detail::call("popops", #NAME "WithOutput", graph, a, b, c, out, prog, debugContext, options); \
  }

POPOPS_UNARY(abs)
POPOPS_UNARY(asin)
POPOPS_UNARY(cbrt)
POPOPS_UNARY(erf)
POPOPS_UNARY(exp)
POPOPS_UNARY(expm1)
POPOPS_UNARY(exp2)
POPOPS_UNARY(ceil)
POPOPS_UNARY(cos)
POPOPS_UNARY(floor)
POPOPS_UNARY(inv)
POPOPS_UNARY(log)
POPOPS_UNARY(log1p)
POPOPS_UNARY(nearbyint)
POPOPS_UNARY(neg)
POPOPS_UNARY(popcount)
POPOPS_UNARY(signum)
POPOPS_UNARY(sin)
POPOPS_UNARY(tan)
POPOPS_UNARY(tanh)
POPOPS_UNARY(round)
POPOPS_UNARY(trunc)
POPOPS_UNARY(sqrt)
POPOPS_UNARY(square)
POPOPS_UNARY(sigmoid)
POPOPS_UNARY(rsqrt)
POPOPS_UNARY(geluErf)
POPOPS_UNARY(bitwiseNot)
POPOPS_UNARY(logicalNot)
POPOPS_UNARY(isFinite)
POPOPS_UNARY(isInf)
POPOPS_UNARY(isNaN)
POPOPS_UNARY(countLeadingZeros)
POPOPS_UNARY(relu)

POPOPS_BINARY(add)
POPOPS_BINARY(atan2)
POPOPS_BINARY(bitwiseAnd)
POPOPS_BINARY(bitwiseOr)
POPOPS_BINARY(bitwiseXor)
POPOPS_BINARY(bitwiseXnor)
POPOPS_BINARY(div)
POPOPS_BINARY(eq)
POPOPS_BINARY(gteq)
POPOPS_BINARY(gt)
POPOPS_BINARY(lteq)
POPOPS_BINARY(lt)
POPOPS_BINARY(neq)
POPOPS_BINARY(logicalAnd)
POPOPS_BINARY(logicalOr)
POPOPS_BINARY(max)
POPOPS_BINARY(min)
POPOPS_BINARY(mul)
POPOPS_BINARY(pow)
POPOPS_BINARY(rem)
POPOPS_BINARY(shiftLeft)
POPOPS_BINARY(shiftRight)
POPOPS_BINARY(shiftRightSignExtend)
POPOPS_BINARY(sub)

POPOPS_TERNARY(select)
POPOPS_TERNARY(clamp)

#undef POPOPS_UNARY
#undef POPOPS_BINARY
#undef POPOPS_TERNARY

// Statistics of norms: one over the root of a variance, and back.
inline poplar::Tensor varianceToInvStdDev(
    poplar::Graph &graph, const poplar::Tensor &src, const poplar::Tensor &epsilon,
    poplar::program::Sequence &prog, const poplar::Type dstType = poplar::HALF,
    const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call(
      "popops", "varianceToInvStdDev", graph, src, epsilon, prog, dstType, debugContext).tensor();
}

inline poplar::Tensor varianceToInvStdDev(
    poplar::Graph &graph, const poplar::Tensor &src, float epsilon, poplar::program::Sequence &prog,
    const poplar::Type dstType = poplar::HALF, const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call(
      "popops", "varianceToInvStdDev", graph, src, epsilon, prog, dstType, debugContext).tensor();
}

inline poplar::Tensor invStdDevToVariance(
    poplar::Graph &graph, const poplar::Tensor &src, const poplar::Tensor &epsilon,
    poplar::program::Sequence &prog, const poplar::Type dstType = poplar::FLOAT,
    const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call(
      "popops", "invStdDevToVariance", graph, src, epsilon, prog, dstType, debugContext).tensor();
}

inline poplar::Tensor invStdDevToVariance(
    poplar::Graph &graph, const poplar::Tensor &src, float epsilon, poplar::program::Sequence &prog,
    const poplar::Type dstType = poplar::FLOAT, const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call(
      "popops", "invStdDevToVariance", graph, src, epsilon, prog, dstType, debugContext).tensor();
}

} // namespace popops

#endif
