// The operations of expressions.
#ifndef POPOPS_EXPROP_HPP
#define POPOPS_EXPROP_HPP

#include <poplar/detail/Library.hpp>

namespace popops {
namespace expr {

enum class UnaryOpType { 
    ABSOLUTE, ASIN, BITWISE_NOT, CBRT, CEIL, COS, COUNT_LEADING_ZEROS, ERF, EXPONENT,
    EXPONENT_MINUS_ONE, EXPONENT2, FLOOR, GELU_ERF, INVERSE, IS_FINITE, IS_INF, IS_NAN, LOGARITHM,
    LOGARITHM_ONE_PLUS, LOGICAL_NOT, NEGATE, NEARBY_INT, POPCOUNT, RELU, SIGNUM, SIN, TAN, TANH,
    ROUND, SQRT, SQUARE, SIGMOID, RSQRT, TRUNC };
inline poplar::detail::Value remoteValue(UnaryOpType value) {
  static const char *const names[] = {
      "ABSOLUTE", "ASIN", "BITWISE_NOT", "CBRT", "CEIL", "COS", "COUNT_LEADING_ZEROS", "ERF",
      "EXPONENT", "EXPONENT_MINUS_ONE", "EXPONENT2", "FLOOR", "GELU_ERF", "INVERSE", "IS_FINITE",
      "IS_INF", "IS_NAN", "LOGARITHM", "LOGARITHM_ONE_PLUS", "LOGICAL_NOT", "NEGATE", "NEARBY_INT",
      "POPCOUNT", "RELU", "SIGNUM", "SIN", "TAN", "TANH", "ROUND", "SQRT", "SQUARE", "SIGMOID",
      "RSQRT", "TRUNC"};
  return poplar::detail::enumeration("popops", "UnaryOpType",
                                     names[static_cast<int>(value)]);
}

enum class BinaryOpType { 
    ADD, ATAN2, BITWISE_AND, BITWISE_OR, BITWISE_XOR, BITWISE_XNOR, DIVIDE, EQUAL,
    GREATER_THAN_EQUAL, GREATER_THAN, INV_STD_DEV_TO_VARIANCE, LESS_THAN_EQUAL, LOGICAL_AND,
    LOGICAL_OR, LESS_THAN, MAXIMUM, MINIMUM, MULTIPLY, NOT_EQUAL, POWER, REMAINDER, SHIFT_LEFT,
    SHIFT_RIGHT, SHIFT_RIGHT_SIGN_EXTEND, SUBTRACT, VARIANCE_TO_INV_STD_DEV };
inline poplar::detail::Value remoteValue(BinaryOpType value) {
  static const char *const names[] = {
      "ADD", "ATAN2", "BITWISE_AND", "BITWISE_OR", "BITWISE_XOR", "BITWISE_XNOR", "DIVIDE", "EQUAL",
      "GREATER_THAN_EQUAL", "GREATER_THAN", "INV_STD_DEV_TO_VARIANCE", "LESS_THAN_EQUAL",
      "LOGICAL_AND", "LOGICAL_OR", "LESS_THAN", "MAXIMUM", "MINIMUM", "MULTIPLY", "NOT_EQUAL",
      "POWER", "REMAINDER", "SHIFT_LEFT", "SHIFT_RIGHT", "SHIFT_RIGHT_SIGN_EXTEND", "SUBTRACT",
      "VARIANCE_TO_INV_STD_DEV"};
  return poplar::detail::enumeration("popops", "BinaryOpType",
                                     names[static_cast<int>(value)]);
}

enum class TernaryOpType { CLAMP, SELECT };
inline poplar::detail::Value remoteValue(TernaryOpType value) {
  static const char *const names[] = {"CLAMP", "SELECT"};
  return poplar::detail::enumeration("popops", "TernaryOpType",
                                     names[static_cast<int>(value)]);
}

} // namespace expr
} // namespace popops

#endif
