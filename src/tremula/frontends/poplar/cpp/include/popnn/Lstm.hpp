// LSTM layers.
#ifndef POPNN_LSTM_HPP
#define POPNN_LSTM_HPP

#include <poplin/MatMul.hpp>
#include <popnn/LstmDef.hpp>
#include <popnn/NonLinearityDef.hpp>
#include <popnn/Rnn.hpp>

namespace popnn {
namespace lstm {

inline const std::vector<BasicLstmCellUnit> getDefaultBasicLstmCellOrder() {
  return {BASIC_LSTM_CELL_FORGET_GATE,
          BASIC_LSTM_CELL_INPUT_GATE,
          BASIC_LSTM_CELL_CANDIDATE,
          BASIC_LSTM_CELL_OUTPUT_GATE};
}

struct LstmParams {
  rnn::RnnParams rnn;
  bool outputFullSequence = true;
  bool doInputWeightCalc = true;
  bool calcInputGradients = true;
  bool preserveFinalState = false;
  std::vector<BasicLstmCellUnit> cellOrder = getDefaultBasicLstmCellOrder();
  NonLinearityType activation, recurrentActivation;
  LstmParams(poplar::Type dataType, std::size_t batchSize, std::size_t timeSteps,
             std::vector<std::size_t> layerSizes,
             NonLinearityType activation = NonLinearityType::TANH,
             NonLinearityType recurrentActivation = NonLinearityType::SIGMOID)
      : rnn(dataType, batchSize, timeSteps, std::move(layerSizes)), activation(activation),
        recurrentActivation(recurrentActivation) {}
  LstmParams(poplar::Type dataType, std::size_t batchSize, std::size_t maxTimeSteps,
             const poplar::Tensor &timeSteps, std::vector<std::size_t> layerSizes,
             NonLinearityType activation = NonLinearityType::TANH,
             NonLinearityType recurrentActivation = NonLinearityType::SIGMOID)
      : rnn(dataType, batchSize, maxTimeSteps, timeSteps, std::move(layerSizes)),
        activation(activation), recurrentActivation(recurrentActivation) {}
};

inline poplar::detail::Value remoteValue(const LstmParams &p) {
  return popnn::detail::layer("popnn.lstm", "LstmParams", p.rnn, p.activation,
                              p.recurrentActivation, p.cellOrder,
                              {{"outputFullSequence", p.outputFullSequence},
                               {"doInputWeightCalc", p.doInputWeightCalc},
                               {"calcInputGradients", p.calcInputGradients},
                               {"preserveFinalState", p.preserveFinalState}});
}

struct LstmState {
  poplar::Tensor output, cellState;
  poplar::Tensor getAsTensor() const {
    return poplar::concat(output.expand({0}), cellState.expand({0}));
  }
};
inline poplar::detail::Value remoteValue(const LstmState &state) {
  return poplar::detail::list(state.output, state.cellState);
}
inline LstmState stateOf(const poplar::detail::Result &found) {
  LstmState made;
  made.output = found[0].tensor();
  made.cellState = found[1].tensor();
  return made;
}

struct LstmWeights {
  poplar::Tensor inputWeights, outputWeights, biases;
};
inline poplar::detail::Value remoteValue(const LstmWeights &w) {
  return poplar::detail::list(w.inputWeights, w.outputWeights, w.biases);
}
inline LstmWeights weightsOf(const poplar::detail::Result &found) {
  LstmWeights made;
  made.inputWeights = found[0].tensor();
  made.outputWeights = found[1].tensor();
  made.biases = found[2].tensor();
  return made;
}

inline std::uint64_t getBasicLstmCellFwdFlops(const LstmParams &params) {
  return static_cast<std::uint64_t>(poplar::detail::call(
      "popnn.lstm", "getBasicLstmCellFwdFlops", params).integer());
}

inline std::uint64_t getBasicLstmCellBwdFlops(const LstmParams &params) {
  return static_cast<std::uint64_t>(poplar::detail::call(
      "popnn.lstm", "getBasicLstmCellBwdFlops", params).integer());
}

inline std::uint64_t getBasicLstmCellWuFlops(const LstmParams &params) {
  return static_cast<std::uint64_t>(poplar::detail::call(
      "popnn.lstm", "getBasicLstmCellWuFlops", params).integer());
}

inline poplar::Tensor createInput(
    poplar::Graph &graph, const LstmParams &params, const poplar::DebugContext &debugContext,
    const poplar::OptionFlags &options = {}, poplin::PlanningCache * = nullptr) {
  return poplar::detail::call(
      "popnn.lstm", "createInput", graph, params, debugContext, options).tensor();
}

inline poplar::Tensor createInitialOutput(
    poplar::Graph &graph, const LstmParams &params, const poplar::DebugContext &debugContext,
    const poplar::OptionFlags &options = {}, poplin::PlanningCache * = nullptr) {
  return poplar::detail::call(
      "popnn.lstm", "createInitialOutput", graph, params, debugContext, options).tensor();
}

inline poplar::Tensor createInitialCellState(
    poplar::Graph &graph, const LstmParams &params, const poplar::DebugContext &debugContext,
    const poplar::OptionFlags &options = {}, poplin::PlanningCache * = nullptr) {
  return poplar::detail::call(
      "popnn.lstm", "createInitialCellState", graph, params, debugContext, options).tensor();
}

inline void zeroInitialState(
    poplar::Graph &graph, const LstmState &initialState, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}) {
  poplar::detail::call("popnn.lstm", "zeroInitialState", graph, initialState, prog, debugContext);
}

inline std::pair<poplar::Tensor, poplar::Tensor> createWeightsKernel(
    poplar::Graph &graph, const LstmParams &params, const poplar::DebugContext &debugContext,
    const poplar::OptionFlags &options = {}, poplin::PlanningCache * = nullptr) {
  return poplar::detail::tensorPair(poplar::detail::call(
      "popnn.lstm", "createWeightsKernel", graph, params, debugContext, options));
}

inline poplar::Tensor createWeightsBiases(
    poplar::Graph &graph, const LstmParams &params, const poplar::DebugContext &debugContext,
    const poplar::OptionFlags &options = {}, poplin::PlanningCache * = nullptr) {
  return poplar::detail::call(
      "popnn.lstm", "createWeightsBiases", graph, params, debugContext, options).tensor();
}

inline LstmState createInitialState(
    poplar::Graph &graph, const LstmParams &params, const poplar::DebugContext &debugContext,
    const poplar::OptionFlags &options = {}, poplin::PlanningCache * = nullptr) {
  return stateOf(poplar::detail::call("popnn.lstm", "createInitialState", graph, params,
                                      debugContext, options));
}

inline LstmWeights createWeights(
    poplar::Graph &graph, const LstmParams &params, const poplar::DebugContext &debugContext,
    const poplar::OptionFlags &options = {}, poplin::PlanningCache * = nullptr) {
  return weightsOf(
      poplar::detail::call("popnn.lstm", "createWeights", graph, params, debugContext, options));
}

inline std::pair<poplar::Tensor, poplar::Tensor> lstmFwd(
    poplar::Graph &graph, const LstmParams &params, const LstmState &stateInit,
    const poplar::Tensor &in, const LstmWeights &weights, poplar::Tensor *intermediates,
    poplar::program::Sequence &fwdProg, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}, poplin::PlanningCache * = nullptr) {
  const poplar::detail::Result found =
      poplar::detail::call("popnn.lstm", "lstmFwd", graph, params, stateInit, in, weights,
                           intermediates != nullptr, fwdProg, debugContext, options);
  popnn::detail::Wished(found, 2).give(intermediates);
  return poplar::detail::tensorPair(found);
}

