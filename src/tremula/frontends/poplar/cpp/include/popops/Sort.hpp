// Sorted dimensions.
#ifndef POPOPS_SORT_HPP
#define POPOPS_SORT_HPP

#include <poplar/detail/Library.hpp>

namespace popops {

inline poplar::Tensor sort(
    poplar::Graph &graph, const poplar::Tensor &t, unsigned dim, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call("popops", "sort", graph, t, dim, prog, debugContext).tensor();
}

inline void sortInPlace(
    poplar::Graph &graph, const poplar::Tensor &t, unsigned dim, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}) {
  poplar::detail::call("popops", "sortInPlace", graph, t, dim, prog, debugContext);
}

inline poplar::Tensor sortKeyValue(
    poplar::Graph &graph, const poplar::Tensor &k, const poplar::Tensor &v, unsigned dim,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call(
      "popops", "sortKeyValue", graph, k, v, dim, prog, debugContext).tensor();
}

inline void sortKeyValueInPlace(
    poplar::Graph &graph, const poplar::Tensor &k, const poplar::Tensor &v, unsigned dim,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {}) {
  poplar::detail::call("popops", "sortKeyValueInPlace", graph, k, v, dim, prog, debugContext);
}

} // namespace popops

#endif
