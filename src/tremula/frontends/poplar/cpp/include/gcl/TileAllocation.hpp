// Tiles that are set aside for input and output.
#ifndef GCL_TILEALLOCATION_HPP
#define GCL_TILEALLOCATION_HPP

#include <poplar/detail/Library.hpp>

namespace gcl {

inline std::vector<unsigned> perIPUTiles(
    const poplar::Graph &graph, unsigned offset, unsigned count, bool sorted = false,
    bool tilePairs = true) {
  return poplar::detail::call("gcl", "perIPUTiles", graph, offset, count, sorted, tilePairs)
      .numbers<unsigned>();
}

inline unsigned getMinIoTiles(const poplar::Graph &graph) {
  return static_cast<unsigned>(poplar::detail::call("gcl", "getMinIoTiles", graph).integer());
}

} // namespace gcl

#endif
