// Copies of sequences of different lengths.
#ifndef POPOPS_SEQUENCESLICE_HPP
#define POPOPS_SEQUENCESLICE_HPP

#include <poplar/detail/Library.hpp>

namespace popops {

inline void sequenceSlice(
    poplar::Graph &graph, const poplar::Tensor &tIn, const poplar::Tensor &tOut,
    const poplar::Tensor &tN, const poplar::Tensor &tInOffset, const poplar::Tensor &tOutOffset,
    bool zeroUnused, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}) {
  poplar::detail::call(
      "popops", "sequenceSlice", graph, tIn, tOut, tN, tInOffset, tOutOffset, zeroUnused, prog,
      debugContext);
}

} // namespace popops

#endif
