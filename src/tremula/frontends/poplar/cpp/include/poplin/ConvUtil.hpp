// Indices and gradients of convolutions.
#ifndef POPLIN_CONVUTIL_HPP
#define POPLIN_CONVUTIL_HPP

#include <poplin/Convolution.hpp>

namespace poplin {

inline unsigned getDilatedSize(unsigned size, unsigned dilation) {
  return static_cast<unsigned>(poplar::detail::call(
      "poplin", "getDilatedSize", size, dilation).integer());
}

inline unsigned getInputIndex(
    unsigned dim, unsigned outputIndex, unsigned kernelIndex, const ConvParams &params) {
  return static_cast<unsigned>(poplar::detail::call(
      "poplin", "getInputIndex", dim, outputIndex, kernelIndex, params).integer());
}

inline unsigned getKernelIndex(
    unsigned dim, unsigned outputIndex, unsigned inputIndex, const ConvParams &params) {
  return static_cast<unsigned>(poplar::detail::call(
      "poplin", "getKernelIndex", dim, outputIndex, inputIndex, params).integer());
}

// The convolution that gives the gradient of the input; it takes weights turned.
inline ConvParams getGradientParams(const ConvParams &params) {
  params.validate();
  const std::size_t rank = params.getNumFieldDims();
  ConvParams made(params.outputType, params.inputType, params.batchSize,
                  params.getOutputFieldShape(), params.kernelShape,
                  params.outputChannelsPerConvGroup, params.inputChannelsPerConvGroup,
                  params.numConvGroups);
  const ConvParams::OutputTransform &out = params.outputTransform;
  made.inputTransform = {out.paddingLower, out.paddingUpper, out.stride,
                         std::vector<unsigned>(rank), std::vector<unsigned>(rank),
                         params.inputTransform.flip};
  for (unsigned dim = 0; dim < rank; ++dim) {
    const unsigned beside = params.getTransformedKernelSize(dim) - 1;
    const unsigned kept = static_cast<unsigned>(params.getOutputSize(dim)) -
                          out.paddingLower[dim] - out.paddingUpper[dim];
    const unsigned reach = kept ? (kept - 1) * out.stride[dim] + 1 : 0;
    made.inputTransform.paddingLower[dim] = out.truncationLower[dim] + beside;
    made.inputTransform.paddingUpper[dim] =
        static_cast<unsigned>(params.getUntransformedOutputSize(dim)) -
        out.truncationLower[dim] - reach + beside;
  }
  const ConvParams::InputTransform &kernel = params.kernelTransform;
  made.kernelTransform = {kernel.truncationUpper, kernel.truncationLower, kernel.dilation,
                          kernel.paddingUpper, kernel.paddingLower, kernel.flip};
  for (unsigned dim = 0; dim < rank; ++dim)
    made.kernelTransform.flip[dim] = kernel.flip[dim] != params.inputTransform.flip[dim];
  const ConvParams::InputTransform &in = params.inputTransform;
  made.outputTransform = {in.paddingLower, in.paddingUpper, in.dilation, in.truncationLower,
                          in.truncationUpper};
  return made;
}

} // namespace poplin

#endif
