// Short vectors such as float2 and half4: one load or one instruction of the chip.
//
// They are classes here, because half is one too; arithmetic, comparison and subscripts work as on built-in vectors.
#ifndef POPLAR_VECTOR_TYPES_HPP
#define POPLAR_VECTOR_TYPES_HPP

#include <poplar/HalfFloat.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <type_traits>

namespace poplar {
namespace detail {

template <class T, unsigned N> struct ShortVector;

template <class T> struct IsShortVector : std::false_type {};
template <class T, unsigned N> struct IsShortVector<ShortVector<T, N>> : std::true_type {};

// What a comparison gives: whole numbers of the size of an element, all bits set where it holds.
template <std::size_t size> struct MaskElement;
template <> struct MaskElement<1> { using type = std::int8_t; };
template <> struct MaskElement<2> { using type = std::int16_t; };
template <> struct MaskElement<4> { using type = std::int32_t; };
template <> struct MaskElement<8> { using type = std::int64_t; };

// Aligned like one element: half may be wider here than on the chip, and pointers to elements are cast to vectors.
template <class T, unsigned N> struct ShortVector {
  using element_type = T;
  static constexpr unsigned length = N;

  T elements[N];

  constexpr const T &operator[](std::size_t i) const { return elements[i]; }
  T &operator[](std::size_t i) { return elements[i]; }

  // the same bits as another type, as a cast between built-in vectors
  template <class V, class = typename std::enable_if<IsShortVector<V>::value && sizeof(V) == sizeof(T) * N>::type>
  explicit operator V() const {
    V same;
    std::memcpy(&same, this, sizeof(V));
    return same;
  }

  static ShortVector filled(T value) {
    ShortVector found;
    for (unsigned i = 0; i < N; ++i)
      found.elements[i] = value;
    return found;
  }
};

template <class S, class T>
using IfScalar = typename std::enable_if<!IsShortVector<S>::value && std::is_convertible<S, T>::value>::type;

#define TREMULA_VECTOR_OPERATOR(op)                                                                                    \
  template <class T, unsigned N> inline ShortVector<T, N> operator op(ShortVector<T, N> a, ShortVector<T, N> b) {      \
    ShortVector<T, N> found;                                                                                           \
    for (unsigned i = 0; i < N; ++i)                                                                                   \
      found.elements[i] = static_cast<T>(a.elements[i] op b.elements[i]);                                              \
    return found;                                                                                                      \
  }                                                                                                                    \
  template <class T, unsigned N, class S, class = IfScalar<S, T>>                                                      \
  inline ShortVector<T, N> operator op(ShortVector<T, N> a, const S &b) {                                              \
    return a op ShortVector<T, N>::filled(static_cast<T>(b));                                                          \
  }                                                                                                                    \
  template <class T, unsigned N, class S, class = IfScalar<S, T>>                                                      \
  inline ShortVector<T, N> operator op(const S &a, ShortVector<T, N> b) {                                              \
    return ShortVector<T, N>::filled(static_cast<T>(a)) op b;                                                          \
  }                                                                                                                    \
  template <class T, unsigned N, class S> inline ShortVector<T, N> &operator op##=(ShortVector<T, N> &a, const S &b) { \
    return a = a op b;                                                                                                 \
  }
TREMULA_VECTOR_OPERATOR(+)
TREMULA_VECTOR_OPERATOR(-)
TREMULA_VECTOR_OPERATOR(*)
TREMULA_VECTOR_OPERATOR(/)
TREMULA_VECTOR_OPERATOR(%)
TREMULA_VECTOR_OPERATOR(&)
TREMULA_VECTOR_OPERATOR(|)
TREMULA_VECTOR_OPERATOR(^)
TREMULA_VECTOR_OPERATOR(<<)
TREMULA_VECTOR_OPERATOR(>>)
#undef TREMULA_VECTOR_OPERATOR

#define TREMULA_VECTOR_COMPARISON(op)                                                                                  \
  template <class T, unsigned N>                                                                                       \
  inline ShortVector<typename MaskElement<sizeof(T)>::type, N> operator op(ShortVector<T, N> a, ShortVector<T, N> b) { \
    ShortVector<typename MaskElement<sizeof(T)>::type, N> found;                                                       \
    for (unsigned i = 0; i < N; ++i)                                                                                   \
      found.elements[i] = a.elements[i] op b.elements[i] ? -1 : 0;                                                     \
    return found;                                                                                                      \
  }                                                                                                                    \
  template <class T, unsigned N, class S, class = IfScalar<S, T>>                                                      \
  inline ShortVector<typename MaskElement<sizeof(T)>::type, N> operator op(ShortVector<T, N> a, const S &b) {          \
    return a op ShortVector<T, N>::filled(static_cast<T>(b));                                                          \
  }
TREMULA_VECTOR_COMPARISON(==)
TREMULA_VECTOR_COMPARISON(!=)
TREMULA_VECTOR_COMPARISON(<)
TREMULA_VECTOR_COMPARISON(<=)
TREMULA_VECTOR_COMPARISON(>)
TREMULA_VECTOR_COMPARISON(>=)
#undef TREMULA_VECTOR_COMPARISON

template <class T, unsigned N> inline ShortVector<T, N> operator-(ShortVector<T, N> a) {
  for (unsigned i = 0; i < N; ++i)
    a.elements[i] = -a.elements[i];
  return a;
}
template <class T, unsigned N> inline ShortVector<T, N> operator+(ShortVector<T, N> a) { return a; }
template <class T, unsigned N> inline ShortVector<T, N> operator~(ShortVector<T, N> a) {
  for (unsigned i = 0; i < N; ++i)
    a.elements[i] = static_cast<T>(~a.elements[i]);
  return a;
}

// structured bindings
template <std::size_t I, class T, unsigned N> constexpr const T &get(const ShortVector<T, N> &a) { return a.elements[I]; }
template <std::size_t I, class T, unsigned N> T &get(ShortVector<T, N> &a) { return a.elements[I]; }
template <std::size_t I, class T, unsigned N> T &&get(ShortVector<T, N> &&a) { return static_cast<T &&>(a.elements[I]); }

} // namespace detail
} // namespace poplar

namespace std {
template <class T, unsigned N>
struct tuple_size<poplar::detail::ShortVector<T, N>> : integral_constant<size_t, N> {};
template <size_t I, class T, unsigned N> struct tuple_element<I, poplar::detail::ShortVector<T, N>> {
  using type = T;
};
} // namespace std

#endif
