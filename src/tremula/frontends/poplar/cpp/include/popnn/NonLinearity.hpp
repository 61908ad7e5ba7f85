// Non-linearities and their gradients.
#ifndef POPNN_NONLINEARITY_HPP
#define POPNN_NONLINEARITY_HPP

#include <popnn/NonLinearityDef.hpp>

namespace popnn {

inline void nonLinearityInPlace(
    poplar::Graph &graph, NonLinearityType nonLinearityType, poplar::Tensor t,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {}) {
  poplar::detail::call(
      "popnn", "nonLinearityInPlace", graph, nonLinearityType, t, prog, debugContext);
}

inline poplar::Tensor nonLinearity(
    poplar::Graph &graph, NonLinearityType nonLinearityType, poplar::Tensor t,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call(
      "popnn", "nonLinearity", graph, nonLinearityType, t, prog, debugContext).tensor();
}

inline void nonLinearityInPlace(
    poplar::Graph &graph, NonLinearityType nonLinearityType, poplar::Tensor t,
    poplar::ComputeSet &cs, const poplar::DebugContext &debugContext = {}) {
  poplar::detail::call(
      "popnn", "nonLinearityInPlace", graph, nonLinearityType, t, cs, debugContext);
}

// These say as well what the result is multiplied with: 1 but for SOFTMAX_SCALED.
inline void nonLinearityInPlace(
    poplar::Graph &graph, NonLinearityType nonLinearityType, poplar::Tensor t,
    float &nonLinearityScaling, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}) {
  nonLinearityScaling =
      static_cast<float>(poplar::detail::call("popnn", "nonLinearityScaling", nonLinearityType).real());
  nonLinearityInPlace(graph, nonLinearityType, t, prog, debugContext);
}

inline poplar::Tensor nonLinearity(
    poplar::Graph &graph, NonLinearityType nonLinearityType, poplar::Tensor t,
    float &nonLinearityScaling, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}) {
  nonLinearityScaling =
      static_cast<float>(poplar::detail::call("popnn", "nonLinearityScaling", nonLinearityType).real());
  return nonLinearity(graph, nonLinearityType, t, prog, debugContext);
}

inline poplar::Tensor nonLinearityInputGradient(
    poplar::Graph &graph, NonLinearityType nonLinearityType, poplar::Tensor act,
    poplar::Tensor outGradient, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call(
      "popnn", "nonLinearityInputGradient", graph, nonLinearityType, act, outGradient, prog,
      debugContext).tensor();
}

inline poplar::Tensor nonLinearityInputGradient(
    poplar::Graph &graph, NonLinearityType nonLinearityType, poplar::Tensor act,
    poplar::Tensor outGradient, poplar::ComputeSet &cs,
    const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call(
      "popnn", "nonLinearityInputGradient", graph, nonLinearityType, act, outGradient, cs,
      debugContext).tensor();
}

#define POPNN_NON_LINEARITY(NAME, TYPE)                                        \
  inline poplar::Tensor NAME(poplar::Graph &graph, poplar::Tensor t,           \
                             poplar::program::Sequence &prog,                  \
                             const poplar::DebugContext &debugContext = {}) {  \
    return nonLinearity(graph, NonLinearityType::TYPE, t, prog, debugContext); \
  }                                                                            \
  inline poplar::Tensor NAME(poplar::Graph &graph, poplar::Tensor t,           \
                             float &nonLinearityScaling,                       \
                             poplar::program::Sequence &prog,                  \
                             const poplar::DebugContext &debugContext = {}) {  \
    return nonLinearity(graph, NonLinearityType::TYPE, t, nonLinearityScaling, prog, \
                        debugContext);                                         \
  }                                                                            \
  inline void NAME##InPlace(poplar::Graph &graph, poplar::Tensor t,            \
                            poplar::program::Sequence &prog,                   \
                            const poplar::DebugContext &debugContext = {}) {   \
    nonLinearityInPlace(graph, NonLinearityType::TYPE, t, prog, debugContext); \
  }                                                                            \
  inline void NAME##InPlace(poplar::Graph &graph, poplar::Tensor t,            \
                            float &nonLinearityScaling,                        \
                            poplar::program::Sequence &prog,                   \
                            const poplar::DebugContext &debugContext = {}) {   \
    nonLinearityInPlace(graph, NonLinearityType::TYPE, t, nonLinearityScaling, prog, \
                        debugContext);                                         \
  }
POPNN_NON_LINEARITY(sigmoid, SIGMOID)
POPNN_NON_LINEARITY(relu, RELU)
POPNN_NON_LINEARITY(tanh, TANH)
POPNN_NON_LINEARITY(gelu, GELU)
POPNN_NON_LINEARITY(geluErf, GELU_ERF)
POPNN_NON_LINEARITY(swish, SWISH)
POPNN_NON_LINEARITY(softmax, SOFTMAX)
POPNN_NON_LINEARITY(softmaxStable, SOFTMAX_STABLE)
POPNN_NON_LINEARITY(scaledSoftmaxStable, SOFTMAX_SCALED)
#undef POPNN_NON_LINEARITY

} // namespace popnn

#endif
