// How elements of a tensor lie in memory and on tiles.
#ifndef POPUTIL_VARSTRUCTURE_HPP
#define POPUTIL_VARSTRUCTURE_HPP

#include <poplar/Graph.hpp>
#include <poputil/Util.hpp>

namespace poputil {

typedef std::pair<unsigned, unsigned> GroupingInfo;

// How many neighbours of the innermost dimension lie together on a tile, wherever the groups begin.
inline unsigned detectInnermostGrouping(const poplar::Graph &graph, const poplar::Tensor &t) {
  if (!t.rank() || !t.numElements())
    return 1;
  const std::size_t inner = t.dim(t.rank() - 1);
  const poplar::Tensor flat = t.flatten();
  std::vector<unsigned> owner(t.numElements(), UINT_MAX);
  const poplar::Graph::TileToTensorMapping mapping = graph.getTileMapping(t, false);
  for (unsigned tile = 0; tile < mapping.size(); ++tile)
    for (const poplar::Interval &each : mapping[tile])
      std::fill(owner.begin() + each.begin(), owner.begin() + each.end(), tile);
  std::size_t group = inner;
  for (const poplar::Interval &region : flat.getContiguousRegions())
    for (std::size_t place = region.begin(); place < region.end(); ++place) {
      const bool starts = place == region.begin() || owner[place] != owner[place - 1];
      if (starts && place % inner)
        while (place % inner % group)
          group = group % 2 ? 1 : group / 2;
    }
  while (inner % group)
    --group;
  return static_cast<unsigned>(group);
}

// Dimensions whose neighbours lie together, the last one first, with the extents of the groups.
inline std::vector<GroupingInfo> detectDimGroupings(const poplar::Graph &graph,
                                                    const poplar::Tensor &t) {
  std::vector<GroupingInfo> made;
  for (unsigned dimension = t.rank(); dimension-- > 0;) {
    const unsigned group = detectInnermostGrouping(graph, t.dimRoll(dimension, t.rank() - 1));
    if (group > 1)
      made.emplace_back(dimension, group);
  }
  return made;
}

// A tensor whose blocks are variables of their own.
inline poplar::Tensor createPartitionableTensor(poplar::Graph &graph, const poplar::Type &type,
                                                const std::vector<std::size_t> &shape,
                                                const std::vector<std::size_t> &nPartitions,
                                                const poplar::DebugContext &debugContext = {}) {
  std::function<poplar::Tensor(std::size_t, std::vector<std::size_t>)> make =
      [&](std::size_t dimension, std::vector<std::size_t> block) {
        if (dimension == shape.size())
          return graph.addVariable(type, block, debugContext);
        std::vector<poplar::Tensor> parts;
        for (std::size_t part = 0; part < nPartitions[dimension]; ++part) {
          const std::size_t each = detail::quotient(shape[dimension], nPartitions[dimension]);
          const std::size_t begin = std::min(part * each, shape[dimension]);
          block[dimension] = std::min(begin + each, shape[dimension]) - begin;
          parts.push_back(make(dimension + 1, block));
        }
        return poplar::concat(parts, static_cast<unsigned>(dimension));
      };
  return make(0, shape);
}

} // namespace poputil

#endif
