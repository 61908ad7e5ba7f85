// GRU layers.
#ifndef POPNN_GRU_HPP
#define POPNN_GRU_HPP

#include <poplin/MatMul.hpp>
#include <popnn/GruDef.hpp>
#include <popnn/NonLinearityDef.hpp>
#include <popnn/Rnn.hpp>

namespace popnn {
namespace gru {

inline const std::vector<BasicGruCellUnit> getDefaultBasicGruCellOrder() {
  return {BASIC_GRU_CELL_RESET_GATE,
          BASIC_GRU_CELL_UPDATE_GATE,
          BASIC_GRU_CELL_CANDIDATE};
}

struct GruParams {
  rnn::RnnParams rnn;
  bool outputFullSequence = true;
  bool calcInputGradients = true;
  bool resetAfter = false;
  std::vector<BasicGruCellUnit> cellOrder = getDefaultBasicGruCellOrder();
  NonLinearityType activation, recurrentActivation;
  GruParams(poplar::Type dataType, std::size_t batchSize, std::size_t timeSteps,
             std::vector<std::size_t> layerSizes,
             NonLinearityType activation = NonLinearityType::TANH,
             NonLinearityType recurrentActivation = NonLinearityType::SIGMOID)
      : rnn(dataType, batchSize, timeSteps, std::move(layerSizes)), activation(activation),
        recurrentActivation(recurrentActivation) {}
  GruParams(poplar::Type dataType, std::size_t batchSize, std::size_t maxTimeSteps,
             const poplar::Tensor &timeSteps, std::vector<std::size_t> layerSizes,
             NonLinearityType activation = NonLinearityType::TANH,
             NonLinearityType recurrentActivation = NonLinearityType::SIGMOID)
      : rnn(dataType, batchSize, maxTimeSteps, timeSteps, std::move(layerSizes)),
        activation(activation), recurrentActivation(recurrentActivation) {}
};

inline poplar::detail::Value remoteValue(const GruParams &p) {
  return popnn::detail::layer("popnn.gru", "GruParams", p.rnn, p.activation,
                              p.recurrentActivation, p.cellOrder,
                              {{"outputFullSequence", p.outputFullSequence},
                               {"calcInputGradients", p.calcInputGradients},
                               {"resetAfter", p.resetAfter}});
}

struct GruWeights {
  poplar::Tensor inputWeights, outputWeights, biases;
};
inline poplar::detail::Value remoteValue(const GruWeights &w) {
  return poplar::detail::list(w.inputWeights, w.outputWeights, w.biases);
}
inline GruWeights weightsOf(const poplar::detail::Result &found) {
  GruWeights made;
  made.inputWeights = found[0].tensor();
  made.outputWeights = found[1].tensor();
  made.biases = found[2].tensor();
  return made;
}

inline std::uint64_t getBasicGruCellFwdFlops(const GruParams &params) {
  return static_cast<std::uint64_t>(poplar::detail::call(
      "popnn.gru", "getBasicGruCellFwdFlops", params).integer());
}

inline std::uint64_t getBasicGruCellBwdFlops(const GruParams &params) {
  return static_cast<std::uint64_t>(poplar::detail::call(
      "popnn.gru", "getBasicGruCellBwdFlops", params).integer());
}

inline std::uint64_t getBasicGruCellWuFlops(const GruParams &params) {
  return static_cast<std::uint64_t>(poplar::detail::call(
      "popnn.gru", "getBasicGruCellWuFlops", params).integer());
}

inline poplar::Tensor createInput(
    poplar::Graph &graph, const GruParams &params, const poplar::DebugContext &debugContext,
    const poplar::OptionFlags &options = {}, poplin::PlanningCache * = nullptr) {
  return poplar::detail::call(
      "popnn.gru", "createInput", graph, params, debugContext, options).tensor();
}

inline poplar::Tensor createInitialState(
    poplar::Graph &graph, const GruParams &params, const poplar::DebugContext &debugContext,
    const poplar::OptionFlags &options = {}, poplin::PlanningCache * = nullptr) {
  return poplar::detail::call(
      "popnn.gru", "createInitialState", graph, params, debugContext, options).tensor();
}

inline std::pair<poplar::Tensor, poplar::Tensor> createWeightsKernel(
    poplar::Graph &graph, const GruParams &params, const poplar::DebugContext &debugContext,
    const poplar::OptionFlags &options = {}, poplin::PlanningCache * = nullptr) {
  return poplar::detail::tensorPair(poplar::detail::call(
      "popnn.gru", "createWeightsKernel", graph, params, debugContext, options));
}

inline poplar::Tensor createWeightsBiases(
    poplar::Graph &graph, const GruParams &params, const poplar::DebugContext &debugContext,
    const poplar::OptionFlags &options = {}, poplin::PlanningCache * = nullptr) {
  return poplar::detail::call(
      "popnn.gru", "createWeightsBiases", graph, params, debugContext, options).tensor();
}

inline poplar::Tensor createAttention(
    poplar::Graph &graph, const GruParams &params, const poplar::DebugContext &debugContext,
    const poplar::OptionFlags &options = {}) {
  return poplar::detail::call(
      "popnn.gru", "createAttention", graph, params, debugContext, options).tensor();
}

inline GruWeights createWeights(
    poplar::Graph &graph, const GruParams &params, const poplar::DebugContext &debugContext,
    const poplar::OptionFlags &options = {}, poplin::PlanningCache * = nullptr) {
  return weightsOf(
      poplar::detail::call("popnn.gru", "createWeights", graph, params, debugContext, options));
}

inline poplar::Tensor gruFwd(
    poplar::Graph &graph, const GruParams &params, const poplar::Tensor &stateInit,
    const poplar::Tensor &in, const GruWeights &weights, poplar::Tensor *intermediates,
    poplar::program::Sequence &fwdProg, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}, poplin::PlanningCache * = nullptr) {
  const poplar::detail::Result found = poplar::detail::call(
      "popnn.gru", "gruFwd", graph, params, stateInit, in, weights,
      intermediates != nullptr, fwdProg, debugContext, options);
  popnn::detail::Wished(found, 1).give(intermediates);
  return poplar::detail::firstOf(found).tensor();
}

inline poplar::Tensor gruFwd(
    poplar::Graph &graph, const GruParams &params, const poplar::Tensor &stateInit,
    const poplar::Tensor &in, const poplar::Tensor &realTimeSteps, const GruWeights &weights,
    poplar::Tensor *intermediates, poplar::program::Sequence &fwdProg,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {},
    poplin::PlanningCache * = nullptr) {
  const poplar::detail::Result found = poplar::detail::call(
      "popnn.gru", "gruFwd", graph, params, stateInit, in, realTimeSteps, weights,
      intermediates != nullptr, fwdProg, debugContext, options);
  popnn::detail::Wished(found, 1).give(intermediates);
  return poplar::detail::firstOf(found).tensor();
}

inline poplar::Tensor auGruFwd(
    poplar::Graph &graph, const GruParams &params, const poplar::Tensor &stateInit,
    const poplar::Tensor &in, const GruWeights &weights, poplar::Tensor *intermediates,
    const poplar::Tensor &attScores, poplar::program::Sequence &fwdProg,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {},
    poplin::PlanningCache * = nullptr) {
  const poplar::detail::Result found = poplar::detail::call(
      "popnn.gru", "auGruFwd", graph, params, stateInit, in, weights,
      intermediates != nullptr, attScores, fwdProg, debugContext, options);
  popnn::detail::Wished(found, 1).give(intermediates);
  return poplar::detail::firstOf(found).tensor();
}

inline poplar::Tensor auGruFwd(
    poplar::Graph &graph, const GruParams &params, const poplar::Tensor &stateInit,
    const poplar::Tensor &in, const poplar::Tensor &realTimeSteps, const GruWeights &weights,
    poplar::Tensor *intermediates, const poplar::Tensor &attScores,
    poplar::program::Sequence &fwdProg, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}, poplin::PlanningCache * = nullptr) {
  const poplar::detail::Result found = poplar::detail::call(
      "popnn.gru", "auGruFwd", graph, params, stateInit, in, realTimeSteps, weights,
      intermediates != nullptr, attScores, fwdProg, debugContext, options);
  popnn::detail::Wished(found, 1).give(intermediates);
  return poplar::detail::firstOf(found).tensor();
}

