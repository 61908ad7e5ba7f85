// Loops with counters.
#ifndef POPOPS_LOOP_HPP
#define POPOPS_LOOP_HPP

#include <poplar/detail/Library.hpp>

namespace popops {

typedef std::function<poplar::program::Program(const poplar::Tensor &)> CountedLoopBodyType;

inline poplar::program::Sequence countedLoop(
    poplar::Graph &graph, std::size_t begin, std::size_t end, std::size_t step,
    const CountedLoopBodyType &body, const poplar::DebugContext &debugContext = {}) {
  poplar::detail::Callback run = [body](const std::vector<poplar::detail::Result> &given) {
    return poplar::detail::answerOf(body(given[0].tensor()));
  };
  return poplar::detail::sequenceOf(poplar::detail::call(
      "popops", "countedLoop", graph, begin, end, step, run, debugContext));
}

inline poplar::program::Sequence countedLoop(
    poplar::Graph &graph, std::size_t count, const CountedLoopBodyType &body,
    const poplar::DebugContext &debugContext = {}) {
  poplar::detail::Callback run = [body](const std::vector<poplar::detail::Result> &given) {
    return poplar::detail::answerOf(body(given[0].tensor()));
  };
  return poplar::detail::sequenceOf(poplar::detail::call(
      "popops", "countedLoop", graph, count, run, debugContext));
}

inline poplar::Tensor addForLoopCounterVertex(
    poplar::Graph &graph, const poplar::Tensor &count, const poplar::Tensor &countLimit,
    int countStep, unsigned tile, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext) {
  return poplar::detail::call(
      "popops", "addForLoopCounterVertex", graph, count, countLimit, countStep, tile, prog,
      debugContext).tensor();
}

inline poplar::program::Sequence countedForLoop(
    poplar::Graph &graph, const poplar::Tensor &count, int initialCount,
    const poplar::Tensor &countLimit, int countStep, const poplar::program::Program &body,
    const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::sequenceOf(poplar::detail::call(
      "popops", "countedForLoop", graph, count, initialCount, countLimit, countStep, body,
      debugContext));
}

inline poplar::program::Sequence countedForLoop(
    poplar::Graph &graph, int initialCount, const poplar::Tensor &countLimit, int countStep,
    const poplar::program::Program &body, const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::sequenceOf(poplar::detail::call(
      "popops", "countedForLoop", graph, initialCount, countLimit, countStep, body, debugContext));
}

} // namespace popops

#endif
