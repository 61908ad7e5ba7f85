// What compute functions translated from Python call: Python's indices, slices, divisions and sums.
#ifndef TREMULA_PYTHON_HPP
#define TREMULA_PYTHON_HPP

#include <poplar/Vertex.hpp>

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

namespace tremula_python {

[[noreturn]] inline void outside(long long index, long long size, const char *name) {
  throw std::out_of_range("index " + std::to_string(index) + " is outside field '" + name + "', which has " +
                          std::to_string(size) + " elements");
}

// An index as Python counts: negative ones from the end.
inline long long at(long long index, long long size, const char *name) {
  if (__builtin_expect(static_cast<unsigned long long>(index) >= static_cast<unsigned long long>(size), 0)) {
    if (index >= 0 || index < -size)
      outside(index, size, name);
    return index + size;
  }
  return index;
}

struct Cut {
  long long begin, count, step;
  long long at(long long i) const { return begin + i * step; }
};

// A slice as Python cuts it: what lies outside is left out.
inline Cut cut(long long begin, long long end, long long step, long long size) {
  if (step <= 0)
    throw std::invalid_argument("slices of vectors go forwards");
  if (begin < 0)
    begin = begin + size < 0 ? 0 : begin + size;
  if (end < 0)
    end += size;
  if (begin > size)
    begin = size;
  if (end > size)
    end = size;
  return Cut{begin, end > begin ? (end - begin + step - 1) / step : 0, step};
}

inline void sameWidth(long long first, long long second, const char *name) {
  if (first != second)
    throw std::length_error(std::to_string(second) + " values do not fit " + std::to_string(first) + " elements (field '" +
                            name + "')");
}

template <class T> using Values = std::vector<T>;

inline long long absolute(long long x) { return x < 0 ? -x : x; }
inline float absolute(float x) { return std::fabs(x); }
inline half absolute(half x) { return half(std::fabs(float(x))); }
template <class T> inline T smaller(T a, T b) { return b < a ? b : a; }
template <class T> inline T larger(T a, T b) { return b > a ? b : a; }
inline long long whole(float x) { return static_cast<long long>(x); }
inline long long whole_floor(float x) { return static_cast<long long>(std::floor(x)); }
inline long long whole_ceil(float x) { return static_cast<long long>(std::ceil(x)); }

inline long long floorDivide(long long a, long long b) {
  if (b == 0)
    throw std::domain_error("integer division by zero");
  const long long q = a / b;
  return q - ((a % b != 0) && ((a < 0) != (b < 0)));
}
inline float floorDivide(float a, float b) { return std::floor(a / b); }
inline half floorDivide(half a, half b) { return half(std::floor(float(a) / float(b))); }
inline long long modulo(long long a, long long b) { return a - b * floorDivide(a, b); }
inline float modulo(float a, float b) {
  const float rest = std::fmod(a, b);
  return rest != 0.0f && ((rest < 0.0f) != (b < 0.0f)) ? rest + b : rest;
}
inline half modulo(half a, half b) { return half(modulo(float(a), float(b))); }
inline long long power(long long base, long long exponent) {
  if (exponent < 0)
    throw std::domain_error("a whole number to a negative power: write a float");
  long long found = 1;
  for (; exponent; exponent >>= 1, base *= base)
    if (exponent & 1)
      found *= base;
  return found;
}
inline float power(float base, float exponent) { return std::pow(base, exponent); }
inline half power(half base, half exponent) { return half(std::pow(float(base), float(exponent))); }

template <class T, class F> inline T sum(long long count, F value) {
  T total = 0;
  for (long long i = 0; i < count; ++i)
    total = total + value(i);
  return total;
}
template <class T, class F> inline T prod(long long count, F value) {
  T total = 1;
  for (long long i = 0; i < count; ++i)
    total = total * value(i);
  return total;
}
template <class T, class F> inline T min(long long count, F value) {
  if (count == 0)
    throw std::domain_error("min of no elements");
  T found = value(0);
  for (long long i = 1; i < count; ++i)
    found = smaller<T>(found, value(i));
  return found;
}
template <class T, class F> inline T max(long long count, F value) {
  if (count == 0)
    throw std::domain_error("max of no elements");
  T found = value(0);
  for (long long i = 1; i < count; ++i)
    found = larger<T>(found, value(i));
  return found;
}

} // namespace tremula_python

#endif
