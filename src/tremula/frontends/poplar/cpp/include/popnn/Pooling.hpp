// Pooling.
#ifndef POPNN_POOLING_HPP
#define POPNN_POOLING_HPP

#include <popnn/PoolingDef.hpp>

namespace popnn {
namespace pooling {

struct PoolParams {
  PoolingType poolingType;
  std::vector<std::size_t> inputFieldShape, kernelShape;
  std::vector<unsigned> stride;
  std::vector<int> inputTruncationOrPaddingLower, inputTruncationOrPaddingUpper;
  std::size_t numChannels, batchSize;
  poplar::Type dType;
  PoolParams(PoolingType poolingType, std::vector<std::size_t> inputFieldShape,
             std::vector<std::size_t> kernelShape, std::vector<unsigned> stride,
             std::vector<int> lower, std::vector<int> upper, std::size_t numChannels,
             std::size_t batchSize, poplar::Type dType)
      : poolingType(poolingType), inputFieldShape(std::move(inputFieldShape)),
        kernelShape(std::move(kernelShape)), stride(std::move(stride)),
        inputTruncationOrPaddingLower(std::move(lower)),
        inputTruncationOrPaddingUpper(std::move(upper)), numChannels(numChannels),
        batchSize(batchSize), dType(dType) {}
  std::size_t getNumFieldDims() const { return inputFieldShape.size(); }
  std::vector<std::size_t> getOutputFieldShape() const {
    std::vector<std::size_t> made;
    for (std::size_t dim = 0; dim < inputFieldShape.size(); ++dim) {
      const long inner = static_cast<long>(inputFieldShape[dim]) +
                         inputTruncationOrPaddingLower[dim] + inputTruncationOrPaddingUpper[dim] -
                         static_cast<long>(kernelShape[dim]);
      made.push_back(static_cast<std::size_t>(inner / static_cast<long>(stride[dim]) + 1));
    }
    return made;
  }
};

inline poplar::detail::Value remoteValue(const PoolParams &p) {
  return poplar::detail::object("popnn.pooling", "PoolParams", p.poolingType, p.inputFieldShape,
                                p.kernelShape, p.stride, p.inputTruncationOrPaddingLower,
                                p.inputTruncationOrPaddingUpper, p.numChannels, p.batchSize,
                                p.dType);
}
inline std::vector<std::size_t> getOutputFieldShape(const PoolParams &params) {
  return params.getOutputFieldShape();
}

inline std::uint64_t getFwdFlops(const PoolParams &params) {
  return static_cast<std::uint64_t>(poplar::detail::call(
      "popnn.pooling", "getFwdFlops", params).integer());
}

inline std::uint64_t getBwdFlops(const PoolParams &params) {
  return static_cast<std::uint64_t>(poplar::detail::call(
      "popnn.pooling", "getBwdFlops", params).integer());
}

inline double getFwdPerfectCycleCount(const poplar::Graph &graph, const PoolParams &params) {
  return poplar::detail::call("popnn.pooling", "getFwdPerfectCycleCount", graph, params).real();
}

inline double getBwdPerfectCycleCount(const poplar::Graph &graph, const PoolParams &params) {
  return poplar::detail::call("popnn.pooling", "getBwdPerfectCycleCount", graph, params).real();
}

inline poplar::Tensor pool(
    poplar::Graph &graph, const PoolParams &params, const poplar::Tensor &in,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}) {
  return poplar::detail::call(
      "popnn.pooling", "pool", graph, params, in, prog, debugContext, options).tensor();
}

inline poplar::Tensor poolInputGradient(
    poplar::Graph &graph, const PoolParams &params, const poplar::Tensor &in,
    const poplar::Tensor &pooled, const poplar::Tensor &pooledGradient, bool useScaledGradient,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}) {
  return poplar::detail::call(
      "popnn.pooling", "poolInputGradient", graph, params, in, pooled, pooledGradient,
      useScaledGradient, prog, debugContext, options).tensor();
}

inline poplar::Tensor poolInputGradient(
    poplar::Graph &graph, const PoolParams &params, const unsigned fwdChansPerGroup,
    const poplar::Tensor &pooledGradient, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {
  return poplar::detail::call(
      "popnn.pooling", "poolInputGradient", graph, params, fwdChansPerGroup, pooledGradient, prog,
      debugContext, options).tensor();
}

} // namespace pooling
} // namespace popnn

#endif
