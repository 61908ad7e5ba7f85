// Evenly spaced constants and grids.
#ifndef POPLIN_MESHGRID_HPP
#define POPLIN_MESHGRID_HPP

#include <poplar/detail/Library.hpp>

namespace poplin {

inline poplar::Tensor linspace(
    poplar::Graph &graph, const poplar::Type &type, float left, float right, std::size_t count,
    const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call(
      "poplin", "linspace", graph, type, left, right, count, debugContext).tensor();
}

inline std::vector<poplar::Tensor> meshgrid2d(
    poplar::Graph &graph, poplar::Tensor x, poplar::Tensor y) {
  return poplar::detail::call("poplin", "meshgrid2d", graph, x, y).tensors();
}

} // namespace poplin

#endif
