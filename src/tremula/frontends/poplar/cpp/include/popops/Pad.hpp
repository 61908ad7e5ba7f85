// Padding: with a value, with the outermost elements, or mirrored.
#ifndef POPOPS_PAD_HPP
#define POPOPS_PAD_HPP

#include <poplar/detail/Library.hpp>

namespace popops {

namespace padding {

enum class Type { EDGE, REFLECT };
inline poplar::detail::Value remoteValue(Type value) {
  static const char *const names[] = {"EDGE", "REFLECT"};
  return poplar::detail::enumeration("popops.padding", "Type",
                                     names[static_cast<int>(value)]);
}
enum class MappingMethod { NONE, ZERO, EDGE };
inline poplar::detail::Value remoteValue(MappingMethod value) {
  static const char *const names[] = {"NONE", "ZERO", "EDGE"};
  return poplar::detail::enumeration("popops.padding", "MappingMethod",
                                     names[static_cast<int>(value)]);
}

} // namespace padding

inline poplar::Tensor pad(
    poplar::Graph &graph, const poplar::Tensor &t, const std::vector<std::ptrdiff_t> &paddingLower,
    const std::vector<std::ptrdiff_t> &paddingUpper, float val = 0.0f,
    padding::MappingMethod mappingMethod = padding::MappingMethod::ZERO) {
  return poplar::detail::call(
      "popops", "pad", graph, t, paddingLower, paddingUpper, val, mappingMethod).tensor();
}

inline poplar::Tensor pad(
    poplar::Graph &graph, const poplar::Tensor &t, const std::vector<std::ptrdiff_t> &paddingLower,
    const std::vector<std::ptrdiff_t> &paddingUpper, int val,
    padding::MappingMethod mappingMethod = padding::MappingMethod::ZERO) {
  return poplar::detail::call(
      "popops", "pad", graph, t, paddingLower, paddingUpper, val, mappingMethod).tensor();
}

inline poplar::Tensor pad(
    poplar::Graph &graph, const poplar::Tensor &t, const std::vector<std::ptrdiff_t> &paddingLower,
    const std::vector<std::ptrdiff_t> &paddingUpper, const poplar::Tensor &val,
    padding::MappingMethod mappingMethod = padding::MappingMethod::ZERO) {
  return poplar::detail::call(
      "popops", "pad", graph, t, paddingLower, paddingUpper, val, mappingMethod).tensor();
}

inline poplar::Tensor pad(
    poplar::Graph &graph, const poplar::Tensor &t, std::ptrdiff_t paddingLower,
    std::ptrdiff_t paddingUpper, unsigned dim, float val = 0.0f,
    padding::MappingMethod mappingMethod = padding::MappingMethod::ZERO) {
  return poplar::detail::call(
      "popops", "pad", graph, t, paddingLower, paddingUpper, dim, val, mappingMethod).tensor();
}

inline poplar::Tensor pad(
    poplar::Graph &graph, const poplar::Tensor &t, std::ptrdiff_t paddingLower,
    std::ptrdiff_t paddingUpper, unsigned dim, int val,
    padding::MappingMethod mappingMethod = padding::MappingMethod::ZERO) {
  return poplar::detail::call(
      "popops", "pad", graph, t, paddingLower, paddingUpper, dim, val, mappingMethod).tensor();
}

inline poplar::Tensor pad(
    poplar::Graph &graph, const poplar::Tensor &t, std::ptrdiff_t paddingLower,
    std::ptrdiff_t paddingUpper, unsigned dim, const poplar::Tensor &val,
    padding::MappingMethod mappingMethod = padding::MappingMethod::ZERO) {
  return poplar::detail::call(
      "popops", "pad", graph, t, paddingLower, paddingUpper, dim, val, mappingMethod).tensor();
}

inline poplar::Tensor pad(
    const poplar::Tensor &t, const std::vector<std::ptrdiff_t> &paddingLower,
    const std::vector<std::ptrdiff_t> &paddingUpper, padding::Type type) {
  return poplar::detail::call("popops", "pad", t, paddingLower, paddingUpper, type).tensor();
}

inline poplar::Tensor pad(
    const poplar::Tensor &t, std::ptrdiff_t paddingLower, std::ptrdiff_t paddingUpper, unsigned dim,
    padding::Type type) {
  return poplar::detail::call("popops", "pad", t, paddingLower, paddingUpper, dim, type).tensor();
}

} // namespace popops

#endif