inline LstmState lstmBwd(
    poplar::Graph &graph, const LstmParams &params, poplar::program::Sequence &prog,
    const LstmState &fwdStateInit, const poplar::Tensor &fwdIntermediates,
    const LstmWeights &weights, const poplar::Tensor &input, const poplar::Tensor &output,
    const poplar::Tensor &outputGrad, const LstmState *lastStepStateGrad, poplar::Tensor *inputGrad,
    poplar::Tensor *bwdIntermediates, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}, poplin::PlanningCache * = nullptr) {
  const poplar::detail::Value last = lastStepStateGrad ? poplar::detail::value(*lastStepStateGrad)
                                     : poplar::detail::value(nullptr);
  const poplar::detail::Result found = poplar::detail::call(
      "popnn.lstm", "lstmBwd", graph, params, prog, fwdStateInit, fwdIntermediates, weights, input,
      output, outputGrad, last, inputGrad != nullptr, bwdIntermediates != nullptr, debugContext,
      options);
  const bool more = inputGrad || bwdIntermediates;
  popnn::detail::Wished wished(found, 1);
  wished.give(inputGrad);
  wished.give(bwdIntermediates);
  return stateOf(more ? found[0] : found);
}

inline LstmState lstmBwdWithWU(
    poplar::Graph &graph, const LstmParams &params, poplar::program::Sequence &prog,
    const LstmState &fwdStateInit, const poplar::Tensor &fwdIntermediates,
    const LstmWeights &weights, const poplar::Tensor &input, const poplar::Tensor &output,
    const poplar::Tensor &outputGrad, const LstmState *lastStepStateGrad, poplar::Tensor *inputGrad,
    LstmWeights &weightsGrad, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}, poplin::PlanningCache * = nullptr) {
  const poplar::detail::Value last = lastStepStateGrad ? poplar::detail::value(*lastStepStateGrad)
                                     : poplar::detail::value(nullptr);
  const poplar::detail::Result found = poplar::detail::call(
      "popnn.lstm", "lstmBwdWithWU", graph, params, prog, fwdStateInit, fwdIntermediates, weights,
      input, output, outputGrad, last, inputGrad != nullptr, true, debugContext, options);
  popnn::detail::Wished wished(found, 1);
  wished.give(inputGrad);
  weightsGrad = weightsOf(wished.next());
  return stateOf(found[0]);
}

