// The forward pass of the plain recurrent layer.
#ifndef POPNN_RECURRENT_HPP
#define POPNN_RECURRENT_HPP

#include <poplin/MatMul.hpp>
#include <popnn/NonLinearity.hpp>
#include <popnn/Rnn.hpp>

namespace popnn {
namespace rnn {

inline poplar::Tensor createInput(
    poplar::Graph &graph, unsigned numSteps, unsigned batchSize, unsigned inputSize,
    unsigned outputSize, const poplar::Type &dType,
    const poplar::Type &partialsType = poplar::FLOAT, bool inferenceOnly = false,
    const poplar::DebugContext &debugContext = {}, poplin::PlanningCache * = nullptr) {
  return poplar::detail::call(
      "popnn.rnn", "createInput", graph, numSteps, batchSize, inputSize, outputSize, dType,
      partialsType, inferenceOnly, debugContext).tensor();
}

inline poplar::Tensor createFwdState(
    poplar::Graph &graph, const poplar::Type &dType, unsigned batchSize, unsigned outputSize,
    poplar::program::Sequence &prog, bool initState, bool inferenceOnly,
    const poplar::DebugContext &debugContext = {}, poplin::PlanningCache * = nullptr) {
  return poplar::detail::call(
      "popnn.rnn", "createFwdState", graph, dType, batchSize, outputSize, prog, initState,
      inferenceOnly, debugContext).tensor();
}

inline poplar::Tensor createWeightsInput(
    poplar::Graph &graph, unsigned sequenceSize, unsigned batchSize, unsigned inputSize,
    unsigned outputSize, const poplar::Type &dType,
    const poplar::Type &partialsType = poplar::FLOAT, bool inferenceOnly = false,
    const poplar::DebugContext &debugContext = {}, poplin::PlanningCache * = nullptr) {
  return poplar::detail::call(
      "popnn.rnn", "createWeightsInput", graph, sequenceSize, batchSize, inputSize, outputSize,
      dType, partialsType, inferenceOnly, debugContext).tensor();
}

inline poplar::Tensor createWeightsFeedback(
    poplar::Graph &graph, unsigned batchSize, unsigned outputSize, const poplar::Type &dType,
    const poplar::Type &partialsType = poplar::FLOAT, bool inferenceOnly = false,
    const poplar::DebugContext &debugContext = {}, poplin::PlanningCache * = nullptr) {
  return poplar::detail::call(
      "popnn.rnn", "createWeightsFeedback", graph, batchSize, outputSize, dType, partialsType,
      inferenceOnly, debugContext).tensor();
}

inline poplar::Tensor forwardWeightInput(
    poplar::Graph &graph, const poplar::Tensor &actIn, const poplar::Tensor &weights,
    poplar::program::Sequence &prog, const poplar::Type &partialsType = poplar::FLOAT,
    bool inferenceOnly = false, const poplar::DebugContext &debugContext = {},
    poplin::PlanningCache * = nullptr) {
  return poplar::detail::call(
      "popnn.rnn", "forwardWeightInput", graph, actIn, weights, prog, partialsType, inferenceOnly,
      debugContext).tensor();
}

inline poplar::Tensor forwardIterate(
    poplar::Graph &graph, const poplar::Tensor &feedFwdIn, const poplar::Tensor &initState,
    const poplar::Tensor &feedbackWeights, const poplar::Tensor &biases,
    poplar::program::Sequence &prog, popnn::NonLinearityType nonLinearityType,
    const poplar::Type &partialsType = poplar::FLOAT, bool inferenceOnly = false,
    const poplar::DebugContext &debugContext = {}, poplin::PlanningCache * = nullptr) {
  return poplar::detail::call(
      "popnn.rnn", "forwardIterate", graph, feedFwdIn, initState, feedbackWeights, biases, prog,
      nonLinearityType, partialsType, inferenceOnly, debugContext).tensor();
}

inline poplar::Tensor getOutputFromFwdState(const poplar::Tensor &fwdState) { return fwdState; }

} // namespace rnn
} // namespace popnn

#endif
