// The functions of namespace ipu on numbers and short vectors, computed in single precision and rounded to the type.
#ifndef POPLAR_VECTOR_MATH_HPP
#define POPLAR_VECTOR_MATH_HPP

#include <ipudef.h>

#include <cmath>
#include <cstring>

namespace poplar {
namespace detail {

inline float rsqrtOf(float x) { return 1.0f / ::sqrtf(x); }
inline float sigmoidOf(float x) { return 1.0f / (1.0f + ::expf(-x)); }
inline float reluOf(float x) { return x > 0.0f ? x : 0.0f; }
inline float signumOf(float x) { return static_cast<float>((x > 0.0f) - (x < 0.0f)); }
inline float inverseOf(float x) { return 1.0f / x; }
inline float exp10Of(float x) { return ::powf(10.0f, x); }
inline float fmaOf(float x, float y, float z) { return ::fmaf(x, y, z); }
// of a NaN and a number, the number
inline float maxOf(float x, float y) { return ::fmaxf(x, y); }
inline float minOf(float x, float y) { return ::fminf(x, y); }
inline float clampOf(float x, float low, float high) { return ::fminf(::fmaxf(x, low), high); }

template <class T> using IfReal =
    typename std::enable_if<std::is_same<T, float>::value || std::is_same<T, half>::value, T>::type;

} // namespace detail
} // namespace poplar

#define TREMULA_MATH1(name, function)                                                                                  \
  namespace ipu {                                                                                                      \
  inline float name(float x) { return function(x); }                                                                   \
  inline half name(half x) { return half(function(float(x))); }                                                        \
  template <class T, unsigned N>                                                                                       \
  inline poplar::detail::ShortVector<poplar::detail::IfReal<T>, N> name(poplar::detail::ShortVector<T, N> x) {         \
    for (unsigned i = 0; i < N; ++i)                                                                                   \
      x.elements[i] = T(function(float(x.elements[i])));                                                               \
    return x;                                                                                                          \
  }                                                                                                                    \
  }                                                                                                                    \
  TREMULA_NAMED1(float2, name) TREMULA_NAMED1(float4, name) TREMULA_NAMED1(half2, name) TREMULA_NAMED1(half4, name)
#define TREMULA_NAMED1(type, name)                                                                                     \
  inline type type##_##name(type x) { return ipu::name(x); }

#define TREMULA_MATH2(name, function)                                                                                  \
  namespace ipu {                                                                                                      \
  inline float name(float x, float y) { return function(x, y); }                                                       \
  inline half name(half x, half y) { return half(function(float(x), float(y))); }                                      \
  template <class T, unsigned N>                                                                                       \
  inline poplar::detail::ShortVector<poplar::detail::IfReal<T>, N> name(poplar::detail::ShortVector<T, N> x,           \
                                                                         poplar::detail::ShortVector<T, N> y) {        \
    for (unsigned i = 0; i < N; ++i)                                                                                   \
      x.elements[i] = T(function(float(x.elements[i]), float(y.elements[i])));                                         \
    return x;                                                                                                          \
  }                                                                                                                    \
  }                                                                                                                    \
  TREMULA_NAMED2(float2, name) TREMULA_NAMED2(float4, name) TREMULA_NAMED2(half2, name) TREMULA_NAMED2(half4, name)
#define TREMULA_NAMED2(type, name)                                                                                     \
  inline type type##_##name(type x, type y) { return ipu::name(x, y); }

#define TREMULA_MATH3(name, function)                                                                                  \
  namespace ipu {                                                                                                      \
  inline float name(float x, float y, float z) { return function(x, y, z); }                                           \
  inline half name(half x, half y, half z) { return half(function(float(x), float(y), float(z))); }                    \
  template <class T, unsigned N>                                                                                       \
  inline poplar::detail::ShortVector<poplar::detail::IfReal<T>, N> name(poplar::detail::ShortVector<T, N> x,           \
                                                                         poplar::detail::ShortVector<T, N> y,          \
                                                                         poplar::detail::ShortVector<T, N> z) {        \
    for (unsigned i = 0; i < N; ++i)                                                                                   \
      x.elements[i] = T(function(float(x.elements[i]), float(y.elements[i]), float(z.elements[i])));                   \
    return x;                                                                                                          \
  }                                                                                                                    \
  }                                                                                                                    \
  TREMULA_NAMED3(float2, name) TREMULA_NAMED3(float4, name) TREMULA_NAMED3(half2, name) TREMULA_NAMED3(half4, name)
#define TREMULA_NAMED3(type, name)                                                                                     \
  inline type type##_##name(type x, type y, type z) { return ipu::name(x, y, z); }

