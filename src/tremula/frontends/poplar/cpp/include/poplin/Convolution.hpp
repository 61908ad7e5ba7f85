// Convolutions, their gradients and their biases.
#ifndef POPLIN_CONVOLUTION_HPP
#define POPLIN_CONVOLUTION_HPP

#include <poplin/ConvParams.hpp>

namespace poplin {

// Plans of products and convolutions. The chip model keeps its plans itself, so a cache holds none.
class PlanningCache {
public:
  std::size_t size() const { return 0; }
};

typedef std::tuple<const poplar::Target *, const ConvParams, const poplar::OptionFlags *>
    ConvPlanParams;

inline std::uint64_t getFwdFlops(const ConvParams &params) {
  return static_cast<std::uint64_t>(poplar::detail::call(
      "poplin", "getFwdFlops", params).integer());
}

inline std::uint64_t getBwdFlops(const ConvParams &params) {
  return static_cast<std::uint64_t>(poplar::detail::call(
      "poplin", "getBwdFlops", params).integer());
}

inline std::uint64_t getWuFlops(const ConvParams &params) {
  return static_cast<std::uint64_t>(poplar::detail::call("poplin", "getWuFlops", params).integer());
}

inline double getFwdPerfectCycleCount(const poplar::Graph &graph, const ConvParams &params) {
  return poplar::detail::call("poplin", "getFwdPerfectCycleCount", graph, params).real();
}

inline double getBwdPerfectCycleCount(const poplar::Graph &graph, const ConvParams &params) {
  return poplar::detail::call("poplin", "getBwdPerfectCycleCount", graph, params).real();
}

inline double getWuPerfectCycleCount(const poplar::Graph &graph, const ConvParams &params) {
  return poplar::detail::call("poplin", "getWuPerfectCycleCount", graph, params).real();
}

inline poplar::Tensor createWeights(
    poplar::Graph &graph, const ConvParams &params, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}, PlanningCache * = nullptr) {
  return poplar::detail::call(
      "poplin", "createWeights", graph, params, debugContext, options).tensor();
}

inline poplar::Tensor createBiases(
    poplar::Graph &graph, const poplar::Tensor &activations,
    const poplar::DebugContext &debugContext = {"biases"}) {
  return poplar::detail::call("poplin", "createBiases", graph, activations, debugContext).tensor();
}

inline poplar::Tensor createInput(
    poplar::Graph &graph, const ConvParams &params, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}, PlanningCache * = nullptr) {
  return poplar::detail::call(
      "poplin", "createInput", graph, params, debugContext, options).tensor();
}

inline poplar::Tensor createConvOutput(
    poplar::Graph &graph, const ConvParams &params, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}, PlanningCache * = nullptr) {
  return poplar::detail::call(
      "poplin", "createConvOutput", graph, params, debugContext, options).tensor();
}

inline poplar::Tensor convolution(
    poplar::Graph &graph, const poplar::Tensor &in, const poplar::Tensor &weights,
    const ConvParams &params, bool transposeAndFlipWeights, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {},
    PlanningCache * = nullptr) {
  return poplar::detail::call(
      "poplin", "convolution", graph, in, weights, params, transposeAndFlipWeights, prog,
      debugContext, options).tensor();
}

inline void convolutionWithOutput(
    poplar::Graph &graph, const poplar::Tensor &in, const poplar::Tensor &weights,
    const poplar::Tensor &out, const ConvParams &params, bool transposeAndFlipWeights,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}, PlanningCache * = nullptr) {
  poplar::detail::call(
      "poplin", "convolutionWithOutput", graph, in, weights, out, params, transposeAndFlipWeights,
      prog, debugContext, options);
}

inline void weightsTransposeChansFlipXY(
    poplar::Graph &graph, const poplar::Tensor &weightsIn, const poplar::Tensor &weightsOut,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}) {
  poplar::detail::call(
      "poplin", "weightsTransposeChansFlipXY", graph, weightsIn, weightsOut, prog, debugContext,
      options);
}

inline poplar::Tensor calculateWeightDeltas(
    poplar::Graph &graph, const poplar::Tensor &zDeltas, const poplar::Tensor &activations,
    const ConvParams &params, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {},
    PlanningCache * = nullptr) {
  return poplar::detail::call(
      "poplin", "calculateWeightDeltas", graph, zDeltas, activations, params, prog, debugContext,
      options).tensor();
}

