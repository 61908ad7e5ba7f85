// Statistics of channels, whitening, and their gradients.
#ifndef POPLIN_NORMS_HPP
#define POPLIN_NORMS_HPP

#include <poplar/detail/Library.hpp>

namespace poplin {

inline poplar::Tensor createNormGamma(
    poplar::Graph &graph, const poplar::Tensor &acts, const poplar::Type &type,
    const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call(
      "poplin", "createNormGamma", graph, acts, type, debugContext).tensor();
}

inline poplar::Tensor createNormGamma(
    poplar::Graph &graph, const poplar::Tensor &acts,
    const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call("poplin", "createNormGamma", graph, acts, debugContext).tensor();
}

inline poplar::Tensor createNormBeta(
    poplar::Graph &graph, const poplar::Tensor &acts, const poplar::Type &type,
    const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call("poplin", "createNormBeta", graph, acts, type, debugContext).tensor();
}

inline poplar::Tensor createNormBeta(
    poplar::Graph &graph, const poplar::Tensor &acts,
    const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call("poplin", "createNormBeta", graph, acts, debugContext).tensor();
}

inline std::pair<poplar::Tensor, poplar::Tensor> createNormParams(
    poplar::Graph &graph, const poplar::Tensor &acts,
    const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::tensorPair(poplar::detail::call(
      "poplin", "createNormParams", graph, acts, debugContext));
}

inline std::pair<poplar::Tensor, poplar::Tensor> normStatistics(
    poplar::Graph &graph, const poplar::Tensor &actsUngrouped, float eps,
    poplar::program::Sequence &prog, bool unbiasedVarEstimate, bool stableAlgo = false,
    const poplar::Type &partialsType = poplar::FLOAT,
    const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::tensorPair(poplar::detail::call(
      "poplin", "normStatistics", graph, actsUngrouped, eps, prog, unbiasedVarEstimate, stableAlgo,
      partialsType, debugContext));
}

inline poplar::Tensor normWhiten(
    poplar::Graph &graph, const poplar::Tensor &acts, const poplar::Tensor &mean,
    const poplar::Tensor &iStdDev, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call(
      "poplin", "normWhiten", graph, acts, mean, iStdDev, prog, debugContext).tensor();
}

inline poplar::Tensor normalise(
    poplar::Graph &graph, const poplar::Tensor &actsWhitened, const poplar::Tensor &gamma,
    const poplar::Tensor &beta, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call(
      "poplin", "normalise", graph, actsWhitened, gamma, beta, prog, debugContext).tensor();
}

inline std::pair<poplar::Tensor, poplar::Tensor> normParamGradients(
    poplar::Graph &graph, const poplar::Tensor &actsWhitened, const poplar::Tensor &gradsIn,
    poplar::program::Sequence &prog, const poplar::Type &partialsType = poplar::FLOAT,
    const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::tensorPair(poplar::detail::call(
      "poplin", "normParamGradients", graph, actsWhitened, gradsIn, prog, partialsType,
      debugContext));
}

inline poplar::Tensor normGradients(
    poplar::Graph &graph, const poplar::Tensor &gradsIn, const poplar::Tensor &gamma,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call(
      "poplin", "normGradients", graph, gradsIn, gamma, prog, debugContext).tensor();
}

inline poplar::Tensor normStatisticsGradients(
    poplar::Graph &graph, const poplar::Tensor &actsWhitened, const poplar::Tensor &gradsIn,
    const poplar::Tensor &invStdDev, poplar::program::Sequence &prog,
    const poplar::Type &partialsType = poplar::FLOAT,
    const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call(
      "poplin", "normStatisticsGradients", graph, actsWhitened, gradsIn, invStdDev, prog,
      partialsType, debugContext).tensor();
}

} // namespace poplin

#endif
