// Tensors set to a value.
#ifndef POPOPS_FILL_HPP
#define POPOPS_FILL_HPP

#include <poplar/detail/Library.hpp>

namespace popops {

template <typename FillValueType>
inline void fill(
    poplar::Graph &graph, poplar::Tensor t, const std::vector<poplar::Interval> &tileRegions,
    unsigned tile, poplar::ComputeSet fillCS, FillValueType fillValue) {
  poplar::detail::call("popops", "fill", graph, t, tileRegions, tile, fillCS, fillValue);
}

template <typename FillValueType>
inline void fill(
    poplar::Graph &graph, const poplar::Tensor &t, unsigned tile, poplar::ComputeSet fillCS,
    FillValueType fillValue) {
  poplar::detail::call("popops", "fill", graph, t, tile, fillCS, fillValue);
}

template <typename FillValueType>
inline void fill(
    poplar::Graph &graph, const poplar::Tensor &t,
    const std::vector<std::vector<poplar::Interval>> &mapping, poplar::ComputeSet fillCS,
    FillValueType fillValue) {
  poplar::detail::call("popops", "fill", graph, t, mapping, fillCS, fillValue);
}

template <typename FillValueType>
inline void fill(
    poplar::Graph &graph, const poplar::Tensor &t, poplar::program::Sequence &prog,
    FillValueType fillValue, const poplar::DebugContext &debugContext = {}) {
  poplar::detail::call("popops", "fill", graph, t, prog, fillValue, debugContext);
}

} // namespace popops

#endif
