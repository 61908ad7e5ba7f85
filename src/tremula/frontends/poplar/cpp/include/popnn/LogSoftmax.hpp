// Logarithms of softmax.
#ifndef POPNN_LOGSOFTMAX_HPP
#define POPNN_LOGSOFTMAX_HPP

#include <poplar/detail/Library.hpp>

namespace popnn {

inline void logSoftmaxInPlace(
    poplar::Graph &graph, poplar::Tensor t, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}) {
  poplar::detail::call("popnn", "logSoftmaxInPlace", graph, t, prog, debugContext);
}

inline poplar::Tensor logSoftmax(
    poplar::Graph &graph, poplar::Tensor t, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call("popnn", "logSoftmax", graph, t, prog, debugContext).tensor();
}

} // namespace popnn

#endif
