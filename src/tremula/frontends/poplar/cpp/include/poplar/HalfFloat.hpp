// `half`: 16 bits with rounding after each operation, or, where TREMULA_HALF_AS_FLOAT is defined, single precision.
//
// A model of the chip computes half in single precision unless it is told to be accurate; both behave alike otherwise.
#ifndef POPLAR_HALF_FLOAT_HPP
#define POPLAR_HALF_FLOAT_HPP

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

struct half;

namespace poplar {
namespace detail {

#if defined(TREMULA_HALF_AS_FLOAT)
using HalfStorage = float;
#elif defined(__FLT16_MAX__)
using HalfStorage = _Float16;
#else
// The nearest 16-bit number, ties to even, and back.
inline std::uint16_t halfBits(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, 4);
  const std::uint16_t sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
  bits &= 0x7fffffffu;
  if (bits > 0x7f800000u)
    return static_cast<std::uint16_t>(sign | 0x7e00u | ((bits >> 13) & 0x3ffu));
  if (bits >= 0x477ff000u)
    return static_cast<std::uint16_t>(sign | 0x7c00u);
  if (bits < 0x33000001u)
    return sign;
  const int exponent = static_cast<int>(bits >> 23);
  const std::uint32_t mantissa = exponent < 113 ? (bits & 0x7fffffu) | 0x800000u : bits;
  const int shift = exponent < 113 ? 126 - exponent : 13;
  const std::uint32_t kept = exponent < 113 ? mantissa >> shift : (mantissa - 0x38000000u) >> 13;
  const std::uint32_t rest = mantissa & ((1u << shift) - 1u);
  const std::uint32_t middle = 1u << (shift - 1);
  return static_cast<std::uint16_t>(sign | (kept + (rest > middle || (rest == middle && (kept & 1u)))));
}

inline float floatOfHalf(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000u) << 16;
  std::uint32_t exponent = (bits >> 10) & 0x1fu, mantissa = bits & 0x3ffu, found;
  if (exponent == 0x1fu) {
    found = sign | 0x7f800000u | (mantissa << 13);
  } else if (exponent) {
    found = sign | ((exponent + 112u) << 23) | (mantissa << 13);
  } else {
    float small = static_cast<float>(mantissa) * 5.9604644775390625e-8f;
    std::memcpy(&found, &small, 4);
    found |= sign;
  }
  float value;
  std::memcpy(&value, &found, 4);
  return value;
}

// For compilers without a type of 16 bits.
struct HalfStorage {
  HalfStorage() = default;
  explicit HalfStorage(float value) : bits(halfBits(value)) {}
  explicit operator float() const { return floatOfHalf(bits); }
  std::uint16_t bits;
};
#endif

template <class T> struct IsNumber : std::integral_constant<bool, std::is_arithmetic<T>::value || std::is_enum<T>::value> {};

// The type of `half op T`: floating types win, whole numbers become half.
template <class T, bool floating> struct HalfWith {
  using type = half;
};
template <class T> struct HalfWith<T, true> {
  using type = T;
};

} // namespace detail
} // namespace poplar

struct half {
  poplar::detail::HalfStorage value_;

  half() = default;
  template <class T, class = typename std::enable_if<poplar::detail::IsNumber<T>::value>::type>
  constexpr half(T value) : value_(static_cast<poplar::detail::HalfStorage>(static_cast<float>(value))) {}
  constexpr operator float() const { return static_cast<float>(value_); }

  template <class T> half &operator+=(const T &other) { return set(float(*this) + static_cast<float>(other)); }
  template <class T> half &operator-=(const T &other) { return set(float(*this) - static_cast<float>(other)); }
  template <class T> half &operator*=(const T &other) { return set(float(*this) * static_cast<float>(other)); }
  template <class T> half &operator/=(const T &other) { return set(float(*this) / static_cast<float>(other)); }
  half &operator++() { return set(float(*this) + 1.0f); }
  half &operator--() { return set(float(*this) - 1.0f); }
  half operator++(int) {
    half before = *this;
    set(float(*this) + 1.0f);
    return before;
  }
  half operator--(int) {
    half before = *this;
    set(float(*this) - 1.0f);
    return before;
  }
  half operator-() const { return half(-float(*this)); }
  half operator+() const { return *this; }

private:
  half &set(float value) {
    value_ = static_cast<poplar::detail::HalfStorage>(value);
    return *this;
  }
};

