// Whether elements are NaN.
#ifndef POPOPS_NAN_HPP
#define POPOPS_NAN_HPP

#include <poplar/detail/Library.hpp>

namespace popops {

inline poplar::Tensor hasNaN(
    poplar::Graph &graph, const poplar::Tensor &src, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call("popops", "hasNaN", graph, src, prog, debugContext).tensor();
}

inline poplar::Tensor hasNaNOrInf(
    poplar::Graph &graph, const poplar::Tensor &src, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call("popops", "hasNaNOrInf", graph, src, prog, debugContext).tensor();
}

} // namespace popops

#endif
