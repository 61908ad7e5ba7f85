// Small helpers of operators.
#ifndef POPART_UTIL_HPP
#define POPART_UTIL_HPP
#include <popart/names.hpp>
namespace popart {
template <typename C> std::string join(const std::string &between, const C &items) {
  std::ostringstream os;
  bool first = true;
  for (const auto &each : items) {
    os << (first ? "" : between) << each;
    first = false;
  }
  return os.str();
}
template <typename To, typename From> std::vector<To> vector_cast(const std::vector<From> &from) {
  return std::vector<To>(from.begin(), from.end());
}
template <typename To, typename From> std::vector<To> vXtoY(const std::vector<From> &from) {
  return vector_cast<To>(from);
}
} // namespace popart
#endif
