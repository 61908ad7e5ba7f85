// Tensors on tiles: evenly in their order, like others, on other IPUs.
#ifndef POPUTIL_TILEMAPPING_HPP
#define POPUTIL_TILEMAPPING_HPP

#include <poputil/Util.hpp>

namespace poputil {

typedef poplar::Graph::TileToTensorMapping LinearMapping;

// The intervals of each tile of a tensor that is spread evenly, from tile `offset` on.
inline LinearMapping calcLinearTileMapping(const poplar::Target &target,
                                           std::vector<std::size_t> shape,
                                           unsigned minElementsPerTile, unsigned grainSize,
                                           unsigned offset = 0, bool ascendingOrder = true) {
  const unsigned tiles = target.getNumTiles();
  if (!tiles)
    throw poplibs_error("calcLinearTileMapping: the target has no tiles");
  std::size_t elements = 1;
  for (std::size_t length : shape)
    elements *= length;
  LinearMapping parts =
      splitRegions({poplar::Interval(0, elements)}, grainSize, tiles, minElementsPerTile);
  if (!offset && ascendingOrder)
    return parts;
  LinearMapping made(tiles);
  for (unsigned place = 0; place < parts.size(); ++place) {
    const unsigned turned = (place + offset) % tiles;
    made[ascendingOrder ? turned : tiles - 1 - turned] = std::move(parts[place]);
  }
  return made;
}
inline LinearMapping calcLinearTileMapping(const poplar::Target &target,
                                           const std::vector<std::size_t> shape,
                                           poplar::Type elementType, unsigned offset = 0,
                                           bool ascendingOrder = true) {
  const std::size_t size = target.getTypeSize(elementType), smallestBytes = 128;
  return calcLinearTileMapping(target, shape,
                               static_cast<unsigned>((smallestBytes + size - 1) / size),
                               target.getVectorWidth(elementType), offset, ascendingOrder);
}
inline LinearMapping calcLinearTileMapping(const poplar::Graph &graph,
                                           std::vector<std::size_t> shape,
                                           unsigned minElementsPerTile, unsigned grainSize,
                                           unsigned offset = 0, bool ascendingOrder = true) {
  return calcLinearTileMapping(graph.getTarget(), std::move(shape), minElementsPerTile,
                               grainSize, offset, ascendingOrder);
}
inline LinearMapping calcLinearTileMapping(const poplar::Graph &graph, const poplar::Tensor &t,
                                           unsigned offset = 0, bool ascendingOrder = true) {
  return calcLinearTileMapping(graph.getTarget(), t.shape(), t.elementType(), offset,
                               ascendingOrder);
}
// The same, and the tile after the last one.
inline std::pair<LinearMapping, unsigned>
calcLinearTileMappingAndNewOffset(const poplar::Graph &graph, const poplar::Tensor &t,
                                  unsigned offset = 0) {
  const unsigned used = static_cast<unsigned>(calcLinearTileMapping(graph, t).size());
  LinearMapping made = calcLinearTileMapping(graph, t, offset);
  made.resize(graph.getTarget().getNumTiles());
  return {std::move(made), (offset + used) % graph.getTarget().getNumTiles()};
}

inline void mapTensorLinearlyWithOffset(poplar::Graph &graph, const poplar::Tensor &t,
                                        unsigned minElementsPerTile, unsigned grainSize,
                                        unsigned offset, bool ascendingOrder = true) {
  graph.setTileMapping(t, calcLinearTileMapping(graph, t.shape(), minElementsPerTile, grainSize,
                                                offset, ascendingOrder));
}
inline void mapTensorLinearlyWithOffset(poplar::Graph &graph, const poplar::Tensor &t,
                                        unsigned offset = 0, bool ascendingOrder = true) {
  graph.setTileMapping(t, calcLinearTileMapping(graph, t, offset, ascendingOrder));
}
inline void mapTensorLinearly(poplar::Graph &graph, const poplar::Tensor &t,
                              unsigned minElementsPerTile, unsigned grainSize) {
  mapTensorLinearlyWithOffset(graph, t, minElementsPerTile, grainSize, 0);
}
inline void mapTensorLinearly(poplar::Graph &graph, const poplar::Tensor &t) {
  mapTensorLinearlyWithOffset(graph, t);
}

// How many elements the fullest tile has more than in an even mapping.
inline unsigned getTileImbalance(const LinearMapping &mapping, unsigned minElementsPerTile = 0,
                                 unsigned grainSize = 1) {
  std::size_t most = 0, total = 0;
  for (const std::vector<poplar::Interval> &each : mapping) {
    const std::size_t here = detail::elementsOf(each);
    most = std::max(most, here);
    total += here;
  }
  const std::size_t even =
      std::max({mapping.empty() ? 0 : detail::quotient(total, mapping.size()),
                static_cast<std::size_t>(minElementsPerTile),
                static_cast<std::size_t>(grainSize)});
  return static_cast<unsigned>(most > even ? most - even : 0);
}
inline unsigned getTileImbalance(const poplar::Graph &graph, const poplar::Tensor &t,
                                 unsigned minElementsPerTile = 0, unsigned grainSize = 1) {
  return getTileImbalance(graph.getTileMapping(t), minElementsPerTile, grainSize);
}

inline bool dimIsSplitOverTiles(const poplar::Graph &graph, const poplar::Tensor &t,
                                unsigned dimension) {
  std::vector<unsigned> owner(t.numElements());
  const poplar::Tensor turned = t.dimRoll(dimension, t.rank() - 1);
  const LinearMapping mapping = graph.getTileMapping(turned);
  for (unsigned tile = 0; tile < mapping.size(); ++tile)
    for (const poplar::Interval &each : mapping[tile])
      std::fill(owner.begin() + each.begin(), owner.begin() + each.end(), tile);
  for (std::size_t place = 1; place < owner.size(); ++place)
    if (place % t.dim(dimension) && owner[place] != owner[place - 1])
      return true;
  return false;
}

inline poplar::Tensor createBroadcastOperand(
    poplar::Graph &graph, const poplar::Tensor &fullTensor, const poplar::Type &type, unsigned dim,
    bool ditherMapping = false, const poplar::DebugContext &debugContext = {}) {
  return poplar::detail::call(
      "poputil", "createBroadcastOperand", graph, fullTensor, type, dim, ditherMapping,
      debugContext).tensor();
}

inline poplar::Tensor cloneToIpu(
    poplar::Graph &graph, const poplar::Tensor &t, unsigned dstIPU,
    const poplar::DebugContext &debugContext = {},
    poplar::TensorCloneMethod method = poplar::TensorCloneMethod::PRESERVE_ORDER_UNLESS_ALIASES) {
  const unsigned perIpu = graph.getTarget().getTilesPerIPU();
  poplar::Tensor made = graph.clone(t, debugContext, method);
  LinearMapping mapping = graph.getTileMapping(t);
  LinearMapping moved(std::max<std::size_t>(mapping.size(), (dstIPU + 1) * perIpu));
  for (unsigned tile = 0; tile < mapping.size(); ++tile) {
    std::vector<poplar::Interval> &to = moved[dstIPU * perIpu + tile % perIpu];
    to.insert(to.end(), mapping[tile].begin(), mapping[tile].end());
  }
  graph.setTileMapping(made, moved);
  return made;
}

inline poplar::Tensor copyToIpu(
    poplar::Graph &masterGraph, const poplar::Tensor &t, poplar::program::Sequence &prog,
    unsigned dstIPU, const poplar::DebugContext &debugContext = {},
    poplar::TensorCloneMethod method = poplar::TensorCloneMethod::PRESERVE_ORDER_UNLESS_ALIASES) {
  poplar::Tensor made = cloneToIpu(masterGraph, t, dstIPU, debugContext, method);
  prog.add(poplar::program::Copy(t, made, false, debugContext));
  return made;
}

} // namespace poputil

#endif
