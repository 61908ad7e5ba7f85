// Products of matrices.
#ifndef POPLIN_MATMUL_HPP
#define POPLIN_MATMUL_HPP

#include <poplin/Convolution.hpp>

namespace poplin {

struct MatMulParams {
  poplar::Type inputType;
  poplar::Type outputType;
  std::vector<std::size_t> aShape;
  std::vector<std::size_t> bShape;
  friend bool operator<(const MatMulParams &a, const MatMulParams &b) {
    return std::tie(a.inputType, a.outputType, a.aShape, a.bShape) <
           std::tie(b.inputType, b.outputType, b.aShape, b.bShape);
  }
};

typedef std::tuple<const poplar::Target *, const MatMulParams, const poplar::OptionFlags *>
    MatMulPlanParams;

namespace matmul {

class PlanningCache : public poplin::PlanningCache {
public:
  poplin::PlanningCache &getImpl() { return *this; }
};

} // namespace matmul

inline poplar::Tensor matMul(
    poplar::Graph &graph, const poplar::Tensor &A, const poplar::Tensor &B,
    poplar::program::Sequence &prog, const poplar::Type &outputType,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {},
    PlanningCache * = nullptr) {
  return poplar::detail::call(
      "poplin", "matMul", graph, A, B, prog, outputType, debugContext, options).tensor();
}

inline poplar::Tensor matMul(
    poplar::Graph &graph, const poplar::Tensor &A, const poplar::Tensor &B,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}, PlanningCache * = nullptr) {
  return poplar::detail::call(
      "poplin", "matMul", graph, A, B, prog, debugContext, options).tensor();
}

inline void matMulWithOutput(
    poplar::Graph &graph, const poplar::Tensor &A, const poplar::Tensor &B, poplar::Tensor &out,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}, PlanningCache * = nullptr) {
  poplar::detail::call("poplin", "matMulWithOutput", graph, A, B, out, prog, debugContext, options);
}

inline poplar::Tensor matMulGrouped(
    poplar::Graph &graph, const poplar::Tensor &A, const poplar::Tensor &B,
    poplar::program::Sequence &prog, const poplar::Type &outputType,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {},
    PlanningCache * = nullptr) {
  return poplar::detail::call(
      "poplin", "matMulGrouped", graph, A, B, prog, outputType, debugContext, options).tensor();
}

inline void matMulGroupedWithOutput(
    poplar::Graph &graph, const poplar::Tensor &A, const poplar::Tensor &B, poplar::Tensor &out,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}, PlanningCache * = nullptr) {
  poplar::detail::call(
      "poplin", "matMulGroupedWithOutput", graph, A, B, out, prog, debugContext, options);
}

inline void matMulAcc(
    poplar::Graph &graph, const poplar::Tensor &C, float k, const poplar::Tensor &A,
    const poplar::Tensor &B, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {},
    PlanningCache * = nullptr) {
  poplar::detail::call("poplin", "matMulAcc", graph, C, k, A, B, prog, debugContext, options);
}

inline void matMulAcc(
    poplar::Graph &graph, const poplar::Tensor &C, const poplar::Tensor &k, const poplar::Tensor &A,
    const poplar::Tensor &B, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {},
    PlanningCache * = nullptr) {
  poplar::detail::call("poplin", "matMulAcc", graph, C, k, A, B, prog, debugContext, options);
}

inline void matMulGroupedAcc(
    poplar::Graph &graph, const poplar::Tensor &C, float k, const poplar::Tensor &A,
    const poplar::Tensor &B, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {},
    PlanningCache * = nullptr) {
  poplar::detail::call(
      "poplin", "matMulGroupedAcc", graph, C, k, A, B, prog, debugContext, options);
}

inline void matMulGroupedAcc(
    poplar::Graph &graph, const poplar::Tensor &C, const poplar::Tensor &k, const poplar::Tensor &A,
    const poplar::Tensor &B, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {},
    PlanningCache * = nullptr) {
  poplar::detail::call(
      "poplin", "matMulGroupedAcc", graph, C, k, A, B, prog, debugContext, options);
}

inline poplar::Tensor createMatMulInputLHS(
    poplar::Graph &graph, const poplar::Type &inputType, const poplar::Type &outputType,
    const std::vector<std::size_t> &aShape, const std::vector<std::size_t> &bShape,
    const poplar::DebugContext &debugContext, const poplar::OptionFlags &options = {},
    PlanningCache * = nullptr) {
  return poplar::detail::call(
      "poplin", "createMatMulInputLHS", graph, inputType, outputType, aShape, bShape, debugContext,
      options).tensor();
}

inline poplar::Tensor createMatMulInputLHS(
    poplar::Graph &graph, const poplar::Type &dataType, const std::vector<std::size_t> &aShape,
    const std::vector<std::size_t> &bShape, const poplar::DebugContext &debugContext,
    const poplar::OptionFlags &options = {}, PlanningCache * = nullptr) {
  return poplar::detail::call(
      "poplin", "createMatMulInputLHS", graph, dataType, aShape, bShape, debugContext,
      options).tensor();
}

inline poplar::Tensor createMatMulInputRHS(
    poplar::Graph &graph, const poplar::Type &inputType, const poplar::Type &outputType,
    const std::vector<std::size_t> &aShape, const std::vector<std::size_t> &bShape,
    const poplar::DebugContext &debugContext, const poplar::OptionFlags &options = {},
    PlanningCache * = nullptr) {
  return poplar::detail::call(
      "poplin", "createMatMulInputRHS", graph, inputType, outputType, aShape, bShape, debugContext,
      options).tensor();
}