TREMULA_MATH1(acos, ::acosf)
TREMULA_MATH1(acosh, ::acoshf)
TREMULA_MATH1(asin, ::asinf)
TREMULA_MATH1(asinh, ::asinhf)
TREMULA_MATH1(atan, ::atanf)
TREMULA_MATH1(atanh, ::atanhf)
TREMULA_MATH1(cbrt, ::cbrtf)
TREMULA_MATH1(ceil, ::ceilf)
TREMULA_MATH1(cos, ::cosf)
TREMULA_MATH1(cosh, ::coshf)
TREMULA_MATH1(erf, ::erff)
TREMULA_MATH1(erfc, ::erfcf)
TREMULA_MATH1(exp, ::expf)
TREMULA_MATH1(exp10, poplar::detail::exp10Of)
TREMULA_MATH1(exp2, ::exp2f)
TREMULA_MATH1(expm1, ::expm1f)
TREMULA_MATH1(fabs, ::fabsf)
TREMULA_MATH1(abs, ::fabsf)
TREMULA_MATH1(floor, ::floorf)
TREMULA_MATH1(inverse, poplar::detail::inverseOf)
TREMULA_MATH1(lgamma, ::lgammaf)
TREMULA_MATH1(log, ::logf)
TREMULA_MATH1(ln, ::logf)
TREMULA_MATH1(log10, ::log10f)
TREMULA_MATH1(log1p, ::log1pf)
TREMULA_MATH1(log2, ::log2f)
TREMULA_MATH1(logb, ::logbf)
TREMULA_MATH1(nearbyint, ::nearbyintf)
TREMULA_MATH1(relu, poplar::detail::reluOf)
TREMULA_MATH1(rint, ::rintf)
TREMULA_MATH1(round, ::roundf)
TREMULA_MATH1(rsqrt, poplar::detail::rsqrtOf)
TREMULA_MATH1(sigmoid, poplar::detail::sigmoidOf)
TREMULA_MATH1(signum, poplar::detail::signumOf)
TREMULA_MATH1(sin, ::sinf)
TREMULA_MATH1(sinh, ::sinhf)
TREMULA_MATH1(sqrt, ::sqrtf)
TREMULA_MATH1(tan, ::tanf)
TREMULA_MATH1(tanh, ::tanhf)
TREMULA_MATH1(tgamma, ::tgammaf)
TREMULA_MATH1(trunc, ::truncf)
TREMULA_MATH2(atan2, ::atan2f)
TREMULA_MATH2(copysign, ::copysignf)
TREMULA_MATH2(fdim, ::fdimf)
TREMULA_MATH2(fmax, poplar::detail::maxOf)
TREMULA_MATH2(fmin, poplar::detail::minOf)
TREMULA_MATH2(max, poplar::detail::maxOf)
TREMULA_MATH2(min, poplar::detail::minOf)
TREMULA_MATH2(fmod, ::fmodf)
TREMULA_MATH2(hypot, ::hypotf)
TREMULA_MATH2(nextafter, ::nextafterf)
TREMULA_MATH2(pow, ::powf)
TREMULA_MATH2(remainder, ::remainderf)
TREMULA_MATH3(clamp, poplar::detail::clampOf)
TREMULA_MATH3(fma, poplar::detail::fmaOf)

#undef TREMULA_MATH1
#undef TREMULA_MATH2
#undef TREMULA_MATH3
#undef TREMULA_NAMED1
#undef TREMULA_NAMED2
#undef TREMULA_NAMED3

namespace ipu {

inline bool isnan(float x) { return x != x; }
inline bool isinf(float x) { return ::fabsf(x) == HUGE_VALF; }
inline bool isfinite(float x) { return !isnan(x) && !isinf(x); }

// Each element between two limits, given as the pair of the smaller and the larger.
template <class T, unsigned N>
inline poplar::detail::ShortVector<poplar::detail::IfReal<T>, N> clamp(poplar::detail::ShortVector<T, N> x,
                                                                       poplar::detail::ShortVector<T, 2> limits) {
  for (unsigned i = 0; i < N; ++i)
    x.elements[i] = clamp(x.elements[i], limits.elements[0], limits.elements[1]);
  return x;
}

// The sum of the elements of a vector.
template <class T, unsigned N> inline T sum(poplar::detail::ShortVector<T, N> x) {
  float total = 0;
  for (unsigned i = 0; i < N; ++i)
    total += static_cast<float>(x.elements[i]);
  return T(total);
}

// |x| + |y|, and the larger of |x| and |y|
template <class V> inline V absadd(V x, V y) { return fabs(x) + fabs(y); }
template <class V> inline V absmax(V x, V y) { return fmax(fabs(x), fabs(y)); }

namespace detail {
template <class V, class F> inline V bitwise(V x, V y, F function) {
  unsigned char a[sizeof(V)], b[sizeof(V)];
  std::memcpy(a, &x, sizeof(V));
  std::memcpy(b, &y, sizeof(V));
  for (unsigned i = 0; i < sizeof(V); ++i)
    a[i] = function(a[i], b[i]);
  V found;
  std::memcpy(&found, a, sizeof(V));
  return found;
}
} // namespace detail

// Operations on the bits of numbers and vectors.
template <class V> inline V and_(V x, V y) {
  return detail::bitwise(x, y, [](unsigned char a, unsigned char b) { return static_cast<unsigned char>(a & b); });
}
template <class V> inline V andc(V x, V y) {
  return detail::bitwise(x, y, [](unsigned char a, unsigned char b) { return static_cast<unsigned char>(a & ~b); });
}
template <class V> inline V or_(V x, V y) {
  return detail::bitwise(x, y, [](unsigned char a, unsigned char b) { return static_cast<unsigned char>(a | b); });
}
template <class V> inline V xor_(V x, V y) {
  return detail::bitwise(x, y, [](unsigned char a, unsigned char b) { return static_cast<unsigned char>(a ^ b); });
}
template <class V> inline V not_(V x) {
  return detail::bitwise(x, x, [](unsigned char a, unsigned char) { return static_cast<unsigned char>(~a); });
}

} // namespace ipu

#endif
