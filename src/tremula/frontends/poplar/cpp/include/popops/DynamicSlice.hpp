// Slices and updates at offsets that are known when the program runs.
#ifndef POPOPS_DYNAMICSLICE_HPP
#define POPOPS_DYNAMICSLICE_HPP

#include <poplar/detail/Library.hpp>

namespace popops {

// How a gather or an update is spread over the tiles. The chip model plans by itself.
class SlicePlan {
public:
  SlicePlan() = default;
  explicit SlicePlan(std::shared_ptr<poplar::detail::RemoteObject> object)
      : object_(std::move(object)) {}
  bool operator==(const SlicePlan &) const { return true; }
  bool operator!=(const SlicePlan &) const { return false; }
  bool operator<(const SlicePlan &) const { return false; }
  const std::shared_ptr<poplar::detail::RemoteObject> &object() const { return object_; }

private:
  std::shared_ptr<poplar::detail::RemoteObject> object_;
};

inline std::ostream &operator<<(std::ostream &os, const SlicePlan &) { return os << "SlicePlan"; }
inline poplar::detail::Value remoteValue(const SlicePlan &plan) {
  return plan.object() ? poplar::detail::value(plan.object())
                       : poplar::detail::object("popops", "SlicePlan");
}

inline poplar::Tensor createSliceableTensor(
    poplar::Graph &graph, const poplar::Type &type, const std::vector<std::size_t> &shape,
    const std::vector<std::size_t> &dims, const std::vector<std::size_t> &sizes,
    std::size_t minGrainSize = 0, const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call(
      "popops", "createSliceableTensor", graph, type, shape, dims, sizes, minGrainSize,
      debugContext).tensor();
}

inline poplar::Tensor createSliceableTensor(
    poplar::Graph &graph, const poplar::Type &type, const std::vector<std::size_t> &shape,
    const std::vector<std::size_t> &dims, const std::vector<std::size_t> &sizes,
    const SlicePlan &plan, const poplar::OptionFlags &options,
    const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call(
      "popops", "createSliceableTensor", graph, type, shape, dims, sizes, plan, options,
      debugContext).tensor();
}

inline poplar::Tensor createGroupedSliceableTensor(
    poplar::Graph &graph, const poplar::Type &type, const std::size_t groupSize,
    const std::vector<std::size_t> &shape, const std::vector<std::size_t> &dims,
    const std::vector<std::size_t> &sizes, const SlicePlan &plan,
    const poplar::OptionFlags &options, const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call(
      "popops", "createGroupedSliceableTensor", graph, type, groupSize, shape, dims, sizes, plan,
      options, debugContext).tensor();
}

inline poplar::Tensor createSliceTensor(
    poplar::Graph &graph, const poplar::Tensor &t, const std::vector<std::size_t> &dims,
    const std::vector<std::size_t> &sizes, std::size_t numIndices,
    const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call(
      "popops", "createSliceTensor", graph, t, dims, sizes, numIndices, debugContext).tensor();
}

inline poplar::Tensor createSliceTensor(
    poplar::Graph &graph, const poplar::Type &type, const std::vector<std::size_t> &shape,
    const std::vector<std::size_t> &dims, const std::vector<std::size_t> &sizes,
    std::size_t numIndices, const SlicePlan &plan, const poplar::OptionFlags &options,
    const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call(
      "popops", "createSliceTensor", graph, type, shape, dims, sizes, numIndices, plan, options,
      debugContext).tensor();
}

inline poplar::Tensor createGroupedSliceTensor(
    poplar::Graph &graph, const poplar::Type &type, const std::size_t groupSize,
    const std::vector<std::size_t> &shape, const std::vector<std::size_t> &dims,
    const std::vector<std::size_t> &sizes, const std::size_t numIndices, const SlicePlan &plan,
    const poplar::OptionFlags &options, const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call(
      "popops", "createGroupedSliceTensor", graph, type, groupSize, shape, dims, sizes, numIndices,
      plan, options, debugContext).tensor();
}

inline poplar::Tensor createIndicesTensor(
    poplar::Graph &graph, const std::vector<std::size_t> &dims, std::size_t numIndices,
    const SlicePlan &plan, const poplar::OptionFlags &options,
    const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call(
      "popops", "createIndicesTensor", graph, dims, numIndices, plan, options,
      debugContext).tensor();
}

inline poplar::Tensor createGroupedIndicesTensor(
    poplar::Graph &graph, const std::size_t groupSize, const std::vector<std::size_t> &dims,
    const std::size_t numIndices, const SlicePlan &plan, const poplar::OptionFlags &options,
    const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call(
      "popops", "createGroupedIndicesTensor", graph, groupSize, dims, numIndices, plan, options,
      debugContext).tensor();
}

inline poplar::Tensor createSliceableTensorFromSlice(
    poplar::Graph &graph, const poplar::Tensor &s, const std::vector<std::size_t> &dims,
    const std::vector<std::size_t> &numSlices, const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call(
      "popops", "createSliceableTensorFromSlice", graph, s, dims, numSlices, debugContext).tensor();
}

inline poplar::Tensor dynamicSlice(
    poplar::Graph &graph, const poplar::Tensor &t, const poplar::Tensor &offset,
    const std::vector<std::size_t> &dims, const std::vector<std::size_t> &sizes,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}) {
  return poplar::detail::call(
      "popops", "dynamicSlice", graph, t, offset, dims, sizes, prog, debugContext,
      options).tensor();
}

