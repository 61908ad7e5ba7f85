// Layouts of elements in memory. They do not differ here, so regrouping gives the tensor itself.
#ifndef POPOPS_REARRANGE_HPP
#define POPOPS_REARRANGE_HPP

#include <poputil/VarStructure.hpp>
#include <poplar/detail/Library.hpp>

namespace popops {
namespace rearrange {

inline poplar::Tensor partialTranspose(
    poplar::Graph &graph, const poplar::Tensor &in, const poplar::ComputeSet &cs,
    const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call(
      "popops.rearrange", "partialTranspose", graph, in, cs, debugContext).tensor();
}

inline poplar::Tensor regroupIfBeneficial(
    poplar::Graph &graph, const poplar::Tensor &in, const poplar::Tensor &ref,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call(
      "popops.rearrange", "regroupIfBeneficial", graph, in, ref, prog, debugContext).tensor();
}

inline poplar::Tensor regroupIfBeneficial(
    poplar::Graph &graph, const poplar::Tensor &in, std::size_t preferredGrouping,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call(
      "popops.rearrange", "regroupIfBeneficial", graph, in, preferredGrouping, prog,
      debugContext).tensor();
}

inline poplar::Tensor regroupIfPossible(
    poplar::Graph &graph, const poplar::Tensor &t, poplar::program::Sequence &prog,
    const poputil::GroupingInfo &to, const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call(
      "popops.rearrange", "regroupIfPossible", graph, t, prog, to, debugContext).tensor();
}

inline unsigned getMinimumRegroupGrainSize(const poplar::Type &type) {
  return static_cast<unsigned>(poplar::detail::call(
      "popops.rearrange", "getMinimumRegroupGrainSize", type).integer());
}

} // namespace rearrange
} // namespace popops

#endif