inline void convolutionWeightUpdate(
    poplar::Graph &graph, const poplar::Tensor &zDeltas, const poplar::Tensor &weights,
    const poplar::Tensor &activations, ConvParams params, const poplar::Tensor &scale,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}, PlanningCache * = nullptr) {
  poplar::detail::call(
      "poplin", "convolutionWeightUpdate", graph, zDeltas, weights, activations, params, scale,
      prog, debugContext, options);
}

inline void convolutionWeightUpdate(
    poplar::Graph &graph, const poplar::Tensor &zDeltas, const poplar::Tensor &weights,
    const poplar::Tensor &activations, ConvParams params, float scale,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}, PlanningCache * = nullptr) {
  poplar::detail::call(
      "poplin", "convolutionWeightUpdate", graph, zDeltas, weights, activations, params, scale,
      prog, debugContext, options);
}

inline void convolutionBiasUpdate(
    poplar::Graph &graph, const poplar::Tensor &zDeltas, const poplar::Tensor &biases,
    const poplar::Tensor &scale, const poplar::OptionFlags &options,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {}) {
  poplar::detail::call(
      "poplin", "convolutionBiasUpdate", graph, zDeltas, biases, scale, options, prog,
      debugContext);
}

inline void convolutionBiasUpdate(
    poplar::Graph &graph, const poplar::Tensor &zDeltas, const poplar::Tensor &biases, float scale,
    const poplar::OptionFlags &options, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}) {
  poplar::detail::call(
      "poplin", "convolutionBiasUpdate", graph, zDeltas, biases, scale, options, prog,
      debugContext);
}

inline void addBias(
    poplar::Graph &graph, const poplar::Tensor &in, const poplar::Tensor &biases,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {}) {
  poplar::detail::call("poplin", "addBias", graph, in, biases, prog, debugContext);
}

inline poplar::Tensor fullyConnectedWeightTranspose(
    poplar::Graph &graph, poplar::Tensor weights, const ConvParams &params,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}, PlanningCache * = nullptr) {
  return poplar::detail::call(
      "poplin", "fullyConnectedWeightTranspose", graph, weights, params, prog, debugContext,
      options).tensor();
}

inline void convolutionValidateOptions(const poplar::OptionFlags &options) {
  poplar::detail::call("poplin", "convolutionValidateOptions", options);
}

inline poplar::Tensor
createBiases(poplar::Graph &graph, const poplar::Tensor &activations, const ConvParams &,
             const poplar::DebugContext &debugContext = {"biases"},
             const poplar::OptionFlags & = {}, PlanningCache * = nullptr) {
  return createBiases(graph, activations, debugContext);
}

inline void reportPlanInfo(
    std::ostream &out, const poplar::Graph &graph, const ConvParams &params,
    const poplar::OptionFlags &options = {}, PlanningCache * = nullptr) {
  out << poplar::detail::call("poplin", "reportPlanInfo", nullptr, graph, params, options)
             .text();
}

inline void reportWeightUpdatePlanInfo(
    std::ostream &out, const poplar::Graph &graph, const ConvParams &params,
    const poplar::OptionFlags &options = {}, PlanningCache * = nullptr) {
  out << poplar::detail::call("poplin", "reportWeightUpdatePlanInfo", nullptr, graph, params, options)
             .text();
}

// Modelled cycles, and bytes on the fullest tile beside the operands.
struct PlanCosts {
  std::size_t cycles;
  std::size_t memory;
};
inline PlanCosts reportPlanEstimatedCosts(
    const poplar::Graph &graph, const ConvParams &params, const poplar::OptionFlags &options = {},
    PlanningCache * = nullptr) {
  const std::vector<std::size_t> found =
      poplar::detail::call("poplin", "reportPlanEstimatedCosts", graph, params, options)
          .numbers<std::size_t>();
  return PlanCosts{found[0], found[1]};
}

// Plans are made when somebody asks for figures.
inline void preplanConvolutions(const std::set<ConvPlanParams> &, PlanningCache &) {}
inline void preplanConvolutions(poplar::Graph &, const std::set<ConvPlanParams> &,
                                PlanningCache &) {}

} // namespace poplin

#endif
