// Batch norms: statistics of each channel.
#ifndef POPNN_BATCHNORM_HPP
#define POPNN_BATCHNORM_HPP

#include <poplar/detail/Library.hpp>
#include <poplin/Norms.hpp>

namespace popnn {
namespace bn {

inline std::pair<poplar::Tensor, poplar::Tensor> batchNormStatistics(
    poplar::Graph &graph, const poplar::Tensor acts, float eps, poplar::program::Sequence &prog,
    bool unbiasedVarEstimate, bool stableAlgo = false,
    const poplar::Type &partialsType = poplar::FLOAT, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}) {
  return poplar::detail::tensorPair(poplar::detail::call(
      "popnn.bn", "batchNormStatistics", graph, acts, eps, prog, unbiasedVarEstimate, stableAlgo,
      partialsType, debugContext, options));
}

inline poplar::Tensor batchNormWhiten(
    poplar::Graph &graph, const poplar::Tensor &acts, const poplar::Tensor &mean,
    const poplar::Tensor &invStdDev, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {
  return poplar::detail::call(
      "popnn.bn", "batchNormWhiten", graph, acts, mean, invStdDev, prog, debugContext,
      options).tensor();
}

inline std::pair<poplar::Tensor, poplar::Tensor> batchNormalise(
    poplar::Graph &graph, const poplar::Tensor &acts, const poplar::Tensor &gamma,
    const poplar::Tensor &beta, const poplar::Tensor &mean, const poplar::Tensor &invStdDev,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}) {
  return poplar::detail::tensorPair(poplar::detail::call(
      "popnn.bn", "batchNormalise", graph, acts, gamma, beta, mean, invStdDev, prog, debugContext,
      options));
}

inline std::pair<poplar::Tensor, poplar::Tensor> batchNormParamGradients(
    poplar::Graph &graph, const poplar::Tensor &acts, const poplar::Tensor &gradsIn,
    const poplar::Tensor &mean, const poplar::Tensor &iStdDev, poplar::program::Sequence &prog,
    const poplar::Type &partialsType = poplar::FLOAT, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}) {
  return poplar::detail::tensorPair(poplar::detail::call(
      "popnn.bn", "batchNormParamGradients", graph, acts, gradsIn, mean, iStdDev, prog,
      partialsType, debugContext, options));
}

inline std::pair<poplar::Tensor, poplar::Tensor> batchNormParamGradients(
    poplar::Graph &graph, const poplar::Tensor &actsWhitened, const poplar::Tensor &gradsIn,
    poplar::program::Sequence &prog, const poplar::Type &partialsType = poplar::FLOAT,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {
  return poplar::detail::tensorPair(poplar::detail::call(
      "popnn.bn", "batchNormParamGradients", graph, actsWhitened, gradsIn, prog, partialsType,
      debugContext, options));
}

inline poplar::Tensor batchNormGradients(
    poplar::Graph &graph, const poplar::Tensor &acts, const poplar::Tensor &gradsIn,
    const poplar::Tensor &mean, const poplar::Tensor &invStdDev, const poplar::Tensor &gamma,
    poplar::program::Sequence &prog, const poplar::Type &partialsType = poplar::FLOAT,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {
  return poplar::detail::call(
      "popnn.bn", "batchNormGradients", graph, acts, gradsIn, mean, invStdDev, gamma, prog,
      partialsType, debugContext, options).tensor();
}

inline poplar::Tensor batchNormGradients(
    poplar::Graph &graph, const poplar::Tensor &actsWhitened, const poplar::Tensor &gradsIn,
    const poplar::Tensor &invStdDev, const poplar::Tensor &gamma, poplar::program::Sequence &prog,
    const poplar::Type &partialsType = poplar::FLOAT, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}) {
  return poplar::detail::call(
      "popnn.bn", "batchNormGradients", graph, actsWhitened, gradsIn, invStdDev, gamma, prog,
      partialsType, debugContext, options).tensor();
}

inline void batchNormParamUpdate(
    poplar::Graph &graph, const poplar::Tensor &gammaDelta, const poplar::Tensor &betaDelta,
    float scale, poplar::Tensor &gamma, poplar::Tensor &beta, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {
  poplar::detail::call(
      "popnn.bn", "batchNormParamUpdate", graph, gammaDelta, betaDelta, scale, gamma, beta, prog,
      debugContext, options);
}

inline void batchNormParamUpdate(
    poplar::Graph &graph, const poplar::Tensor &gammaDelta, const poplar::Tensor &betaDelta,
    const poplar::Tensor &scale, poplar::Tensor &gamma, poplar::Tensor &beta,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}) {
  poplar::detail::call(
      "popnn.bn", "batchNormParamUpdate", graph, gammaDelta, betaDelta, scale, gamma, beta, prog,
      debugContext, options);
}

inline poplar::Tensor batchNormalise(
    poplar::Graph &graph, const poplar::Tensor &acts, const poplar::Tensor &combinedMultiplicand,
    const poplar::Tensor &addend, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {
  return poplar::detail::call(
      "popnn.bn", "batchNormalise", graph, acts, combinedMultiplicand, addend, prog, debugContext,
      options).tensor();
}

} // namespace bn
} // namespace popnn

#endif
