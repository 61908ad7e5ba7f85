// One element of each row.
#ifndef POPOPS_SELECTSCALARFROMROWS_HPP
#define POPOPS_SELECTSCALARFROMROWS_HPP

#include <poplar/detail/Library.hpp>

namespace popops {

inline poplar::Tensor selectScalarFromRows(
    poplar::Graph &graph, const poplar::Tensor &params, const poplar::Tensor &indices,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call(
      "popops", "selectScalarFromRows", graph, params, indices, prog, debugContext).tensor();
}

} // namespace popops

#endif