inline poplar::Tensor gruBwd(
    poplar::Graph &graph, const GruParams &params, poplar::program::Sequence &prog,
    const poplar::Tensor &fwdOutputInit, const poplar::Tensor &fwdIntermediatesSeq,
    const GruWeights &weights, const poplar::Tensor &fwdInputSeq, const poplar::Tensor &fwdOutput,
    const poplar::Tensor &gradLayerNext, poplar::Tensor *inputGrad,
    poplar::Tensor *bwdIntermediates, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}, poplin::PlanningCache * = nullptr) {
  const poplar::detail::Result found = poplar::detail::call(
      "popnn.gru", "gruBwd", graph, params, prog, fwdOutputInit, fwdIntermediatesSeq, weights,
      fwdInputSeq, fwdOutput, gradLayerNext, inputGrad != nullptr,
      bwdIntermediates != nullptr, debugContext, options);
  popnn::detail::Wished wished(found, 1);
  wished.give(inputGrad);
  wished.give(bwdIntermediates);
  return poplar::detail::firstOf(found).tensor();
}

inline poplar::Tensor gruBwdWithWU(
    poplar::Graph &graph, const GruParams &params, poplar::program::Sequence &prog,
    const poplar::Tensor &fwdOutputInit, const poplar::Tensor &fwdIntermediatesSeq,
    const GruWeights &weights, const poplar::Tensor &fwdInputSeq, const poplar::Tensor &fwdOutput,
    const poplar::Tensor &gradLayerNext, poplar::Tensor *inputGrad, GruWeights &weightsGrad,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {},
    poplin::PlanningCache * = nullptr) {
  const poplar::detail::Result found = poplar::detail::call(
      "popnn.gru", "gruBwdWithWU", graph, params, prog, fwdOutputInit, fwdIntermediatesSeq, weights,
      fwdInputSeq, fwdOutput, gradLayerNext, inputGrad != nullptr, true,
      debugContext, options);
  popnn::detail::Wished wished(found, 1);
  wished.give(inputGrad);
  weightsGrad = weightsOf(wished.next());
  return found[0].tensor();
}

