// Pixels made ready for a network.
#ifndef POPOPS_NORMALISEIMAGE_HPP
#define POPOPS_NORMALISEIMAGE_HPP

#include <poplar/detail/Library.hpp>

namespace popops {

inline poplar::Tensor createNormaliseImageInput(
    poplar::Graph &graph, const poplar::Type &type, const poplar::ArrayRef<std::size_t> shape,
    const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call(
      "popops", "createNormaliseImageInput", graph, type, shape, debugContext).tensor();
}

inline poplar::Tensor normaliseImage(
    poplar::Graph &graph, poplar::program::Sequence &seq, poplar::Tensor tIn, float inScale,
    poplar::Tensor offsets, poplar::Tensor scales, const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call(
      "popops", "normaliseImage", graph, seq, tIn, inScale, offsets, scales, debugContext).tensor();
}

} // namespace popops

#endif
