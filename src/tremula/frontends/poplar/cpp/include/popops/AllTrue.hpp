// Whether all elements are true.
#ifndef POPOPS_ALLTRUE_HPP
#define POPOPS_ALLTRUE_HPP

#include <poplar/detail/Library.hpp>

namespace popops {

inline poplar::Tensor allTrue(
    poplar::Graph &graph, poplar::Tensor A, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call("popops", "allTrue", graph, A, prog, debugContext).tensor();
}

} // namespace popops

#endif
