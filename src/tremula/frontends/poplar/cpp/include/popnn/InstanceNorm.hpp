// Instance norms: statistics of each example and channel.
#ifndef POPNN_INSTANCENORM_HPP
#define POPNN_INSTANCENORM_HPP

#include <poplar/detail/Library.hpp>
#include <poplin/Norms.hpp>

namespace popnn {
namespace in {

inline std::pair<poplar::Tensor, poplar::Tensor> instanceNormStatistics(
    poplar::Graph &graph, const poplar::Tensor acts, float eps, poplar::program::Sequence &prog,
    bool unbiasedVarEstimate, bool stableAlgo, const poplar::Type &partialsType = poplar::FLOAT,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {
  return poplar::detail::tensorPair(poplar::detail::call(
      "popnn.in_", "instanceNormStatistics", graph, acts, eps, prog, unbiasedVarEstimate,
      stableAlgo, partialsType, debugContext, options));
}

inline poplar::Tensor instanceNormWhiten(
    poplar::Graph &graph, const poplar::Tensor &acts, const poplar::Tensor &mean,
    const poplar::Tensor &invStdDev, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {
  return poplar::detail::call(
      "popnn.in_", "instanceNormWhiten", graph, acts, mean, invStdDev, prog, debugContext,
      options).tensor();
}

inline std::pair<poplar::Tensor, poplar::Tensor> instanceNormalise(
    poplar::Graph &graph, const poplar::Tensor &acts, const poplar::Tensor &gamma,
    const poplar::Tensor &beta, const poplar::Tensor &mean, const poplar::Tensor &invStdDev,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}) {
  return poplar::detail::tensorPair(poplar::detail::call(
      "popnn.in_", "instanceNormalise", graph, acts, gamma, beta, mean, invStdDev, prog,
      debugContext, options));
}

inline std::pair<poplar::Tensor, poplar::Tensor> instanceNormParamGradients(
    poplar::Graph &graph, const poplar::Tensor &acts, const poplar::Tensor &gradsIn,
    const poplar::Tensor &mean, const poplar::Tensor &iStdDev, poplar::program::Sequence &prog,
    const poplar::Type &partialsType = poplar::FLOAT, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}) {
  return poplar::detail::tensorPair(poplar::detail::call(
      "popnn.in_", "instanceNormParamGradients", graph, acts, gradsIn, mean, iStdDev, prog,
      partialsType, debugContext, options));
}

inline std::pair<poplar::Tensor, poplar::Tensor> instanceNormParamGradients(
    poplar::Graph &graph, const poplar::Tensor &actsWhitened, const poplar::Tensor &gradsIn,
    poplar::program::Sequence &prog, const poplar::Type &partialsType = poplar::FLOAT,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {
  return poplar::detail::tensorPair(poplar::detail::call(
      "popnn.in_", "instanceNormParamGradients", graph, actsWhitened, gradsIn, prog, partialsType,
      debugContext, options));
}

inline poplar::Tensor instanceNormGradients(
    poplar::Graph &graph, const poplar::Tensor &acts, const poplar::Tensor &gradsIn,
    const poplar::Tensor &mean, const poplar::Tensor &invStdDev, const poplar::Tensor &gamma,
    poplar::program::Sequence &prog, const poplar::Type &partialsType = poplar::FLOAT,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {
  return poplar::detail::call(
      "popnn.in_", "instanceNormGradients", graph, acts, gradsIn, mean, invStdDev, gamma, prog,
      partialsType, debugContext, options).tensor();
}

inline poplar::Tensor instanceNormGradients(
    poplar::Graph &graph, const poplar::Tensor &actsWhitened, const poplar::Tensor &gradsIn,
    const poplar::Tensor &invStdDev, const poplar::Tensor &gamma, poplar::program::Sequence &prog,
    const poplar::Type &partialsType = poplar::FLOAT, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}) {
  return poplar::detail::call(
      "popnn.in_", "instanceNormGradients", graph, actsWhitened, gradsIn, invStdDev, gamma, prog,
      partialsType, debugContext, options).tensor();
}

inline void instanceNormParamUpdate(
    poplar::Graph &graph, const poplar::Tensor &gammaDelta, const poplar::Tensor &betaDelta,
    float scale, poplar::Tensor &gamma, poplar::Tensor &beta, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {
  poplar::detail::call(
      "popnn.in_", "instanceNormParamUpdate", graph, gammaDelta, betaDelta, scale, gamma, beta,
      prog, debugContext, options);
}

inline void instanceNormParamUpdate(
    poplar::Graph &graph, const poplar::Tensor &gammaDelta, const poplar::Tensor &betaDelta,
    const poplar::Tensor &scale, poplar::Tensor &gamma, poplar::Tensor &beta,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}) {
  poplar::detail::call(
      "popnn.in_", "instanceNormParamUpdate", graph, gammaDelta, betaDelta, scale, gamma, beta,
      prog, debugContext, options);
}

} // namespace in
} // namespace popnn

#endif