inline LstmState lstmBwd(
    poplar::Graph &graph, const LstmParams &params, poplar::program::Sequence &prog,
    const LstmState &fwdStateInit, const poplar::Tensor &fwdIntermediates,
    const LstmWeights &weights, const poplar::Tensor &input, const poplar::Tensor &output,
    const poplar::Tensor &outputGrad, const poplar::Tensor *lastCellStateGrad,
    poplar::Tensor *inputGrad, poplar::Tensor *bwdIntermediates,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {},
    poplin::PlanningCache * = nullptr) {
  const poplar::detail::Value last = poplar::detail::pointed(lastCellStateGrad);
  const poplar::detail::Result found = poplar::detail::call(
      "popnn.lstm", "lstmBwd", graph, params, prog, fwdStateInit, fwdIntermediates, weights, input,
      output, outputGrad, last, inputGrad != nullptr, bwdIntermediates != nullptr, debugContext,
      options);
  const bool more = inputGrad || bwdIntermediates;
  popnn::detail::Wished wished(found, 1);
  wished.give(inputGrad);
  wished.give(bwdIntermediates);
  return stateOf(more ? found[0] : found);
}

inline LstmState lstmBwdWithWU(
    poplar::Graph &graph, const LstmParams &params, poplar::program::Sequence &prog,
    const LstmState &fwdStateInit, const poplar::Tensor &fwdIntermediates,
    const LstmWeights &weights, const poplar::Tensor &input, const poplar::Tensor &output,
    const poplar::Tensor &outputGrad, const poplar::Tensor *lastCellStateGrad,
    poplar::Tensor *inputGrad, LstmWeights &weightsGrad,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {},
    poplin::PlanningCache * = nullptr) {
  const poplar::detail::Value last = poplar::detail::pointed(lastCellStateGrad);
  const poplar::detail::Result found = poplar::detail::call(
      "popnn.lstm", "lstmBwdWithWU", graph, params, prog, fwdStateInit, fwdIntermediates, weights,
      input, output, outputGrad, last, inputGrad != nullptr, true, debugContext, options);
  popnn::detail::Wished wished(found, 1);
  wished.give(inputGrad);
  weightsGrad = weightsOf(wished.next());
  return stateOf(found[0]);
}

inline LstmWeights lstmWU(
    poplar::Graph &graph, const LstmParams &params, poplar::program::Sequence &prog,
    const LstmState &fwdStateInit, const poplar::Tensor &fwdIntermediates,
    const poplar::Tensor &bwdIntermediates, const LstmWeights &weights, const poplar::Tensor &input,
    const poplar::Tensor &output, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}, poplin::PlanningCache * = nullptr) {
  return weightsOf(poplar::detail::call("popnn.lstm", "lstmWU", graph, params, prog, fwdStateInit,
                                        fwdIntermediates, bwdIntermediates, weights, input, output,
                                        debugContext, options));
}

} // namespace lstm
} // namespace popnn

#endif
