// The operations of reductions.
#ifndef POPOPS_OPERATION_HPP
#define POPOPS_OPERATION_HPP

#include <popops/OperationDef.hpp>

namespace popops {

inline std::ostream &operator<<(std::ostream &os, Operation op) {
  static const char *const names[] = {"ADD", "MUL", "MIN", "MAX",
                                      "LOGICAL_AND", "LOGICAL_OR", "SQUARE_ADD", "LOG_ADD"};
  return os << names[static_cast<int>(op)];
}

} // namespace popops

#endif
