// Tensors set to zero.
#ifndef POPOPS_ZERO_HPP
#define POPOPS_ZERO_HPP

#include <poplar/detail/Library.hpp>

namespace popops {

inline void zero(
    poplar::Graph &graph, poplar::Tensor t, const std::vector<poplar::Interval> &tileRegions,
    unsigned tile, poplar::ComputeSet zeroCS) {
  poplar::detail::call("popops", "zero", graph, t, tileRegions, tile, zeroCS);
}

inline void zero(
    poplar::Graph &graph, const poplar::Tensor &t, unsigned tile, poplar::ComputeSet zeroCS) {
  poplar::detail::call("popops", "zero", graph, t, tile, zeroCS);
}

inline void zero(
    poplar::Graph &graph, const poplar::Tensor &t,
    const std::vector<std::vector<poplar::Interval>> &mapping, poplar::ComputeSet zeroCS) {
  poplar::detail::call("popops", "zero", graph, t, mapping, zeroCS);
}

inline void zero(
    poplar::Graph &graph, const poplar::Tensor &t, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}) {
  poplar::detail::call("popops", "zero", graph, t, prog, debugContext);
}

} // namespace popops

#endif
