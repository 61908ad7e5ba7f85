// Random numbers of the device.
#ifndef POPRAND_RANDOMGEN_HPP
#define POPRAND_RANDOMGEN_HPP

#include <poplar/detail/Library.hpp>

namespace poprand {

inline poplar::Tensor dropout(
    poplar::Graph &graph, const poplar::Tensor *seed, const std::uint32_t seedModifier,
    const poplar::Tensor &input, const poplar::Tensor &reference, double keepProbability,
    double scale, poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call(
      "poprand", "dropout", graph, poplar::detail::pointed(seed), seedModifier, input, reference,
      keepProbability, scale, prog, debugContext).tensor();
}

inline poplar::Tensor dropout(
    poplar::Graph &graph, const poplar::Tensor *seed, const std::uint32_t seedModifier,
    const poplar::Tensor &input, const poplar::Tensor &reference, double keepProbability,
    double scale, bool outputClonesRef, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call(
      "poprand", "dropout", graph, poplar::detail::pointed(seed), seedModifier, input, reference,
      keepProbability, scale, outputClonesRef, prog, debugContext).tensor();
}

inline poplar::Tensor shapedDropout(
    poplar::Graph &graph, const poplar::Tensor *seed, const std::uint32_t seedModifier,
    const poplar::Tensor &input, const poplar::Tensor &reference, double keepProbability,
    double scale, poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call(
      "poprand", "shapedDropout", graph, poplar::detail::pointed(seed), seedModifier, input,
      reference, keepProbability, scale, prog, debugContext).tensor();
}

inline poplar::Tensor uniform(
    poplar::Graph &graph, const poplar::Tensor *seed, std::uint32_t seedModifier,
    const poplar::Tensor &reference, const poplar::Type &outType, double minVal, double maxVal,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call(
      "poprand", "uniform", graph, poplar::detail::pointed(seed), seedModifier, reference, outType,
      minVal, maxVal, prog, debugContext).tensor();
}

inline poplar::Tensor logUniform(
    poplar::Graph &graph, const poplar::Tensor *seed, std::uint32_t seedModifier,
    const poplar::Tensor &reference, const poplar::Type &outType, double minVal, double maxVal,
    poplar::program::Sequence &prog, double base = M_E,
    const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call(
      "poprand", "logUniform", graph, poplar::detail::pointed(seed), seedModifier, reference,
      outType, minVal, maxVal, prog, base, debugContext).tensor();
}

inline poplar::Tensor bernoulli(
    poplar::Graph &graph, const poplar::Tensor *seed, std::uint32_t seedModifier,
    const poplar::Tensor &reference, const poplar::Type &outType, double prob,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call(
      "poprand", "bernoulli", graph, poplar::detail::pointed(seed), seedModifier, reference,
      outType, prob, prog, debugContext).tensor();
}

inline poplar::Tensor normal(
    poplar::Graph &graph, const poplar::Tensor *seed, std::uint32_t seedModifier,
    const poplar::Tensor &reference, const poplar::Type &outType, double mean, double stdDev,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call(
      "poprand", "normal", graph, poplar::detail::pointed(seed), seedModifier, reference, outType,
      mean, stdDev, prog, debugContext).tensor();
}

inline poplar::Tensor truncatedNormal(
    poplar::Graph &graph, const poplar::Tensor *seed, std::uint32_t seedModifier,
    const poplar::Tensor &reference, const poplar::Type &outType, double mean, double stdDev,
    double alpha, poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call(
      "poprand", "truncatedNormal", graph, poplar::detail::pointed(seed), seedModifier, reference,
      outType, mean, stdDev, alpha, prog, debugContext).tensor();
}

inline void setSeed(
    poplar::Graph &graph, const poplar::Tensor &masterSeed, std::uint32_t seedModifier,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {}) {
  poplar::detail::call("poprand", "setSeed", graph, masterSeed, seedModifier, prog, debugContext);
}

} // namespace poprand

#endif
