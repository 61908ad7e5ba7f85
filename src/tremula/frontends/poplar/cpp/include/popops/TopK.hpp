// The largest or smallest elements of rows.
#ifndef POPOPS_TOPK_HPP
#define POPOPS_TOPK_HPP

#include <poplar/detail/Library.hpp>
#include <popops/SortOrder.hpp>

namespace popops {

struct TopKParams {
  TopKParams(unsigned k, bool largest, SortOrder sortOrder, bool stableSort = false) noexcept
      : k(k), largest(largest), sortOrder(sortOrder), stableSort(stableSort) {}
  unsigned k;
  bool largest;
  SortOrder sortOrder;
  bool stableSort;
};

inline poplar::detail::Value remoteValue(const TopKParams &params) {
  return poplar::detail::object("popops", "TopKParams", params.k, params.largest,
                                params.sortOrder, params.stableSort);
}

inline poplar::Tensor createTopKInput(
    poplar::Graph &graph, const poplar::Type &type, const std::vector<std::size_t> &shape,
    const TopKParams &params, const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call(
      "popops", "createTopKInput", graph, type, shape, params, debugContext).tensor();
}

inline poplar::Tensor topK(
    poplar::Graph &graph, poplar::program::Sequence &prog, const poplar::Tensor &t,
    const TopKParams &params, const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call("popops", "topK", graph, prog, t, params, debugContext).tensor();
}

inline std::pair<poplar::Tensor, poplar::Tensor> topKKeyValue(
    poplar::Graph &graph, poplar::program::Sequence &prog, const poplar::Tensor &keys,
    const poplar::Tensor &values, const TopKParams &params,
    const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::tensorPair(poplar::detail::call(
      "popops", "topKKeyValue", graph, prog, keys, values, params, debugContext));
}

inline std::pair<poplar::Tensor, poplar::Tensor> topKWithPermutation(
    poplar::Graph &graph, poplar::program::Sequence &prog, const poplar::Tensor &t,
    const TopKParams &params, const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::tensorPair(poplar::detail::call(
      "popops", "topKWithPermutation", graph, prog, t, params, debugContext));
}

} // namespace popops

#endif
