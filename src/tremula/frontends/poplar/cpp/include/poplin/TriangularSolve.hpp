// Triangular systems.
#ifndef POPLIN_TRIANGULARSOLVE_HPP
#define POPLIN_TRIANGULARSOLVE_HPP

#include <poplar/detail/Library.hpp>
#include <poplin/MatMul.hpp>

namespace poplin {

inline poplar::Tensor createTriangularSolveInputLHS(
    poplar::Graph &graph, const poplar::Type &inputType, const poplar::Type &outputType,
    const std::vector<std::size_t> &aShape, const std::vector<std::size_t> &bShape, bool leftSide,
    const poplar::DebugContext &debugContext, const poplar::OptionFlags &options = {},
    PlanningCache * = nullptr) {
  return poplar::detail::call(
      "poplin", "createTriangularSolveInputLHS", graph, inputType, outputType, aShape, bShape,
      leftSide, debugContext, options).tensor();
}

inline poplar::Tensor createTriangularSolveInputRHS(
    poplar::Graph &graph, const poplar::Type &inputType, const poplar::Type &outputType,
    const std::vector<std::size_t> &aShape, const std::vector<std::size_t> &bShape, bool leftSide,
    const poplar::DebugContext &debugContext, const poplar::OptionFlags &options = {},
    PlanningCache * = nullptr) {
  return poplar::detail::call(
      "poplin", "createTriangularSolveInputRHS", graph, inputType, outputType, aShape, bShape,
      leftSide, debugContext, options).tensor();
}

inline poplar::Tensor triangularMask(
    poplar::Graph &graph, const poplar::Tensor &a, bool lower, bool unitDiagonal,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call(
      "poplin", "triangularMask", graph, a, lower, unitDiagonal, prog, debugContext).tensor();
}

inline poplar::Tensor triangularSolve(
    poplar::Graph &graph, const poplar::Tensor &a, const poplar::Tensor &b, bool leftSide,
    bool lower, bool unitDiagonal, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {},
    PlanningCache * = nullptr) {
  return poplar::detail::call(
      "poplin", "triangularSolve", graph, a, b, leftSide, lower, unitDiagonal, prog, debugContext,
      options).tensor();
}

} // namespace poplin

#endif
