// Splits of work, indices of shapes, copies of tensors.
#ifndef POPUTIL_UTIL_HPP
#define POPUTIL_UTIL_HPP

#include <climits>
#include <poplar/Graph.hpp>
#include <poplar/TensorCloneMethod.hpp>
#include <poplar/detail/Library.hpp>
#include <poputil/exceptions.hpp>

namespace poputil {

namespace detail {

inline std::size_t quotient(std::size_t a, std::size_t b) { return (a + b - 1) / b; }
inline std::size_t elementsOf(const poplar::Interval &region) { return region.size(); }
inline std::size_t elementsOf(const std::vector<poplar::Interval> &regions) {
  std::size_t total = 0;
  for (const poplar::Interval &each : regions)
    total += each.size();
  return total;
}

// `count` elements of a region from the element `begin` on.
inline poplar::Interval part(const poplar::Interval &region, std::size_t begin,
                             std::size_t count) {
  return {region.begin() + begin, region.begin() + begin + count};
}
inline std::vector<poplar::Interval> part(const std::vector<poplar::Interval> &regions,
                                          std::size_t begin, std::size_t count) {
  std::vector<poplar::Interval> made;
  for (const poplar::Interval &each : regions) {
    const std::size_t skipped = std::min<std::size_t>(begin, each.size());
    const std::size_t taken = std::min<std::size_t>(count, each.size() - skipped);
    if (taken)
      made.push_back(part(each, skipped, taken));
    begin -= skipped;
    count -= taken;
  }
  return made;
}

// Balanced parts of whole grains: as few as the largest of them allows.
template <typename Region>
std::vector<std::vector<Region>> balanced(const std::vector<Region> &regions, std::size_t grain,
                                          std::size_t most, std::size_t smallest,
                                          std::size_t largest, std::size_t longest) {
  std::size_t total = 0;
  for (const Region &each : regions)
    total += elementsOf(each);
  std::vector<std::vector<Region>> parts;
  if (!total)
    return parts;
  const std::size_t grains = quotient(total, grain);
  std::size_t each = std::min(quotient(grains, most), std::max<std::size_t>(largest / grain, 1));
  if (smallest) {
    const std::size_t fewest = quotient(smallest, grain);
    each = std::max(each, quotient(grains, std::max<std::size_t>(grains / fewest, 1)));
  }
  parts.resize(quotient(grains, each));
  const std::size_t piece = std::max<std::size_t>(longest / grain, 1) * grain;
  std::size_t number = 0, used = 0;
  for (std::size_t place = 0; place < parts.size(); ++place) {
    const std::size_t begin = place * grains / parts.size() * grain;
    const std::size_t end = std::min(total, (place + 1) * grains / parts.size() * grain);
    for (std::size_t left = end - begin; left;) {
      while (used == elementsOf(regions[number])) {
        ++number;
        used = 0;
      }
      const std::size_t taken = std::min({left, piece, elementsOf(regions[number]) - used});
      parts[place].push_back(part(regions[number], used, taken));
      used += taken;
      left -= taken;
    }
  }
  return parts;
}

} // namespace detail

typedef std::vector<std::vector<poplar::Interval>> IntervalLists;

// Parts of regions: at most `maxPartitions` of them, balanced, of whole grains.
inline IntervalLists splitRegions(const std::vector<poplar::Interval> &regions,
                                  unsigned grainSize, unsigned maxPartitions,
                                  unsigned minElementsPerPartition = 0,
                                  unsigned maxElementsPerPartition = UINT_MAX,
                                  unsigned maxElementsPerRegion = UINT_MAX) {
  return detail::balanced(regions, grainSize, maxPartitions, minElementsPerPartition,
                          maxElementsPerPartition, maxElementsPerRegion);
}
inline std::vector<IntervalLists> splitRegions(const IntervalLists &regions, unsigned grainSize,
                                               unsigned maxPartitions,
                                               unsigned minElementsPerPartition = 0,
                                               unsigned maxElementsPerPartition = UINT_MAX,
                                               unsigned maxElementsPerRegion = UINT_MAX) {
  return detail::balanced(regions, grainSize, maxPartitions, minElementsPerPartition,
                          maxElementsPerPartition, maxElementsPerRegion);
}
// The same for the workers of a tile.
template <typename Region>
std::vector<std::vector<Region>>
splitRegionsBetweenWorkers(const poplar::Target &target, const std::vector<Region> &regions,
                           unsigned grainSize, unsigned minElementsPerPartition = 0,
                           unsigned maxElementsPerPartition = UINT_MAX,
                           unsigned maxElementsPerRegion = UINT_MAX) {
  return splitRegions(regions, grainSize, target.getNumWorkerContexts(),
                      minElementsPerPartition, maxElementsPerPartition, maxElementsPerRegion);
}

// Joins regions that touch or overlap, sorted.
inline void mergeAdjacentRegions(std::vector<poplar::Interval> &regions) {
  std::sort(regions.begin(), regions.end());
  std::vector<poplar::Interval> made;
  for (const poplar::Interval &each : regions) {
    if (!each.size())
      continue;
    if (!made.empty() && each.begin() <= made.back().end())
      made.back() = {made.back().begin(), std::max(made.back().end(), each.end())};
    else
      made.push_back(each);
  }
  regions = std::move(made);
}
inline void mergeAdjacentRegions(IntervalLists &mapping) {
  for (std::vector<poplar::Interval> &each : mapping)
    mergeAdjacentRegions(each);
}
inline std::vector<poplar::Interval> flattenIntervals(const IntervalLists &intervals) {
  std::vector<poplar::Interval> made;
  for (const std::vector<poplar::Interval> &each : intervals)
    made.insert(made.end(), each.begin(), each.end());
  return made;
}
inline std::size_t intervalSequenceNumElements(const IntervalLists &intervals) {
  return detail::elementsOf(flattenIntervals(intervals));
}

// The indices of an element of a shape by its number, and back.
template <class T> std::vector<T> unflattenIndex(const std::vector<T> &shape, std::size_t index) {
  std::vector<T> made(shape.size());
  for (std::size_t place = shape.size(); place-- > 0; index /= shape[place])
    made[place] = static_cast<T>(index % shape[place]);
  return made;
}
template <class T>
std::size_t flattenIndex(const std::vector<T> &shape, const std::vector<T> &indices) {
  std::size_t made = 0;
  for (std::size_t place = 0; place < shape.size(); ++place)
    made = made * shape[place] + indices[place];
  return made;
}

// Sizes of `splitCount` parts of a range that differ by at most one.
inline std::vector<int> balancedPartition(int rangeUpperBound, int splitCount) {
  std::vector<int> made;
  for (int place = 0; place < splitCount; ++place)
    made.push_back((place + 1) * rangeUpperBound / splitCount -
                   place * rangeUpperBound / splitCount);
  return made;
}

// A copy of a tensor on the same tiles.
inline poplar::Tensor
duplicate(poplar::Graph &graph, const poplar::Tensor &in, poplar::program::Sequence &prog,
          const poplar::DebugContext &debugContext = {},
          poplar::TensorCloneMethod method =
              poplar::TensorCloneMethod::PRESERVE_ORDER_UNLESS_ALIASES) {
  poplar::Tensor made = graph.clone(in, debugContext, method);
  prog.add(poplar::program::Copy(in, made, false, debugContext));
  return made;
}
// Several new tensors like one, along a new first dimension.
inline poplar::Tensor
cloneN(poplar::Graph &graph, const poplar::Tensor &t, unsigned N,
       const poplar::DebugContext &debugContext = {},
       poplar::TensorCloneMethod method =
           poplar::TensorCloneMethod::PRESERVE_ORDER_UNLESS_ALIASES) {
  std::vector<poplar::Tensor> made;
  for (unsigned number = 0; number < N; ++number)
    made.push_back(graph.clone(t, debugContext, method).expand({0}));
  return poplar::concat(made);
}

// Each of some dimensions as two: its quotient by a factor comes to the front.
inline poplar::Tensor factorDims(const poplar::Tensor &t, const std::vector<std::size_t> &factors,
                                 unsigned startDim = 0) {
  std::vector<std::size_t> shape = t.shape();
  std::vector<std::size_t> split(shape.begin(), shape.begin() + startDim);
  std::vector<unsigned> from, to;
  for (std::size_t place = 0; place < factors.size(); ++place) {
    split.push_back(shape[startDim + place] / factors[place]);
    split.push_back(factors[place]);
    from.push_back(static_cast<unsigned>(startDim + 2 * place));
    to.push_back(static_cast<unsigned>(startDim + place));
  }
  split.insert(split.end(), shape.begin() + startDim + factors.size(), shape.end());
  return t.reshape(split).dimShufflePartial(from, to);
}
// The same backwards.
inline poplar::Tensor unfactorDims(const poplar::Tensor &t, unsigned numDims,
                                   unsigned startDim = 0) {
  std::vector<unsigned> from, to;
  for (unsigned place = 0; place < numDims; ++place) {
    from.push_back(startDim + place);
    to.push_back(startDim + 2 * place);
  }
  const poplar::Tensor turned = t.dimShufflePartial(from, to);
  const std::vector<std::size_t> split = turned.shape();
  std::vector<std::size_t> shape(split.begin(), split.begin() + startDim);
  for (unsigned place = 0; place < numDims; ++place)
    shape.push_back(split[startDim + 2 * place] * split[startDim + 2 * place + 1]);
  shape.insert(shape.end(), split.begin() + startDim + 2 * numDims, split.end());
  return turned.reshape(shape);
}

} // namespace poputil

#endif
