// The parameters of a convolution.
#ifndef POPLIN_CONVPARAMS_HPP
#define POPLIN_CONVPARAMS_HPP

#include <poplar/detail/Library.hpp>
#include <poputil/exceptions.hpp>

namespace poplin {

struct ConvParams {
  // What is done to the input or the kernel, in this order.
  struct InputTransform {
    std::vector<unsigned> truncationLower, truncationUpper, dilation, paddingLower, paddingUpper;
    std::vector<bool> flip;
    InputTransform() = default;
    InputTransform(const std::size_t size)
        : truncationLower(size), truncationUpper(size), dilation(size, 1), paddingLower(size),
          paddingUpper(size), flip(size) {}
    InputTransform(std::vector<unsigned> truncationLower, std::vector<unsigned> truncationUpper,
                   std::vector<unsigned> dilation, std::vector<unsigned> paddingLower,
                   std::vector<unsigned> paddingUpper, std::vector<bool> flip)
        : truncationLower(std::move(truncationLower)),
          truncationUpper(std::move(truncationUpper)), dilation(std::move(dilation)),
          paddingLower(std::move(paddingLower)), paddingUpper(std::move(paddingUpper)),
          flip(std::move(flip)) {}
    auto fields() const
        -> decltype(std::tie(truncationLower, truncationUpper, dilation, paddingLower,
                             paddingUpper, flip)) {
      return std::tie(truncationLower, truncationUpper, dilation, paddingLower, paddingUpper,
                      flip);
    }
  };
  // What is done to the output, in this order.
  struct OutputTransform {
    std::vector<unsigned> truncationLower, truncationUpper, stride, paddingLower, paddingUpper;
    OutputTransform() = default;
    OutputTransform(const std::size_t size)
        : truncationLower(size), truncationUpper(size), stride(size, 1), paddingLower(size),
          paddingUpper(size) {}
    OutputTransform(std::vector<unsigned> truncationLower, std::vector<unsigned> truncationUpper,
                    std::vector<unsigned> striding, std::vector<unsigned> paddingLower,
                    std::vector<unsigned> paddingUpper)
        : truncationLower(std::move(truncationLower)),
          truncationUpper(std::move(truncationUpper)), stride(std::move(striding)),
          paddingLower(std::move(paddingLower)), paddingUpper(std::move(paddingUpper)) {}
    auto fields() const -> decltype(std::tie(truncationLower, truncationUpper, stride,
                                             paddingLower, paddingUpper)) {
      return std::tie(truncationLower, truncationUpper, stride, paddingLower, paddingUpper);
    }
  };

  poplar::Type inputType, outputType;
  std::size_t batchSize = 0;
  std::vector<std::size_t> inputFieldShape, kernelShape;
  std::size_t inputChannelsPerConvGroup = 0, outputChannelsPerConvGroup = 0, numConvGroups = 0;
  InputTransform inputTransform, kernelTransform;
  OutputTransform outputTransform;

  ConvParams() = default;
  ConvParams(poplar::Type dataType, std::size_t batchSize,
             std::vector<std::size_t> inputFieldShape, std::vector<std::size_t> kernelShape,
             std::size_t inputChannels, std::size_t outputChannels, std::size_t numConvGroups)
      : ConvParams(dataType, dataType, batchSize, std::move(inputFieldShape),
                   std::move(kernelShape), inputChannels, outputChannels, numConvGroups) {}
  ConvParams(poplar::Type inputType, poplar::Type outputType, std::size_t batchSize,
             std::vector<std::size_t> inputFieldShape, std::vector<std::size_t> kernelShape,
             std::size_t inputChannels, std::size_t outputChannels, std::size_t numConvGroups)
      : ConvParams(inputType, outputType, batchSize, inputFieldShape, std::move(kernelShape),
                   inputChannels, outputChannels, numConvGroups,
                   InputTransform(inputFieldShape.size()),
                   InputTransform(inputFieldShape.size()),
                   OutputTransform(inputFieldShape.size())) {}
  ConvParams(poplar::Type inputType, poplar::Type outputType, std::size_t batchSize,
             std::vector<std::size_t> inputFieldShape, std::vector<std::size_t> kernelShape,
             std::size_t inputChannels, std::size_t outputChannels, std::size_t numConvGroups,
             InputTransform inputTransform, InputTransform kernelTransform,
             OutputTransform outputTransform)
      : inputType(inputType), outputType(outputType), batchSize(batchSize),
        inputFieldShape(std::move(inputFieldShape)), kernelShape(std::move(kernelShape)),
        inputChannelsPerConvGroup(inputChannels), outputChannelsPerConvGroup(outputChannels),
        numConvGroups(numConvGroups), inputTransform(std::move(inputTransform)),
        kernelTransform(std::move(kernelTransform)),
        outputTransform(std::move(outputTransform)) {}

