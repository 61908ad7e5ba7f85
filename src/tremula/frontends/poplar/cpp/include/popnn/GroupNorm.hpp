// Group norms: statistics of each example and group of channels.
#ifndef POPNN_GROUPNORM_HPP
#define POPNN_GROUPNORM_HPP

#include <poplar/detail/Library.hpp>
#include <poplin/Norms.hpp>

namespace popnn {
namespace gn {

inline std::pair<poplar::Tensor, poplar::Tensor> groupNormStatistics(
    poplar::Graph &graph, const poplar::Tensor acts, float eps, poplar::program::Sequence &prog,
    unsigned numGroups, bool unbiasedVarEstimate, bool stableAlgo = false,
    const poplar::Type &partialsType = poplar::FLOAT, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}) {
  return poplar::detail::tensorPair(poplar::detail::call(
      "popnn.gn", "groupNormStatistics", graph, acts, eps, prog, numGroups, unbiasedVarEstimate,
      stableAlgo, partialsType, debugContext, options));
}

inline poplar::Tensor groupNormWhiten(
    poplar::Graph &graph, const poplar::Tensor &acts, const poplar::Tensor &mean,
    const poplar::Tensor &invStdDev, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {
  return poplar::detail::call(
      "popnn.gn", "groupNormWhiten", graph, acts, mean, invStdDev, prog, debugContext,
      options).tensor();
}

inline std::pair<poplar::Tensor, poplar::Tensor> groupNormalise(
    poplar::Graph &graph, const poplar::Tensor &acts, const poplar::Tensor &gamma,
    const poplar::Tensor &beta, const poplar::Tensor &mean, const poplar::Tensor &invStdDev,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}) {
  return poplar::detail::tensorPair(poplar::detail::call(
      "popnn.gn", "groupNormalise", graph, acts, gamma, beta, mean, invStdDev, prog, debugContext,
      options));
}

inline std::pair<poplar::Tensor, poplar::Tensor> groupNormParamGradients(
    poplar::Graph &graph, const poplar::Tensor &acts, const poplar::Tensor &gradsIn,
    const poplar::Tensor &mean, const poplar::Tensor &iStdDev, poplar::program::Sequence &prog,
    const poplar::Type &partialsType = poplar::FLOAT, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}) {
  return poplar::detail::tensorPair(poplar::detail::call(
      "popnn.gn", "groupNormParamGradients", graph, acts, gradsIn, mean, iStdDev, prog,
      partialsType, debugContext, options));
}

inline std::pair<poplar::Tensor, poplar::Tensor> groupNormParamGradients(
    poplar::Graph &graph, const poplar::Tensor &actsWhitened, const poplar::Tensor &gradsIn,
    poplar::program::Sequence &prog, const poplar::Type &partialsType = poplar::FLOAT,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {
  return poplar::detail::tensorPair(poplar::detail::call(
      "popnn.gn", "groupNormParamGradients", graph, actsWhitened, gradsIn, prog, partialsType,
      debugContext, options));
}

inline poplar::Tensor groupNormGradients(
    poplar::Graph &graph, const poplar::Tensor &acts, const poplar::Tensor &gradsIn,
    const poplar::Tensor &mean, const poplar::Tensor &invStdDev, const poplar::Tensor &gamma,
    poplar::program::Sequence &prog, const poplar::Type &partialsType = poplar::FLOAT,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {
  return poplar::detail::call(
      "popnn.gn", "groupNormGradients", graph, acts, gradsIn, mean, invStdDev, gamma, prog,
      partialsType, debugContext, options).tensor();
}

inline poplar::Tensor groupNormGradients(
    poplar::Graph &graph, const poplar::Tensor &actsWhitened, const poplar::Tensor &gradsIn,
    const poplar::Tensor &invStdDev, const poplar::Tensor &gamma, poplar::program::Sequence &prog,
    const poplar::Type &partialsType = poplar::FLOAT, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}) {
  return poplar::detail::call(
      "popnn.gn", "groupNormGradients", graph, actsWhitened, gradsIn, invStdDev, gamma, prog,
      partialsType, debugContext, options).tensor();
}

inline void groupNormParamUpdate(
    poplar::Graph &graph, const poplar::Tensor &gammaDelta, const poplar::Tensor &betaDelta,
    float scale, poplar::Tensor &gamma, poplar::Tensor &beta, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {
  poplar::detail::call(
      "popnn.gn", "groupNormParamUpdate", graph, gammaDelta, betaDelta, scale, gamma, beta, prog,
      debugContext, options);
}

inline void groupNormParamUpdate(
    poplar::Graph &graph, const poplar::Tensor &gammaDelta, const poplar::Tensor &betaDelta,
    const poplar::Tensor &scale, poplar::Tensor &gamma, poplar::Tensor &beta,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}) {
  poplar::detail::call(
      "popnn.gn", "groupNormParamUpdate", graph, gammaDelta, betaDelta, scale, gamma, beta, prog,
      debugContext, options);
}

} // namespace gn
} // namespace popnn

#endif