inline poplar::Tensor createDynamicSliceOutput(
    poplar::Graph &graph, const poplar::Tensor &t, const poplar::Tensor &offset,
    const std::vector<std::size_t> &dims, const std::vector<std::size_t> &sizes,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {
  return poplar::detail::call(
      "popops", "createDynamicSliceOutput", graph, t, offset, dims, sizes, debugContext,
      options).tensor();
}

inline void dynamicSliceWithOutput(
    poplar::Graph &graph, const poplar::Tensor &output, const poplar::Tensor &t,
    const poplar::Tensor &offset, const std::vector<std::size_t> &dims,
    const std::vector<std::size_t> &sizes, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {
  poplar::detail::call(
      "popops", "dynamicSliceWithOutput", graph, output, t, offset, dims, sizes, prog, debugContext,
      options);
}

inline void dynamicUpdate(
    poplar::Graph &graph, const poplar::Tensor &t, const poplar::Tensor &s,
    const poplar::Tensor &offset, const std::vector<std::size_t> &dims,
    const std::vector<std::size_t> &sizes, poplar::program::Sequence &prog,
    const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {
  poplar::detail::call(
      "popops", "dynamicUpdate", graph, t, s, offset, dims, sizes, prog, debugContext, options);
}

inline poplar::Tensor multiSlice(
    poplar::Graph &graph, const poplar::Tensor &t, const poplar::Tensor &offsets,
    const std::vector<std::size_t> &dims, const std::vector<std::size_t> &sizes,
    poplar::program::Sequence &prog, const SlicePlan &plan, const poplar::OptionFlags &options,
    const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call(
      "popops", "multiSlice", graph, t, offsets, dims, sizes, prog, plan, options,
      debugContext).tensor();
}

inline poplar::Tensor groupedMultiSlice(
    poplar::Graph &graph, const poplar::Tensor &t, const poplar::Tensor &offsets,
    const std::vector<std::size_t> &dims, const std::vector<std::size_t> &sizes,
    poplar::program::Sequence &prog, const SlicePlan &plan, const poplar::OptionFlags &options,
    const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call(
      "popops", "groupedMultiSlice", graph, t, offsets, dims, sizes, prog, plan, options,
      debugContext).tensor();
}

inline poplar::Tensor multiSlice(
    poplar::Graph &graph, const poplar::Tensor &t, poplar::ArrayRef<unsigned> offsets,
    std::size_t dim, poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}) {
  return poplar::detail::call(
      "popops", "multiSlice", graph, t, offsets, dim, prog, debugContext, options).tensor();
}

inline void multiUpdate(
    poplar::Graph &graph, const poplar::Tensor &t, const poplar::Tensor &s,
    const poplar::Tensor &offsets, const std::vector<std::size_t> &dims,
    const std::vector<std::size_t> &sizes, poplar::program::Sequence &prog, const SlicePlan &plan,
    const poplar::OptionFlags &options, const poplar::DebugContext &debugContext = {}) {
  poplar::detail::call(
      "popops", "multiUpdate", graph, t, s, offsets, dims, sizes, prog, plan, options,
      debugContext);
}

inline void groupedMultiUpdate(
    poplar::Graph &graph, const poplar::Tensor &t, const poplar::Tensor &s,
    const poplar::Tensor &offsets, const std::vector<std::size_t> &dims,
    const std::vector<std::size_t> &sizes, poplar::program::Sequence &prog, const SlicePlan &plan,
    const poplar::OptionFlags &options, const poplar::DebugContext &debugContext = {}) {
  poplar::detail::call(
      "popops", "groupedMultiUpdate", graph, t, s, offsets, dims, sizes, prog, plan, options,
      debugContext);
}

inline void multiUpdateAdd(
    poplar::Graph &graph, const poplar::Tensor &t, const poplar::Tensor &s,
    const poplar::Tensor &offsets, const poplar::Tensor &scale,
    const std::vector<std::size_t> &dims, const std::vector<std::size_t> &sizes,
    poplar::program::Sequence &prog, const SlicePlan &plan, const poplar::OptionFlags &options,
    const poplar::DebugContext &debugContext = {}) {
  poplar::detail::call(
      "popops", "multiUpdateAdd", graph, t, s, offsets, scale, dims, sizes, prog, plan, options,
      debugContext);
}

inline void groupedMultiUpdateAdd(
    poplar::Graph &graph, const poplar::Tensor &t, const poplar::Tensor &s,
    const poplar::Tensor &offsets, const poplar::Tensor &scale,
    const std::vector<std::size_t> &dims, const std::vector<std::size_t> &sizes,
    poplar::program::Sequence &prog, const SlicePlan &plan, const poplar::OptionFlags &options,
    const poplar::DebugContext &debugContext = {}) {
  poplar::detail::call(
      "popops", "groupedMultiUpdateAdd", graph, t, s, offsets, scale, dims, sizes, prog, plan,
      options, debugContext);
}

inline void multiUpdateMax(
    poplar::Graph &graph, const poplar::Tensor &t, const poplar::Tensor &s,
    const poplar::Tensor &offsets, const std::vector<std::size_t> &dims,
    const std::vector<std::size_t> &sizes, poplar::program::Sequence &prog, const SlicePlan &plan,
    const poplar::OptionFlags &options, const poplar::DebugContext &debugContext = {}) {
  poplar::detail::call(
      "popops", "multiUpdateMax", graph, t, s, offsets, dims, sizes, prog, plan, options,
      debugContext);
}

inline void groupedMultiUpdateMax(
    poplar::Graph &graph, const poplar::Tensor &t, const poplar::Tensor &s,
    const poplar::Tensor &offsets, const std::vector<std::size_t> &dims,
    const std::vector<std::size_t> &sizes, poplar::program::Sequence &prog, const SlicePlan &plan,
    const poplar::OptionFlags &options, const poplar::DebugContext &debugContext = {}) {
  poplar::detail::call(
      "popops", "groupedMultiUpdateMax", graph, t, s, offsets, dims, sizes, prog, plan, options,
      debugContext);
}

inline void multiUpdateMul(
    poplar::Graph &graph, const poplar::Tensor &t, const poplar::Tensor &s,
    const poplar::Tensor &offsets, const std::vector<std::size_t> &dims,
    const std::vector<std::size_t> &sizes, poplar::program::Sequence &prog, const SlicePlan &plan,
    const poplar::OptionFlags &options, const poplar::DebugContext &debugContext = {}) {
  poplar::detail::call(
      "popops", "multiUpdateMul", graph, t, s, offsets, dims, sizes, prog, plan, options,
      debugContext);
}

inline void groupedMultiUpdateMul(
    poplar::Graph &graph, const poplar::Tensor &t, const poplar::Tensor &s,
    const poplar::Tensor &offsets, const std::vector<std::size_t> &dims,
    const std::vector<std::size_t> &sizes, poplar::program::Sequence &prog, const SlicePlan &plan,
    const poplar::OptionFlags &options, const poplar::DebugContext &debugContext = {}) {
  poplar::detail::call(
      "popops", "groupedMultiUpdateMul", graph, t, s, offsets, dims, sizes, prog, plan, options,
      debugContext);
}

inline void multiUpdateAdd(
    poplar::Graph &graph, const poplar::Tensor &t, const poplar::Tensor &s,
    poplar::ArrayRef<unsigned> offsets, const poplar::Tensor &scale, std::size_t dim,
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}) {
  poplar::detail::call(
      "popops", "multiUpdateAdd", graph, t, s, offsets, scale, dim, prog, debugContext, options);
}

namespace embedding {

inline SlicePlan plan(
    const poplar::Graph &graph, const poplar::Type &dataType, const std::size_t numEntries,
    const std::size_t outputSize, const std::vector<std::size_t> &numLookups,
    const poplar::OptionFlags &options) {
  return SlicePlan(poplar::detail::call("popops.embedding", "plan", graph, dataType,
                                        numEntries, outputSize, numLookups, options)
                       .object());
}

inline SlicePlan plan(
    const poplar::Graph &graph, const poplar::Type &dataType, const std::size_t groupSize,
    const std::size_t numEntries, const std::size_t outputSize,
    const std::vector<std::size_t> &numLookups, const poplar::OptionFlags &options) {
  return SlicePlan(poplar::detail::call("popops.embedding", "plan", graph, dataType,
                                        groupSize, numEntries, outputSize, numLookups, options)
                       .object());
}

} // namespace embedding

} // namespace popops

#endif
