// Where a new variable lies: nowhere yet, or evenly on all tiles.
#ifndef POPLAR_VARIABLE_MAPPING_METHOD_HPP
#define POPLAR_VARIABLE_MAPPING_METHOD_HPP

#include <string>

namespace poplar {
enum class VariableMappingMethod { NONE, LINEAR };
inline std::string toString(VariableMappingMethod method) {
  return method == VariableMappingMethod::NONE ? "NONE" : "LINEAR";
}
} // namespace poplar

#endif
