// The kinds of pooling.
#ifndef POPNN_POOLINGDEF_HPP
#define POPNN_POOLINGDEF_HPP

#include <poplar/detail/Library.hpp>

namespace popnn {

enum class PoolingType { MAX, AVG, SUM };
inline poplar::detail::Value remoteValue(PoolingType value) {
  static const char *const names[] = {"MAX", "AVG", "SUM"};
  return poplar::detail::enumeration("popnn", "PoolingType",
                                     names[static_cast<int>(value)]);
}

} // namespace popnn

#endif
