// Updates of parts of a tensor at places that are known when the program runs.
#ifndef POPOPS_SCATTER_HPP
#define POPOPS_SCATTER_HPP

#include <poplar/detail/Library.hpp>

namespace popops {

inline void scatter(
    poplar::Graph &graph, const poplar::Tensor &operand, const poplar::Tensor &indices,
    const poplar::Tensor &updates, std::size_t indexVectorDim,
    std::vector<unsigned> updateWindowDims, std::vector<std::size_t> insertWindowDims,
    std::vector<unsigned> scatterDimsToOperandDims, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {
  poplar::detail::call(
      "popops", "scatter", graph, operand, indices, updates, indexVectorDim, updateWindowDims,
      insertWindowDims, scatterDimsToOperandDims, prog, debugContext, options);
}

} // namespace popops

#endif
