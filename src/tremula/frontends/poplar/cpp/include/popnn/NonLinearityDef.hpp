// The non-linearities.
#ifndef POPNN_NONLINEARITYDEF_HPP
#define POPNN_NONLINEARITYDEF_HPP

#include <poplar/detail/Library.hpp>

namespace popnn {

enum class NonLinearityType { 
    SIGMOID, HARD_SIGMOID, RELU, TANH, GELU, GELU_ERF, SWISH, SOFTMAX, SOFTMAX_STABLE,
    SOFTMAX_SCALED };
inline poplar::detail::Value remoteValue(NonLinearityType value) {
  static const char *const names[] = {
      "SIGMOID", "HARD_SIGMOID", "RELU", "TANH", "GELU", "GELU_ERF", "SWISH", "SOFTMAX",
      "SOFTMAX_STABLE", "SOFTMAX_SCALED"};
  return poplar::detail::enumeration("popnn", "NonLinearityType",
                                     names[static_cast<int>(value)]);
}

} // namespace popnn

#endif