  unsigned getTruncatedInputSize(unsigned dim) const {
    return static_cast<unsigned>(inputFieldShape[dim]) - inputTransform.truncationLower[dim] -
           inputTransform.truncationUpper[dim];
  }
  unsigned getTruncatedKernelSize(unsigned dim) const {
    return static_cast<unsigned>(kernelShape[dim]) - kernelTransform.truncationLower[dim] -
           kernelTransform.truncationUpper[dim];
  }
  unsigned getTransformedInputSize(unsigned dim) const {
    return transformed(inputTransform, dim, getTruncatedInputSize(dim));
  }
  unsigned getTransformedKernelSize(unsigned dim) const {
    return transformed(kernelTransform, dim, getTruncatedKernelSize(dim));
  }
  std::size_t getUntransformedOutputSize(unsigned dim) const {
    return getTransformedInputSize(dim) - getTransformedKernelSize(dim) + 1;
  }
  std::size_t getOutputSize(unsigned dim) const {
    const std::size_t cut =
        outputTransform.truncationLower[dim] + outputTransform.truncationUpper[dim];
    const std::size_t stride = outputTransform.stride[dim];
    return (getUntransformedOutputSize(dim) - cut + stride - 1) / stride +
           outputTransform.paddingLower[dim] + outputTransform.paddingUpper[dim];
  }
  std::vector<std::size_t> getOutputFieldShape() const {
    std::vector<std::size_t> made;
    for (unsigned dim = 0; dim < inputFieldShape.size(); ++dim)
      made.push_back(getOutputSize(dim));
    return made;
  }
  std::size_t getNumOutputChansPerConvGroup() const { return outputChannelsPerConvGroup; }
  std::size_t getNumInputChansPerConvGroup() const { return inputChannelsPerConvGroup; }
  std::size_t getNumOutputChans() const { return outputChannelsPerConvGroup * numConvGroups; }
  std::size_t getNumInputChans() const { return inputChannelsPerConvGroup * numConvGroups; }
  std::size_t getInputSize(unsigned dim) const { return inputFieldShape[dim]; }
  std::size_t getNumConvGroups() const { return numConvGroups; }
  std::size_t getNumFieldDims() const { return inputFieldShape.size(); }
  std::vector<std::size_t> getInputFieldShape() const { return inputFieldShape; }
  std::vector<std::size_t> getKernelShape() const { return kernelShape; }
  std::size_t getBatchSize() const { return batchSize; }
  // Throws if no such convolution is possible.
  void validate() const;

  auto fields() const
      -> decltype(std::tie(inputType, outputType, batchSize, inputFieldShape, kernelShape,
                           inputChannelsPerConvGroup, outputChannelsPerConvGroup,
                           numConvGroups)) {
    return std::tie(inputType, outputType, batchSize, inputFieldShape, kernelShape,
                    inputChannelsPerConvGroup, outputChannelsPerConvGroup, numConvGroups);
  }

private:
  static unsigned transformed(const InputTransform &t, unsigned dim, unsigned kept) {
    const unsigned inner = kept ? (kept - 1) * t.dilation[dim] + 1 : 0;
    return inner + t.paddingLower[dim] + t.paddingUpper[dim];
  }
};

inline poplar::detail::Value remoteValue(const ConvParams::InputTransform &t) {
  return poplar::detail::list(t.truncationLower, t.truncationUpper, t.dilation, t.paddingLower,
                              t.paddingUpper, t.flip);
}
inline poplar::detail::Value remoteValue(const ConvParams::OutputTransform &t) {
  return poplar::detail::list(t.truncationLower, t.truncationUpper, t.stride, t.paddingLower,
                              t.paddingUpper);
}
inline poplar::detail::Value remoteValue(const ConvParams &p) {
  return poplar::detail::object("poplin", "ConvParams", p.inputType, p.outputType, p.batchSize,
                                p.inputFieldShape, p.kernelShape, p.inputChannelsPerConvGroup,
                                p.outputChannelsPerConvGroup, p.numConvGroups, p.inputTransform,
                                p.kernelTransform, p.outputTransform);
}
inline void ConvParams::validate() const {
  poplar::detail::call("poplin", "getGradientParams", *this);
}

#define POPLIN_COMPARED(TYPE)                                                  \
  inline bool operator==(const TYPE &a, const TYPE &b) { return a.fields() == b.fields(); } \
  inline bool operator!=(const TYPE &a, const TYPE &b) { return !(a == b); }   \
  inline bool operator<(const TYPE &a, const TYPE &b) { return a.fields() < b.fields(); }
POPLIN_COMPARED(ConvParams::InputTransform)
POPLIN_COMPARED(ConvParams::OutputTransform)
#undef POPLIN_COMPARED
inline bool operator==(const ConvParams &a, const ConvParams &b) {
  return a.fields() == b.fields() && a.inputTransform == b.inputTransform &&
         a.kernelTransform == b.kernelTransform && a.outputTransform == b.outputTransform;
}
inline bool operator!=(const ConvParams &a, const ConvParams &b) { return !(a == b); }
inline bool operator<(const ConvParams &a, const ConvParams &b) {
  if (a.fields() != b.fields())
    return a.fields() < b.fields();
  if (a.inputTransform != b.inputTransform)
    return a.inputTransform < b.inputTransform;
  if (a.kernelTransform != b.kernelTransform)
    return a.kernelTransform < b.kernelTransform;
  return a.outputTransform < b.outputTransform;
}
inline std::ostream &operator<<(std::ostream &os, const ConvParams &p) {
  os << "convolution of batch " << p.batchSize << ", groups " << p.numConvGroups << ", field";
  for (std::size_t size : p.inputFieldShape)
    os << ' ' << size;
  os << ", kernel";
  for (std::size_t size : p.kernelShape)
    os << ' ' << size;
  return os << ", channels " << p.inputChannelsPerConvGroup << " to "
            << p.outputChannelsPerConvGroup;
}

} // namespace poplin

#endif
