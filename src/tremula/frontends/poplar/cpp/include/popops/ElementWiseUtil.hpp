// Outputs of element-wise functions.
#ifndef POPOPS_ELEMENTWISEUTIL_HPP
#define POPOPS_ELEMENTWISEUTIL_HPP

#include <poplar/detail/Library.hpp>

namespace popops {

inline poplar::Tensor createOutputForElementWiseOp(
    poplar::Graph &graph, const std::vector<poplar::Tensor> &inputs, const poplar::Type &outputType,
    const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call(
      "popops", "createOutputForElementWiseOp", graph, inputs, outputType, debugContext).tensor();
}

} // namespace popops

#endif
