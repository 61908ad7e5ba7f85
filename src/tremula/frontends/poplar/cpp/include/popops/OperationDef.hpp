// The operations of reductions.
#ifndef POPOPS_OPERATIONDEF_HPP
#define POPOPS_OPERATIONDEF_HPP

#include <poplar/detail/Library.hpp>

namespace popops {

enum class Operation { ADD, MUL, MIN, MAX, LOGICAL_AND, LOGICAL_OR, SQUARE_ADD, LOG_ADD };
inline poplar::detail::Value remoteValue(Operation value) {
  static const char *const names[] = {
      "ADD", "MUL", "MIN", "MAX", "LOGICAL_AND", "LOGICAL_OR", "SQUARE_ADD", "LOG_ADD"};
  return poplar::detail::enumeration("popops", "Operation",
                                     names[static_cast<int>(value)]);
}

} // namespace popops

#endif
