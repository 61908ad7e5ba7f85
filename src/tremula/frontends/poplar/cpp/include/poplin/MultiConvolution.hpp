// Several convolutions as one.
#ifndef POPLIN_MULTICONVOLUTION_HPP
#define POPLIN_MULTICONVOLUTION_HPP

#include <poplin/Convolution.hpp>

namespace poplin {
namespace multiconv {

struct CreateTensorArgs {
  ConvParams params;
  poplar::OptionFlags options;
  std::string name;
};
inline poplar::detail::Value remoteValue(const CreateTensorArgs &a) {
  return poplar::detail::object("poplin.multiconv", "CreateTensorArgs", 
      a.params, a.options, a.name);
}

struct ConvolutionArgs {
  poplar::Tensor inputs;
  poplar::Tensor weights;
  ConvParams params;
  poplar::OptionFlags options;
};
inline poplar::detail::Value remoteValue(const ConvolutionArgs &a) {
  return poplar::detail::object("poplin.multiconv", "ConvolutionArgs", 
      a.inputs, a.weights, a.params, a.options);
}

struct CalculateWeightDeltasArgs {
  poplar::Tensor zDeltas;
  poplar::Tensor activations;
  ConvParams params;
  poplar::OptionFlags options;
};
inline poplar::detail::Value remoteValue(const CalculateWeightDeltasArgs &a) {
  return poplar::detail::object("poplin.multiconv", "CalculateWeightDeltasArgs", 
      a.zDeltas, a.activations, a.params, a.options);
}

struct ConvWeightUpdateArgs {
  poplar::Tensor zDeltas;
  poplar::Tensor weights;
  poplar::Tensor activations;
  poplar::Tensor scale;
  ConvParams params;
  poplar::OptionFlags options;
};
inline poplar::detail::Value remoteValue(const ConvWeightUpdateArgs &a) {
  return poplar::detail::object("poplin.multiconv", "ConvWeightUpdateArgs", 
      a.zDeltas, a.weights, a.activations, a.scale, a.params, a.options);
}

struct ConvWeightUpdateArgsScalar {
  poplar::Tensor zDeltas;
  poplar::Tensor weights;
  poplar::Tensor activations;
  float scale;
  ConvParams params;
  poplar::OptionFlags options;
};
inline poplar::detail::Value remoteValue(const ConvWeightUpdateArgsScalar &a) {
  return poplar::detail::object("poplin.multiconv", "ConvWeightUpdateArgs", 
      a.zDeltas, a.weights, a.activations, a.scale, a.params, a.options);
}

inline poplar::Tensor createWeights(
    poplar::Graph &graph, const std::vector<CreateTensorArgs> &args, unsigned weightsIndex,
    const poplar::OptionFlags &options = {}, poplin::PlanningCache * = nullptr) {
  return poplar::detail::call(
      "poplin.multiconv", "createWeights", graph, args, weightsIndex, options).tensor();
}

inline poplar::Tensor createInput(
    poplar::Graph &graph, const std::vector<CreateTensorArgs> &args, unsigned inputIndex,
    const poplar::OptionFlags &options = {}, poplin::PlanningCache * = nullptr) {
  return poplar::detail::call(
      "poplin.multiconv", "createInput", graph, args, inputIndex, options).tensor();
}

inline void weightsTransposeChansFlipXY(
    poplar::Graph &graph, std::vector<ConvolutionArgs> &args,
    const std::vector<poplar::Tensor> &weightsIn, poplar::program::Sequence &prog,
    const poplar::OptionFlags &options, const poplar::DebugContext &debugContext,
    poplin::PlanningCache *) {
  poplar::detail::call(
      "poplin.multiconv", "weightsTransposeChansFlipXY", graph, args, weightsIn, prog, options,
      debugContext);
}

inline std::vector<poplar::Tensor> convolution(
    poplar::Graph &graph, const std::vector<ConvolutionArgs> &args, bool transposeAndFlipWeights,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}, poplin::PlanningCache * = nullptr) {
  return poplar::detail::call(
      "poplin.multiconv", "convolution", graph, args, transposeAndFlipWeights, prog, debugContext,
      options).tensors();
}

inline std::vector<poplar::Tensor> calculateWeightDeltas(
    poplar::Graph &graph, const std::vector<CalculateWeightDeltasArgs> &args,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}, poplin::PlanningCache * = nullptr) {
  return poplar::detail::call(
      "poplin.multiconv", "calculateWeightDeltas", graph, args, prog, debugContext,
      options).tensors();
}

inline void convolutionWeightUpdate(
    poplar::Graph &graph, const std::vector<ConvWeightUpdateArgs> &args,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}, poplin::PlanningCache * = nullptr) {
  poplar::detail::call(
      "poplin.multiconv", "convolutionWeightUpdate", graph, args, prog, debugContext, options);
}

inline void convolutionWeightUpdate(
    poplar::Graph &graph, const std::vector<ConvWeightUpdateArgsScalar> &args,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}, poplin::PlanningCache * = nullptr) {
  poplar::detail::call(
      "poplin.multiconv", "convolutionWeightUpdate", graph, args, prog, debugContext, options);
}

} // namespace multiconv
} // namespace poplin

#endif
