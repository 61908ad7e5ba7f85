// Counts of modelled cycles, taken while a program runs.
#ifndef POPLAR_CYCLE_COUNT_HPP
#define POPLAR_CYCLE_COUNT_HPP

#include <poplar/DebugContext.hpp>
#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>
#include <poplar/SyncType.hpp>

namespace poplar {

// Replaces `program` by one that also counts the cycles of a tile. The result holds them as two integers, the lower 32
// bits first.
Tensor cycleCount(Graph &graph, program::Sequence &program, unsigned tile, SyncType syncType,
                  const DebugContext &debug = {});
inline Tensor cycleCount(Graph &graph, program::Sequence &program, unsigned tile,
                         const DebugContext &debug = {}) {
  return cycleCount(graph, program, tile, SyncType::INTERNAL, debug);
}
// Appends to `program` what stores the cycles that a tile has counted so far.
Tensor cycleStamp(Graph &graph, program::Sequence &program, unsigned tile, SyncType syncType,
                  const DebugContext &debug = {});
std::vector<Tensor> cycleStamp(Graph &graph, program::Sequence &program,
                               const std::vector<unsigned> &tiles, SyncType syncType,
                               const DebugContext &debug = {});

} // namespace poplar

#endif
