// Single and half precision on the host.
#ifndef POPFLOAT_EXPERIMENTAL_CAST_TO_HALF_HPP
#define POPFLOAT_EXPERIMENTAL_CAST_TO_HALF_HPP

#include <limits>
#include <poplar/detail/Prelude.hpp>

namespace popfloat {
namespace experimental {

// The bits of the nearest half, ties to even. An overflow gives infinity, or NaN with `enNanoo`.
inline std::uint16_t singleToHalf(float value, bool enNanoo = false) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double size = std::fabs(static_cast<double>(value));
  const std::uint16_t notANumber = 0x7e00, infinity = 0x7c00;
  if (std::isnan(value))
    return static_cast<std::uint16_t>(sign | notANumber);
  // halfway between the largest half and the next power of two
  if (size >= 65520.0)
    return static_cast<std::uint16_t>(sign | (enNanoo ? notANumber : infinity));
  if (size == 0.0)
    return sign;
  int exponent = 0;
  std::frexp(size, &exponent);
  const int unit = std::max(exponent - 11, -24);
  const int steps = static_cast<int>(std::nearbyint(std::ldexp(size, -unit)));
  // a unit of -24 is that of subnormal numbers; each further one adds 1024 steps
  return static_cast<std::uint16_t>(sign | (steps + (unit + 24) * 1024));
}

// The number that the bits of a half stand for.
inline float halfToSingle(std::uint16_t half) {
  const int exponent = half >> 10 & 31, fraction = half & 1023;
  const float sign = half & 0x8000 ? -1.0f : 1.0f;
  if (exponent == 31)
    return fraction ? std::numeric_limits<float>::quiet_NaN()
                    : sign * std::numeric_limits<float>::infinity();
  return sign * (exponent ? std::ldexp(static_cast<float>(1024 + fraction), exponent - 25)
                          : std::ldexp(static_cast<float>(fraction), -24));
}

} // namespace experimental
} // namespace popfloat

#endif
