// Names of the non-linearities in vertex types.
#ifndef POPNN_NONLINEARITYDEFUTIL_HPP
#define POPNN_NONLINEARITYDEFUTIL_HPP

#include <popnn/NonLinearityDef.hpp>
#include <poputil/VertexTemplates.hpp>

namespace popnn {

inline const char *asString(NonLinearityType type) {
  static const char *const names[] = {
      "SIGMOID", "HARD_SIGMOID", "RELU", "TANH", "GELU", "GELU_ERF", "SWISH", "SOFTMAX",
      "SOFTMAX_STABLE", "SOFTMAX_SCALED"};
  return names[static_cast<int>(type)];
}

} // namespace popnn

namespace poputil {

template <> struct VertexTemplateToString<popnn::NonLinearityType> {
  static std::string to_string(popnn::NonLinearityType type) {
    return std::string("popnn::NonLinearityType::") + popnn::asString(type);
  }
};

} // namespace poputil

#endif
