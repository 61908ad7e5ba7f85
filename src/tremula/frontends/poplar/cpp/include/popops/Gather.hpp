// Parts of a tensor at places that are known when the program runs.
#ifndef POPOPS_GATHER_HPP
#define POPOPS_GATHER_HPP

#include <poplar/detail/Library.hpp>

namespace popops {

struct GatherParams {
  std::size_t maxElementsPerTile = 65535;
  GatherParams() = default;
  GatherParams(std::size_t elements) : maxElementsPerTile(elements) {}
};

inline poplar::detail::Value remoteValue(const GatherParams &params) {
  return poplar::detail::object("popops", "GatherParams", params.maxElementsPerTile);
}

inline poplar::Tensor createGatherInput(
    poplar::Graph &graph, const poplar::Type &type, const std::vector<std::size_t> &operandShape,
    unsigned axis, GatherParams params = {}, const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call(
      "popops", "createGatherInput", graph, type, operandShape, axis, params,
      debugContext).tensor();
}

inline poplar::Tensor gather(
    poplar::Graph &graph, const poplar::Tensor &input, const poplar::Tensor &indices, unsigned axis,
    poplar::program::Sequence &prog, GatherParams params,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {
  return poplar::detail::call(
      "popops", "gather", graph, input, indices, axis, prog, params, debugContext,
      options).tensor();
}

inline poplar::Tensor createGatherInput(
    poplar::Graph &graph, const poplar::Type &type, const std::vector<std::size_t> &inputShape,
    const std::vector<std::size_t> &sliceSizes, std::vector<unsigned> startIndexMap,
    const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call(
      "popops", "createGatherInput", graph, type, inputShape, sliceSizes, startIndexMap,
      debugContext).tensor();
}

inline poplar::Tensor gather(
    poplar::Graph &graph, const poplar::Tensor &input, const poplar::Tensor &indices,
    std::size_t indexVectorDim, const std::vector<std::size_t> &offsetDims,
    const std::vector<std::size_t> &sliceSizes, const std::vector<std::size_t> &collapsedSliceDims,
    const std::vector<unsigned> &startIndexMap, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {
  return poplar::detail::call(
      "popops", "gather", graph, input, indices, indexVectorDim, offsetDims, sliceSizes,
      collapsedSliceDims, startIndexMap, prog, debugContext, options).tensor();
}

} // namespace popops

#endif
