// One element of each row made smaller by one.
#ifndef POPOPS_UPDATESCALARINROWS_HPP
#define POPOPS_UPDATESCALARINROWS_HPP

#include <poplar/detail/Library.hpp>

namespace popops {

inline void updateScalarInRows(
    poplar::Graph &graph, const poplar::Tensor &params, const poplar::Tensor &indices,
    poplar::program::Sequence &program, const poplar::DebugContext &debugContext = {}) {
  poplar::detail::call(
      "popops", "updateScalarInRows", graph, params, indices, program, debugContext);
}

} // namespace popops

#endif
