// What is made of the values of all replicas.
#ifndef GCL_COLLECTIVEOPERATOR_HPP
#define GCL_COLLECTIVEOPERATOR_HPP

#include <poplar/detail/Library.hpp>

namespace gcl {

enum class CollectiveOperator { 
    ADD, MEAN, MUL, MIN, MAX, LOGICAL_AND, LOGICAL_OR, SQUARE_ADD, LOCAL };
inline poplar::detail::Value remoteValue(CollectiveOperator value) {
  static const char *const names[] = {
      "ADD", "MEAN", "MUL", "MIN", "MAX", "LOGICAL_AND", "LOGICAL_OR", "SQUARE_ADD", "LOCAL"};
  return poplar::detail::enumeration("gcl", "CollectiveOperator",
                                     names[static_cast<int>(value)]);
}

} // namespace gcl

#endif
