// The connectionist temporal classification loss.
#ifndef POPNN_CTCLOSS_HPP
#define POPNN_CTCLOSS_HPP

#include <popnn/CTCPlan.hpp>

namespace popnn {
namespace ctc {

inline Plan plan(const poplar::Graph &, const poplar::Type &, const poplar::Type &, unsigned,
                 unsigned, unsigned, unsigned, const poplar::OptionFlags & = {}) {
  return Plan();
}

inline poplar::Tensor createDataInput(
    poplar::Graph &graph, const poplar::Type &type, const std::size_t batchSize,
    const std::size_t maxTime, const std::size_t numClasses, const Plan &plan,
    const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call(
      "popnn.ctc", "createDataInput", graph, type, batchSize, maxTime, numClasses, plan,
      debugContext).tensor();
}

inline poplar::Tensor createLabelsInput(
    poplar::Graph &graph, const poplar::Type &type, const std::size_t batchSize,
    const std::size_t maxLabelLength, const Plan &plan,
    const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call(
      "popnn.ctc", "createLabelsInput", graph, type, batchSize, maxLabelLength, plan,
      debugContext).tensor();
}

inline std::pair<poplar::Tensor, poplar::Tensor> calcLossAndGradientLogProbabilities(
    poplar::Graph &graph, const poplar::Type &outType, const poplar::Tensor &logProbs,
    const poplar::Tensor &labels, const poplar::Tensor &dataLengths,
    const poplar::Tensor &labelLengths, poplar::program::Sequence &prog, const unsigned blankClass,
    const Plan &plan, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}) {
  return poplar::detail::tensorPair(poplar::detail::call(
      "popnn.ctc", "calcLossAndGradientLogProbabilities", graph, outType, logProbs, labels,
      dataLengths, labelLengths, prog, blankClass, plan, debugContext, options));
}

inline std::pair<poplar::Tensor, poplar::Tensor> calcLossAndGradientLogits(
    poplar::Graph &graph, const poplar::Type &outType, const poplar::Tensor &logits,
    const poplar::Tensor &labels, const poplar::Tensor &dataLengths,
    const poplar::Tensor &labelLengths, poplar::program::Sequence &prog, const unsigned blankClass,
    const Plan &plan, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}) {
  return poplar::detail::tensorPair(poplar::detail::call(
      "popnn.ctc", "calcLossAndGradientLogits", graph, outType, logits, labels, dataLengths,
      labelLengths, prog, blankClass, plan, debugContext, options));
}

inline poplar::Tensor calcCTCLossLogProbabilities(
    poplar::Graph &graph, const poplar::Type &outType, const poplar::Tensor &logProbs,
    const poplar::Tensor &labels, const poplar::Tensor &dataLengths,
    const poplar::Tensor &labelLengths, poplar::program::Sequence &prog, const unsigned blankClass,
    const Plan &plan, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}) {
  return poplar::detail::call(
      "popnn.ctc", "calcCTCLossLogProbabilities", graph, outType, logProbs, labels, dataLengths,
      labelLengths, prog, blankClass, plan, debugContext, options).tensor();
}

inline poplar::Tensor calcCTCLossLogits(
    poplar::Graph &graph, const poplar::Type &outType, const poplar::Tensor &logits,
    const poplar::Tensor &labels, const poplar::Tensor &dataLengths,
    const poplar::Tensor &labelLengths, poplar::program::Sequence &prog, const unsigned blankClass,
    const Plan &plan, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}) {
  return poplar::detail::call(
      "popnn.ctc", "calcCTCLossLogits", graph, outType, logits, labels, dataLengths, labelLengths,
      prog, blankClass, plan, debugContext, options).tensor();
}

} // namespace ctc
} // namespace popnn

#endif
