// The types of elements.
#ifndef POPLAR_TYPE_HPP
#define POPLAR_TYPE_HPP

#include <poplar/StringRef.hpp>
#include <poplar/TypeTraits.hpp>
#include <poplar/detail/Prelude.hpp>

namespace poplar {

class Type {
public:
  constexpr Type() : number_(255) {}
  constexpr explicit Type(unsigned char number) : number_(number) {}

  std::string toString() const;
  // The place in the table that both processes have.
  constexpr unsigned number() const { return number_; }
  constexpr bool operator==(const Type &other) const {
    return number_ == other.number_;
  }
  constexpr bool operator!=(const Type &other) const {
    return number_ != other.number_;
  }
  constexpr bool operator<(const Type &other) const {
    return number_ < other.number_;
  }
  bool isIntegral() const;
  bool isFloatingPoint() const;

private:
  unsigned char number_;
};

// Not constant: public programs pass them as `Type &`.
extern Type BOOL;
extern Type CHAR;
extern Type SIGNED_CHAR;
extern Type UNSIGNED_CHAR;
extern Type SHORT;
extern Type UNSIGNED_SHORT;
extern Type INT;
extern Type UNSIGNED_INT;
extern Type LONG;
extern Type UNSIGNED_LONG;
extern Type LONGLONG;
extern Type UNSIGNED_LONGLONG;
extern Type HALF;
extern Type FLOAT;

std::ostream &operator<<(std::ostream &os, const Type &type);

namespace detail {
// Bytes of an element on the device.
std::size_t deviceSize(const Type &type);
template <typename T> struct DeviceType;
#define POPLAR_DETAIL_DEVICE_TYPE(CPP, NUMBER)                                 \
  template <> struct DeviceType<CPP> {                                         \
    static constexpr unsigned char number = NUMBER;                            \
  };
POPLAR_DETAIL_DEVICE_TYPE(bool, 0)
POPLAR_DETAIL_DEVICE_TYPE(char, 1)
POPLAR_DETAIL_DEVICE_TYPE(signed char, 2)
POPLAR_DETAIL_DEVICE_TYPE(unsigned char, 3)
POPLAR_DETAIL_DEVICE_TYPE(short, 4)
POPLAR_DETAIL_DEVICE_TYPE(unsigned short, 5)
POPLAR_DETAIL_DEVICE_TYPE(int, 6)
POPLAR_DETAIL_DEVICE_TYPE(unsigned int, 7)
POPLAR_DETAIL_DEVICE_TYPE(long, 8)
POPLAR_DETAIL_DEVICE_TYPE(unsigned long, 9)
POPLAR_DETAIL_DEVICE_TYPE(long long, 10)
POPLAR_DETAIL_DEVICE_TYPE(unsigned long long, 11)
POPLAR_DETAIL_DEVICE_TYPE(float, 13)
#undef POPLAR_DETAIL_DEVICE_TYPE
} // namespace detail

template <typename T> struct equivalent_device_type {
  Type value{detail::DeviceType<T>::number};
};

} // namespace poplar

namespace std {
template <> struct hash<poplar::Type> {
  size_t operator()(const poplar::Type &type) const { return type.number(); }
};
} // namespace std

#endif
