// Scaled additions to a tensor.
#ifndef POPOPS_SCALEDADD_HPP
#define POPOPS_SCALEDADD_HPP

#include <poplar/detail/Library.hpp>

namespace popops {

enum class ScaledAddSpecialisation { DEFAULT, X_MINUS_AX_PLUS_BY };
inline poplar::detail::Value remoteValue(ScaledAddSpecialisation value) {
  static const char *const names[] = {"DEFAULT", "X_MINUS_AX_PLUS_BY"};
  return poplar::detail::enumeration("popops", "ScaledAddSpecialisation",
                                     names[static_cast<int>(value)]);
}

inline void scaledAddTo(
    poplar::Graph &graph, poplar::Tensor A, poplar::Tensor B, float scaleB,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}) {
  poplar::detail::call("popops", "scaledAddTo", graph, A, B, scaleB, prog, debugContext, options);
}

inline void scaledAddTo(
    poplar::Graph &graph, poplar::Tensor A, poplar::Tensor B, poplar::Tensor scaleB,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}) {
  poplar::detail::call("popops", "scaledAddTo", graph, A, B, scaleB, prog, debugContext, options);
}

inline void scaledSubtractFrom(
    poplar::Graph &graph, poplar::Tensor A, poplar::Tensor B, float scaleB,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}) {
  poplar::detail::call(
      "popops", "scaledSubtractFrom", graph, A, B, scaleB, prog, debugContext, options);
}

inline void scaledSubtractFrom(
    poplar::Graph &graph, poplar::Tensor A, poplar::Tensor B, poplar::Tensor scaleB,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}) {
  poplar::detail::call(
      "popops", "scaledSubtractFrom", graph, A, B, scaleB, prog, debugContext, options);
}

inline void scaledAddTo(
    poplar::Graph &graph, poplar::Tensor A, poplar::Tensor scaleA, poplar::Tensor B,
    poplar::Tensor scaleB, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {
  poplar::detail::call(
      "popops", "scaledAddTo", graph, A, scaleA, B, scaleB, prog, debugContext, options);
}

inline void scaledAddTo(
    poplar::Graph &graph, poplar::Tensor A, poplar::Tensor scaleA, poplar::Tensor B,
    poplar::Tensor scaleB, poplar::program::Sequence &prog,
    const ScaledAddSpecialisation speciality, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}) {
  poplar::detail::call(
      "popops", "scaledAddTo", graph, A, scaleA, B, scaleB, prog, speciality, debugContext,
      options);
}

inline void scaledAddTo(
    poplar::Graph &graph, poplar::Tensor A, float scaleA, poplar::Tensor B, float scaleB,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}) {
  poplar::detail::call(
      "popops", "scaledAddTo", graph, A, scaleA, B, scaleB, prog, debugContext, options);
}

inline void scaledAddTo(
    poplar::Graph &graph, poplar::Tensor A, float scaleA, poplar::Tensor B, float scaleB,
    poplar::program::Sequence &prog, const ScaledAddSpecialisation speciality,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {
  poplar::detail::call(
      "popops", "scaledAddTo", graph, A, scaleA, B, scaleB, prog, speciality, debugContext,
      options);
}

inline void scaledSubtractFrom(
    poplar::Graph &graph, poplar::Tensor A, poplar::Tensor scaleA, poplar::Tensor B,
    poplar::Tensor scaleB, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {
  poplar::detail::call(
      "popops", "scaledSubtractFrom", graph, A, scaleA, B, scaleB, prog, debugContext, options);
}

inline void scaledSubtractFrom(
    poplar::Graph &graph, poplar::Tensor A, float scaleA, poplar::Tensor B, float scaleB,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}) {
  poplar::detail::call(
      "popops", "scaledSubtractFrom", graph, A, scaleA, B, scaleB, prog, debugContext, options);
}

} // namespace popops

#endif
