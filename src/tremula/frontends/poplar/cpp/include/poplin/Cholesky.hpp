// Cholesky factors.
#ifndef POPLIN_CHOLESKY_HPP
#define POPLIN_CHOLESKY_HPP

#include <poplar/detail/Library.hpp>
#include <poplin/MatMul.hpp>

namespace poplin {

inline poplar::Tensor createCholeskyInput(
    poplar::Graph &graph, const poplar::Type &type, const std::vector<std::size_t> &shape,
    bool lower, const poplar::DebugContext &debugContext, const poplar::OptionFlags &options = {},
    PlanningCache * = nullptr) {
  return poplar::detail::call(
      "poplin", "createCholeskyInput", graph, type, shape, lower, debugContext, options).tensor();
}

inline poplar::Tensor cholesky(
    poplar::Graph &graph, const poplar::Tensor &a, bool lower, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}, poplar::OptionFlags options = {},
    PlanningCache * = nullptr) {
  return poplar::detail::call(
      "poplin", "cholesky", graph, a, lower, prog, debugContext, options).tensor();
}

inline void choleskyInPlace(
    poplar::Graph &graph, const poplar::Tensor &a, bool lower, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}, poplar::OptionFlags options = {},
    PlanningCache * = nullptr) {
  poplar::detail::call("poplin", "choleskyInPlace", graph, a, lower, prog, debugContext, options);
}

} // namespace poplin

#endif
