// One-hot encodings and running numbers.
#ifndef POPOPS_ENCODING_HPP
#define POPOPS_ENCODING_HPP

#include <poplar/detail/Library.hpp>
#include <popops/EncodingConstants.hpp>

namespace popops {

inline void encodeOneHot(
    poplar::Graph &graph, const poplar::Tensor &indices, const poplar::Tensor &encoded,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {}) {
  poplar::detail::call("popops", "encodeOneHot", graph, indices, encoded, prog, debugContext);
}

inline void encodeOneHot(
    poplar::Graph &graph, const poplar::Tensor &indices, const poplar::Tensor &encoded,
    poplar::program::Sequence &prog, const poplar::Tensor &on, const poplar::Tensor &off,
    const poplar::DebugContext &debugContext = {}) {
  poplar::detail::call(
      "popops", "encodeOneHot", graph, indices, encoded, prog, on, off, debugContext);
}

inline void iota(
    poplar::Graph &graph, const poplar::Tensor &t, unsigned startInteger,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {}) {
  poplar::detail::call("popops", "iota", graph, t, startInteger, prog, debugContext);
}

inline void iota(
    poplar::Graph &graph, const poplar::Tensor &t, int startInteger,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {}) {
  poplar::detail::call("popops", "iota", graph, t, startInteger, prog, debugContext);
}

} // namespace popops

#endif
