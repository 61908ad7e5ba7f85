// Changes of the element type.
#ifndef POPOPS_CAST_HPP
#define POPOPS_CAST_HPP

#include <poplar/detail/Library.hpp>

namespace popops {

inline poplar::Tensor cast(
    poplar::Graph &graph, const poplar::Tensor &src, const poplar::Type &dstType,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call("popops", "cast", graph, src, dstType, prog, debugContext).tensor();
}

inline poplar::Tensor cast(
    poplar::Graph &graph, const poplar::Tensor &src, const poplar::Type &dstType,
    const poplar::Tensor &metadata, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call(
      "popops", "cast", graph, src, dstType, metadata, prog, debugContext).tensor();
}

inline void castWithOutput(
    poplar::Graph &graph, const poplar::Tensor &src, const poplar::Tensor &dst,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {}) {
  poplar::detail::call("popops", "castWithOutput", graph, src, dst, prog, debugContext);
}

inline poplar::program::Program cast(
    poplar::Graph &graph, poplar::Tensor src, poplar::Tensor dst,
    const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call("popops", "cast", graph, src, dst, debugContext).program();
}

inline void cast(
    poplar::Graph &graph, poplar::Tensor src, poplar::Tensor dst, poplar::ComputeSet cs) {
  poplar::detail::call("popops", "cast", graph, src, dst, cs);
}

inline poplar::Tensor cast(
    poplar::Graph &graph, poplar::Tensor src, const poplar::Type &dstType, poplar::ComputeSet cs,
    const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call("popops", "cast", graph, src, dstType, cs, debugContext).tensor();
}

inline poplar::Tensor checkAccuracyWhenCast(
    poplar::Graph &graph, const poplar::Tensor &input, poplar::Type outputType, double tolerance,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call(
      "popops", "checkAccuracyWhenCast", graph, input, outputType, tolerance, prog,
      debugContext).tensor();
}

} // namespace popops

#endif