inline poplar::Tensor gruBwd(
    poplar::Graph &graph, const GruParams &params, poplar::program::Sequence &prog,
    const poplar::Tensor &fwdOutputInit, const poplar::Tensor &fwdIntermediatesSeq,
    const GruWeights &weights, const poplar::Tensor &fwdInputSeq,
    const poplar::Tensor &realTimeSteps, const poplar::Tensor &fwdOutput,
    const poplar::Tensor &gradLayerNext, poplar::Tensor *inputGrad,
    poplar::Tensor *bwdIntermediates, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}, poplin::PlanningCache * = nullptr) {
  const poplar::detail::Result found = poplar::detail::call(
      "popnn.gru", "gruBwd", graph, params, prog, fwdOutputInit, fwdIntermediatesSeq, weights,
      fwdInputSeq, realTimeSteps, fwdOutput, gradLayerNext, inputGrad != nullptr,
      bwdIntermediates != nullptr, debugContext, options);
  popnn::detail::Wished wished(found, 1);
  wished.give(inputGrad);
  wished.give(bwdIntermediates);
  return poplar::detail::firstOf(found).tensor();
}

inline poplar::Tensor gruBwdWithWU(
    poplar::Graph &graph, const GruParams &params, poplar::program::Sequence &prog,
    const poplar::Tensor &fwdOutputInit, const poplar::Tensor &fwdIntermediatesSeq,
    const GruWeights &weights, const poplar::Tensor &fwdInputSeq,
    const poplar::Tensor &realTimeSteps, const poplar::Tensor &fwdOutput,
    const poplar::Tensor &gradLayerNext, poplar::Tensor *inputGrad, GruWeights &weightsGrad,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {},
    poplin::PlanningCache * = nullptr) {
  const poplar::detail::Result found = poplar::detail::call(
      "popnn.gru", "gruBwdWithWU", graph, params, prog, fwdOutputInit, fwdIntermediatesSeq, weights,
      fwdInputSeq, realTimeSteps, fwdOutput, gradLayerNext, inputGrad != nullptr, true,
      debugContext, options);
  popnn::detail::Wished wished(found, 1);
  wished.give(inputGrad);
  weightsGrad = weightsOf(wished.next());
  return found[0].tensor();
}

inline GruWeights gruWU(
    poplar::Graph &graph, const GruParams &params, poplar::program::Sequence &prog,
    const poplar::Tensor &fwdOutputInit, const poplar::Tensor &fwdIntermediates,
    const poplar::Tensor &bwdIntermediates, const GruWeights &weights, const poplar::Tensor &input,
    const poplar::Tensor &output, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}, poplin::PlanningCache * = nullptr) {
  return weightsOf(poplar::detail::call("popnn.gru", "gruWU", graph, params, prog, fwdOutputInit,
                                        fwdIntermediates, bwdIntermediates, weights, input, output,
                                        debugContext, options));
}

} // namespace gru
} // namespace popnn

#endif
