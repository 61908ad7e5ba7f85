// printf to the log of the host.
#ifndef TREMULA_PRINT_H
#define TREMULA_PRINT_H

#include <cstdio>
#include <stdio.h>

#ifdef __POPC__
#include <poplar/FieldTypes.hpp>

namespace poplar {
namespace detail {
// What the variable arguments of C cannot carry becomes a number.
template <class T> inline const T &printable(const T &value) { return value; }
inline double printable(::half value) { return static_cast<float>(value); }
template <class T> inline auto printable(const ReadScalar<T> &value) { return printable(*value); }
template <class T> inline auto printable(const WrittenScalar<T> &value) { return printable(*value); }
template <class T> inline auto printable(const Input<T> &value) { return printable(*value); }
template <class T> inline auto printable(const Output<T> &value) { return printable(*value); }
template <class T> inline auto printable(const InOut<T> &value) { return printable(*value); }
} // namespace detail
} // namespace poplar

template <class A, class... B> inline int printf(const char *format, const A &first, const B &...rest) {
  return std::printf(format, poplar::detail::printable(first), poplar::detail::printable(rest)...);
}
#endif

#endif
