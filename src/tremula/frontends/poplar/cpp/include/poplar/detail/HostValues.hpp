// Values of the host's types, as bytes with a name for their type.
#ifndef POPLAR_DETAIL_HOST_VALUES_HPP
#define POPLAR_DETAIL_HOST_VALUES_HPP

#include <poplar/ArrayRef.hpp>
#include <poplar/detail/Prelude.hpp>

namespace poplar {
namespace detail {

// The name that NumPy has for a type: a letter. 'V': bytes of a type of the program's own.
template <typename T, bool = std::is_integral<T>::value> struct Letter {
  static constexpr char value = sizeof(T) == 8   ? (std::is_signed<T>::value ? 'q' : 'Q')
                                : sizeof(T) == 4 ? (std::is_signed<T>::value ? 'i' : 'I')
                                : sizeof(T) == 2 ? (std::is_signed<T>::value ? 'h' : 'H')
                                : std::is_signed<T>::value ? 'b'
                                                           : 'B';
};
template <> struct Letter<bool, true> { static constexpr char value = '?'; };
template <> struct Letter<float, false> { static constexpr char value = 'f'; };
template <> struct Letter<double, false> { static constexpr char value = 'd'; };
template <> struct Letter<long double, false> { static constexpr char value = 'd'; };
template <typename T> struct Letter<T, false> { static constexpr char value = 'V'; };

struct HostValues {
  std::vector<char> bytes;
  std::size_t count = 0;
  std::size_t size = 0;
  char letter = 'b';
  // One value, which stands for all elements.
  bool scalar = false;
};

template <typename T>
HostValues hostValues(const T *values, std::size_t count, bool scalar) {
  HostValues made;
  made.count = count;
  made.size = sizeof(T);
  made.letter = Letter<T>::value;
  made.scalar = scalar;
  made.bytes.resize(count * sizeof(T));
  if (count)
    std::memcpy(made.bytes.data(), static_cast<const void *>(values), count * sizeof(T));
  return made;
}
inline HostValues hostValues(const long double *values, std::size_t count, bool scalar) {
  std::vector<double> plain(values, values + count);
  return hostValues(plain.data(), count, scalar);
}
template <typename T> HostValues hostValues(const std::vector<T> &values) {
  return hostValues(values.data(), values.size(), false);
}
inline HostValues hostValues(const std::vector<bool> &values) {
  std::vector<char> plain(values.begin(), values.end());
  HostValues made = hostValues(plain.data(), plain.size(), false);
  made.letter = '?';
  return made;
}

template <typename T> HostValues anyValue(const T &value) {
  static_assert(std::is_trivially_copyable<T>::value && !std::is_pointer<T>::value,
                "the value of a field is copied to the device as bytes: its type must be trivially copyable");
  return hostValues(&value, 1, true);
}

inline std::size_t elementsOf(ArrayRef<std::size_t> shape) {
  std::size_t count = 1;
  for (std::size_t length : shape)
    count *= length;
  return count;
}

} // namespace detail
} // namespace poplar

#endif
