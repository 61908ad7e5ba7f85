// Which C++ types the values of graphs may be given in.
#ifndef POPLAR_TYPE_TRAITS_HPP
#define POPLAR_TYPE_TRAITS_HPP

#include <poplar/detail/Prelude.hpp>

namespace poplar {

struct TypeTraits {
  template <typename T> static constexpr bool isSimpleType() {
    return std::is_arithmetic<T>::value;
  }
};

} // namespace poplar

#endif
