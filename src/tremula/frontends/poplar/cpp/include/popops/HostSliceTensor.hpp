// Tensors for transfers with the host.
#ifndef POPOPS_HOSTSLICETENSOR_HPP
#define POPOPS_HOSTSLICETENSOR_HPP

#include <poplar/detail/Library.hpp>

namespace popops {

struct IndicesAndTensor {
  poplar::Tensor indices;
  poplar::Tensor tensor;
};

inline IndicesAndTensor createHostSliceableTensor(
    poplar::Graph &graph, const poplar::Type &type, const std::vector<std::size_t> &shape,
    const bool isRead, const poplar::DebugContext &debugContext = {}) {
  const poplar::detail::Result found = poplar::detail::call(
      "popops", "createHostSliceableTensor", graph, type, shape, isRead, debugContext);
  return IndicesAndTensor{found[0].tensor(), found[1].tensor()};
}

inline IndicesAndTensor createHostSliceableTensor(
    poplar::Graph &graph, const poplar::Type &type, const std::vector<std::size_t> &shape,
    const bool isRead, const std::size_t offset, const poplar::DebugContext &debugContext = {}) {
  const poplar::detail::Result found = poplar::detail::call(
      "popops", "createHostSliceableTensor", graph, type, shape, isRead, offset, debugContext);
  return IndicesAndTensor{found[0].tensor(), found[1].tensor()};
}

inline poplar::Tensor createHostTransferableTensor(
    poplar::Graph &graph, const poplar::Type &type, const std::vector<std::size_t> &shape,
    bool isRead, const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call(
      "popops", "createHostTransferableTensor", graph, type, shape, isRead, debugContext).tensor();
}

inline poplar::Tensor createHostTransferableTensor(
    poplar::Graph &graph, const poplar::Type &type, const std::vector<std::size_t> &shape,
    bool isRead, const std::size_t offset, const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call(
      "popops", "createHostTransferableTensor", graph, type, shape, isRead, offset,
      debugContext).tensor();
}

} // namespace popops

#endif