inline poplar::Tensor createMatMulInputRHS(
    poplar::Graph &graph, const poplar::Type &dataType, const std::vector<std::size_t> &aShape,
    const std::vector<std::size_t> &bShape, const poplar::DebugContext &debugContext,
    const poplar::OptionFlags &options = {}, PlanningCache * = nullptr) {
  return poplar::detail::call(
      "poplin", "createMatMulInputRHS", graph, dataType, aShape, bShape, debugContext,
      options).tensor();
}

inline poplar::Tensor createMatMulOutput(
    poplar::Graph &graph, const poplar::Type &inputType, const poplar::Type &outputType,
    const std::vector<std::size_t> &aShape, const std::vector<std::size_t> &bShape,
    const poplar::DebugContext &debugContext, const poplar::OptionFlags &options = {},
    PlanningCache * = nullptr) {
  return poplar::detail::call(
      "poplin", "createMatMulOutput", graph, inputType, outputType, aShape, bShape, debugContext,
      options).tensor();
}

inline poplar::Tensor createMatMulOutput(
    poplar::Graph &graph, const poplar::Type &dataType, const std::vector<std::size_t> &aShape,
    const std::vector<std::size_t> &bShape, const poplar::DebugContext &debugContext,
    const poplar::OptionFlags &options = {}, PlanningCache * = nullptr) {
  return poplar::detail::call(
      "poplin", "createMatMulOutput", graph, dataType, aShape, bShape, debugContext,
      options).tensor();
}

inline poplar::Tensor createMatMulGroupedInputLHS(
    poplar::Graph &graph, const poplar::Type &inputType, const poplar::Type &outputType,
    const std::vector<std::size_t> &aShape, const std::vector<std::size_t> &bShape,
    const poplar::DebugContext &debugContext, const poplar::OptionFlags &options = {},
    PlanningCache * = nullptr) {
  return poplar::detail::call(
      "poplin", "createMatMulGroupedInputLHS", graph, inputType, outputType, aShape, bShape,
      debugContext, options).tensor();
}

inline poplar::Tensor createMatMulGroupedInputRHS(
    poplar::Graph &graph, const poplar::Type &inputType, const poplar::Type &outputType,
    const std::vector<std::size_t> &aShape, const std::vector<std::size_t> &bShape,
    const poplar::DebugContext &debugContext, const poplar::OptionFlags &options = {},
    PlanningCache * = nullptr) {
  return poplar::detail::call(
      "poplin", "createMatMulGroupedInputRHS", graph, inputType, outputType, aShape, bShape,
      debugContext, options).tensor();
}

inline poplar::Tensor createMatMulGroupedOutput(
    poplar::Graph &graph, const poplar::Type &inputType, const poplar::Type &outputType,
    const std::vector<std::size_t> &aShape, const std::vector<std::size_t> &bShape,
    const poplar::DebugContext &debugContext, const poplar::OptionFlags &options = {},
    PlanningCache * = nullptr) {
  return poplar::detail::call(
      "poplin", "createMatMulGroupedOutput", graph, inputType, outputType, aShape, bShape,
      debugContext, options).tensor();
}

inline poplar::Tensor preArrangeMatMulInputRHS(
    poplar::Graph &graph, const std::vector<std::size_t> &aShape, const poplar::Tensor &B,
    poplar::program::Sequence &prog, const poplar::Type &outputType,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {},
    PlanningCache * = nullptr) {
  return poplar::detail::call(
      "poplin", "preArrangeMatMulInputRHS", graph, aShape, B, prog, outputType, debugContext,
      options).tensor();
}

inline poplar::Tensor preArrangeMatMulInputRHS(
    poplar::Graph &graph, const std::vector<std::size_t> &aShape, const poplar::Tensor &B,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}, PlanningCache * = nullptr) {
  return poplar::detail::call(
      "poplin", "preArrangeMatMulInputRHS", graph, aShape, B, prog, debugContext, options).tensor();
}

inline poplar::Tensor preArrangeMatMulGroupedInputRHS(
    poplar::Graph &graph, const std::vector<std::size_t> &aShape, const poplar::Tensor &B,
    poplar::program::Sequence &prog, const poplar::Type &outputType,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {},
    PlanningCache * = nullptr) {
  return poplar::detail::call(
      "poplin", "preArrangeMatMulGroupedInputRHS", graph, aShape, B, prog, outputType, debugContext,
      options).tensor();
}

inline void matmulValidateOptions(const poplar::OptionFlags &options) {
  poplar::detail::call("poplin", "matmulValidateOptions", options);
}

// Exchanges rows and columns of each matrix of a group.
inline poplar::Tensor transposeGroupedMatrix(const poplar::Tensor &A) {
  return A.dimShufflePartial({1, 2}, {2, 1});
}

inline void matMulReportPlan(
    std::ostream &out, const poplar::Graph &graph, const poplar::Type &inputType,
    const poplar::Type &outputType, const std::vector<std::size_t> &aShape,
    const std::vector<std::size_t> &bShape, const poplar::OptionFlags &options = {},
    PlanningCache * = nullptr) {
  out << poplar::detail::call("poplin", "matMulReportPlan", nullptr, graph, inputType, outputType,
                              aShape, bShape, options)
             .text();
}

inline void matMulGroupedReportPlan(
    std::ostream &out, const poplar::Graph &graph, const poplar::Type &inputType,
    const poplar::Type &outputType, const std::vector<std::size_t> &aShape,
    const std::vector<std::size_t> &bShape, const poplar::OptionFlags &options = {},
    PlanningCache * = nullptr) {
  out << poplar::detail::call("poplin", "matMulGroupedReportPlan", nullptr, graph, inputType, outputType,
                              aShape, bShape, options)
             .text();
}

// Plans are made when somebody asks for figures.
inline void preplanMatMuls(const std::set<MatMulPlanParams> &, matmul::PlanningCache &) {}

} // namespace poplin

#endif
