// Orders of sorted elements.
#ifndef POPOPS_SORTORDER_HPP
#define POPOPS_SORTORDER_HPP

#include <poplar/detail/Library.hpp>

namespace popops {

enum class SortOrder { NONE, ASCENDING, DESCENDING };
inline poplar::detail::Value remoteValue(SortOrder value) {
  static const char *const names[] = {"NONE", "ASCENDING", "DESCENDING"};
  return poplar::detail::enumeration("popops", "SortOrder",
                                     names[static_cast<int>(value)]);
}

inline std::ostream &operator<<(std::ostream &os, SortOrder order) {
  return os << (order == SortOrder::NONE ? "none"
                                         : order == SortOrder::ASCENDING ? "ascending" : "descending");
}

} // namespace popops

#endif
