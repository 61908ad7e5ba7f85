// Conversions between single and half precision on the host.
#ifndef POPFLOAT_EXPERIMENTAL_CAST_TO_HALF_HPP
#define POPFLOAT_EXPERIMENTAL_CAST_TO_HALF_HPP

#include <poplar/Target.hpp>

namespace popfloat {
namespace experimental {

// The bits of the half that is nearest to a float. `enableNanooMode`: a number that is too large becomes NaN, else
// the largest half.
inline std::uint16_t singleToHalf(float value, bool enableNanooMode = false) {
  std::uint16_t bits;
  poplar::copyFloatToDeviceHalf(poplar::Target(), &value, &bits, 1);
  if ((bits & 0x7fff) == 0x7c00)
    bits = static_cast<std::uint16_t>((bits & 0x8000) | (enableNanooMode ? 0x7e00 : 0x7bff));
  return bits;
}

inline float halfToSingle(std::uint16_t bits) {
  float value;
  poplar::copyDeviceHalfToFloat(poplar::Target(), &bits, &value, 1);
  return value;
}

} // namespace experimental
} // namespace popfloat

#endif