// What `half op number` and `number op half` give: no type where neither operand is exactly half, so that the operators
// below are never candidates for whole numbers and enumerations.
namespace poplar {
namespace detail {
inline float plain(half value) { return float(value); }
template <class T> inline T plain(T value) { return value; }

template <class A, class B, class = void> struct HalfPair {};
template <class B> struct HalfPair<half, B, typename std::enable_if<IsNumber<B>::value>::type> {
  using type = typename HalfWith<B, std::is_floating_point<B>::value>::type;
  using truth = bool;
};
template <class A> struct HalfPair<A, half, typename std::enable_if<IsNumber<A>::value>::type> {
  using type = typename HalfWith<A, std::is_floating_point<A>::value>::type;
  using truth = bool;
};
} // namespace detail
} // namespace poplar

#define TREMULA_HALF_ARITHMETIC(op)                                                                                    \
  inline half operator op(half a, half b) { return half(float(a) op float(b)); }                                       \
  template <class A, class B> inline typename poplar::detail::HalfPair<A, B>::type operator op(A a, B b) {             \
    using R = typename poplar::detail::HalfPair<A, B>::type;                                                           \
    return static_cast<R>(static_cast<R>(a) op static_cast<R>(b));                                                     \
  }
TREMULA_HALF_ARITHMETIC(+)
TREMULA_HALF_ARITHMETIC(-)
TREMULA_HALF_ARITHMETIC(*)
TREMULA_HALF_ARITHMETIC(/)
#undef TREMULA_HALF_ARITHMETIC

#define TREMULA_HALF_COMPARISON(op)                                                                                    \
  inline bool operator op(half a, half b) { return float(a) op float(b); }                                             \
  template <class A, class B> inline typename poplar::detail::HalfPair<A, B>::truth operator op(A a, B b) {            \
    return poplar::detail::plain(a) op poplar::detail::plain(b);                                                       \
  }
TREMULA_HALF_COMPARISON(==)
TREMULA_HALF_COMPARISON(!=)
TREMULA_HALF_COMPARISON(<)
TREMULA_HALF_COMPARISON(<=)
TREMULA_HALF_COMPARISON(>)
TREMULA_HALF_COMPARISON(>=)
#undef TREMULA_HALF_COMPARISON

namespace std {
template <> class numeric_limits<half> {
public:
  static constexpr bool is_specialized = true, is_signed = true, is_integer = false, is_exact = false;
  static constexpr bool has_infinity = true, has_quiet_NaN = true, has_signaling_NaN = false;
  static constexpr bool is_iec559 = true, is_bounded = true, is_modulo = false;
  static constexpr int radix = 2, digits = 11, digits10 = 3, max_digits10 = 5;
  static constexpr int min_exponent = -13, max_exponent = 16, min_exponent10 = -4, max_exponent10 = 4;
  static constexpr half min() { return half(6.103515625e-5f); }
  static constexpr half max() { return half(65504.0f); }
  static constexpr half lowest() { return half(-65504.0f); }
  static constexpr half epsilon() { return half(0.0009765625f); }
  static constexpr half round_error() { return half(0.5f); }
  static constexpr half denorm_min() { return half(5.9604644775390625e-8f); }
  static constexpr half infinity() { return half(numeric_limits<float>::infinity()); }
  static constexpr half quiet_NaN() { return half(numeric_limits<float>::quiet_NaN()); }
};
template <> class numeric_limits<const half> : public numeric_limits<half> {};
} // namespace std

namespace poplar {
using ::half;
} // namespace poplar

#endif
