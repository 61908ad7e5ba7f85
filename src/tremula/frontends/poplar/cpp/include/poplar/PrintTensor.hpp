// How tensors are printed.
#ifndef POPLAR_PRINT_TENSOR_HPP
#define POPLAR_PRINT_TENSOR_HPP

#include <poplar/detail/Prelude.hpp>

namespace poplar {

class PrintTensorFmt {
public:
  enum class FloatFormat { Auto = 0, Fixed = 1, Scientific = 2, None = 3 };

  PrintTensorFmt(unsigned summariseThreshold = 1000, unsigned edgeItems = 3,
                 unsigned maxLineWidth = 75, unsigned digits = 4,
                 FloatFormat floatFormat = FloatFormat::Auto, char separator = ' ',
                 char openBracket = '[', char closeBracket = ']')
      : summariseThreshold(summariseThreshold), edgeItems(edgeItems),
        maxLineWidth(maxLineWidth), digits(digits), floatFormat(floatFormat),
        separator(separator), openBracket(openBracket), closeBracket(closeBracket) {}

  unsigned summariseThreshold, edgeItems, maxLineWidth, digits;
  FloatFormat floatFormat;
  char separator, openBracket, closeBracket;
};

} // namespace poplar

#endif
