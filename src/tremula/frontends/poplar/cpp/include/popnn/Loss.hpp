// Losses, counts of right answers, largest and smallest elements of rows.
#ifndef POPNN_LOSS_HPP
#define POPNN_LOSS_HPP

#include <popops/EncodingConstants.hpp>
#include <poplar/detail/Library.hpp>

namespace popnn {

enum LossType { SUM_SQUARED_LOSS, CROSS_ENTROPY_LOSS };
inline poplar::detail::Value remoteValue(LossType value) {
  static const char *const names[] = {"SUM_SQUARED_LOSS", "CROSS_ENTROPY_LOSS"};
  return poplar::detail::enumeration("popnn", "LossType",
                                     names[static_cast<int>(value)]);
}

inline poplar::program::Program calcLoss(
    poplar::Graph &graph, const poplar::Tensor &modelOutputs, const poplar::Tensor &expected,
    const poplar::Tensor &loss, const poplar::Tensor &deltas, const poplar::Tensor &deltasScale,
    const poplar::Tensor &modelOutputScaling, LossType lossType,
    const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call(
      "popnn", "calcLoss", graph, modelOutputs, expected, loss, deltas, deltasScale,
      modelOutputScaling, lossType, debugContext).program();
}

inline poplar::program::Program calcLoss(
    poplar::Graph &graph, const poplar::Tensor &modelOutputs, const poplar::Tensor &expected,
    const poplar::Tensor &loss, const poplar::Tensor &deltas, LossType lossType,
    const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call(
      "popnn", "calcLoss", graph, modelOutputs, expected, loss, deltas, lossType,
      debugContext).program();
}

inline poplar::program::Program calcLoss(
    poplar::Graph &graph, const poplar::Tensor &modelOutputs, const poplar::Tensor &expected,
    const poplar::Tensor &loss, const poplar::Tensor &deltas, const poplar::Tensor &deltasScale,
    const poplar::Tensor &modelOutputScaling, const poplar::Tensor &numCorrect, LossType lossType,
    const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call(
      "popnn", "calcLoss", graph, modelOutputs, expected, loss, deltas, deltasScale,
      modelOutputScaling, numCorrect, lossType, debugContext).program();
}

inline poplar::program::Program calcLoss(
    poplar::Graph &graph, const poplar::Tensor &modelOutputs, const poplar::Tensor &expected,
    const poplar::Tensor &loss, const poplar::Tensor &deltas, const poplar::Tensor &numCorrect,
    LossType lossType, const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call(
      "popnn", "calcLoss", graph, modelOutputs, expected, loss, deltas, numCorrect, lossType,
      debugContext).program();
}

inline poplar::program::Program calcAccuracy(
    poplar::Graph &graph, const poplar::Tensor &modelOutputs, const poplar::Tensor &expected,
    const poplar::Tensor &numCorrect, const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call(
      "popnn", "calcAccuracy", graph, modelOutputs, expected, numCorrect, debugContext).program();
}

inline poplar::Tensor argMax(
    poplar::Graph &graph, const poplar::Tensor &input, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call("popnn", "argMax", graph, input, prog, debugContext).tensor();
}

inline std::pair<poplar::Tensor, poplar::Tensor> maxAndArgMax(
    poplar::Graph &graph, const poplar::Tensor &input, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::tensorPair(poplar::detail::call(
      "popnn", "maxAndArgMax", graph, input, prog, debugContext));
}

inline poplar::Tensor argMin(
    poplar::Graph &graph, const poplar::Tensor &input, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call("popnn", "argMin", graph, input, prog, debugContext).tensor();
}

inline std::pair<poplar::Tensor, poplar::Tensor> minAndArgMin(
    poplar::Graph &graph, const poplar::Tensor &input, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::tensorPair(poplar::detail::call(
      "popnn", "minAndArgMin", graph, input, prog, debugContext));
}

inline poplar::Tensor topK(
    poplar::Graph &graph, const poplar::Tensor &input, poplar::Tensor &indices, unsigned K,
    bool sort, poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {}) {
  const poplar::detail::Result found =
      poplar::detail::call("popnn", "topK", graph, input, nullptr, K, sort, prog, debugContext);
  indices = found[1].tensor();
  return found[0].tensor();
}

} // namespace popnn

#endif
