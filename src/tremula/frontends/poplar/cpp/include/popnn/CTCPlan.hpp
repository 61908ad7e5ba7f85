// How a loss of sequences is spread over the tiles. The chip model plans by itself.
#ifndef POPNN_CTCPLAN_HPP
#define POPNN_CTCPLAN_HPP

#include <poplar/detail/Library.hpp>

namespace popnn {
namespace ctc {

class Plan {
public:
  bool operator==(const Plan &) const { return true; }
  bool operator!=(const Plan &) const { return false; }
  bool operator<(const Plan &) const { return false; }
};
inline std::ostream &operator<<(std::ostream &os, const Plan &) { return os << "Plan"; }
inline poplar::detail::Value remoteValue(const Plan &) {
  return poplar::detail::object("popnn.ctc", "Plan");
}

} // namespace ctc
} // namespace popnn

#endif
