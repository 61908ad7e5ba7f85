// Reductions over dimensions: into a sequence, or as vertices in compute sets.
#ifndef POPOPS_REDUCE_HPP
#define POPOPS_REDUCE_HPP

#include <popops/Operation.hpp>

namespace popops {

struct ReduceParams {
  ReduceParams() = default;
  ReduceParams(Operation op, bool update = false) : op(op), update(update) {}
  ReduceParams(Operation op, bool update, poplar::Tensor scale)
      : op(op), update(update), useScale(true), scale(std::move(scale)) {}
  // A constant scale is given as a tensor.
  ReduceParams(Operation op, float constantScale, bool update = false) = delete;

  Operation op = Operation::ADD;
  bool update = false;
  bool useScale = false;
  poplar::Tensor scale;
};

inline poplar::detail::Value remoteValue(const ReduceParams &params) {
  return poplar::detail::object("popops", "ReduceParams", params.op, params.update,
                                poplar::detail::pointed(params.useScale ? &params.scale : nullptr));
}

inline poplar::Tensor reduce(
    poplar::Graph &graph, const poplar::Tensor &in, const poplar::Type &outType,
    const std::vector<std::size_t> &dims, const ReduceParams &params,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}) {
  return poplar::detail::call("popops", "reduce", graph, in, outType, dims, params,
                              prog, debugContext, options).tensor();
}

inline poplar::Tensor reduce(
    poplar::Graph &graph, const poplar::Tensor &in, const std::vector<std::size_t> &dims,
    const ReduceParams &params, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {
  return poplar::detail::call("popops", "reduce", graph, in, dims, params,
                              prog, debugContext, options).tensor();
}

inline void reduceWithOutput(
    poplar::Graph &graph, const poplar::Tensor &in, const poplar::Tensor &out,
    const std::vector<std::size_t> &dims, const ReduceParams &params,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}) {
  poplar::detail::call("popops", "reduceWithOutput", graph, in, out, dims, params,
                              prog, debugContext, options);
}

inline poplar::Tensor reduce(
    poplar::Graph &graph, const poplar::Tensor &in, const poplar::Type &outType,
    const std::vector<std::size_t> &dims, const ReduceParams &params,
    std::vector<poplar::ComputeSet> &css, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}) {
  return poplar::detail::call("popops", "reduce", graph, in, outType, dims, params,
                              poplar::detail::out(css), debugContext, options).tensor();
}

inline poplar::Tensor reduce(
    poplar::Graph &graph, const poplar::Tensor &in, const std::vector<std::size_t> &dims,
    const ReduceParams &params, std::vector<poplar::ComputeSet> &css,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {
  return poplar::detail::call("popops", "reduce", graph, in, dims, params,
                              poplar::detail::out(css), debugContext, options).tensor();
}

inline void reduceWithOutput(
    poplar::Graph &graph, const poplar::Tensor &in, const poplar::Tensor &out,
    const std::vector<std::size_t> &dims, const ReduceParams &params,
    std::vector<poplar::ComputeSet> &css, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}) {
  poplar::detail::call("popops", "reduceWithOutput", graph, in, out, dims, params,
                              poplar::detail::out(css), debugContext, options);
}

// One of several reductions.
struct SingleReduceOp {
  SingleReduceOp(poplar::Tensor in, std::vector<std::size_t> dims, ReduceParams params,
                 poplar::Type outType, std::string debugName = "")
      : in(std::move(in)), dims(std::move(dims)), params(std::move(params)), useOutType(true),
        outType(outType), debugName(std::move(debugName)) {}
  SingleReduceOp(poplar::Tensor in, std::vector<std::size_t> dims, ReduceParams params,
                 std::string debugName = "")
      : in(std::move(in)), dims(std::move(dims)), params(std::move(params)), useOutType(false),
        debugName(std::move(debugName)) {}

  poplar::Tensor in;
  std::vector<std::size_t> dims;
  ReduceParams params;
  bool useOutType;
  poplar::Type outType;
  std::string debugName;
};

inline poplar::detail::Value remoteValue(const SingleReduceOp &op) {
  return op.useOutType ? poplar::detail::object("popops", "SingleReduceOp", op.in, op.dims,
                                                op.params, op.outType, op.debugName)
                       : poplar::detail::object("popops", "SingleReduceOp", op.in, op.dims,
                                                op.params, op.debugName);
}

inline void reduceMany(
    poplar::Graph &graph, const std::vector<SingleReduceOp> &reductions,
    std::vector<poplar::Tensor> &outputs, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {
  outputs = poplar::detail::call("popops", "reduceMany", graph, reductions, outputs, prog,
                                 debugContext, options)
                .tensors();
}

} // namespace popops

#endif
