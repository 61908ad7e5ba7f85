// Histograms.
#ifndef POPOPS_GATHERSTATISTICS_HPP
#define POPOPS_GATHERSTATISTICS_HPP

#include <poplar/detail/Library.hpp>

namespace popops {

inline poplar::Tensor histogram(
    poplar::Graph &graph, const poplar::Tensor &input, const poplar::Tensor &levels,
    bool absoluteOfInput, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {
  return poplar::detail::call(
      "popops", "histogram", graph, input, levels, absoluteOfInput, prog, debugContext,
      options).tensor();
}

inline void histogram(
    poplar::Graph &graph, const poplar::Tensor &input, poplar::Tensor &output, bool updateOutput,
    const poplar::Tensor &levels, bool absoluteOfInput, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}) {
  poplar::detail::call(
      "popops", "histogram", graph, input, output, updateOutput, levels, absoluteOfInput, prog,
      debugContext);
}

} // namespace popops

#endif
