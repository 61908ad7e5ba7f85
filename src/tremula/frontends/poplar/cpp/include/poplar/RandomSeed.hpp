// The seeds of the random numbers of the tiles.
#ifndef POPLAR_RANDOM_SEED_HPP
#define POPLAR_RANDOM_SEED_HPP

#include <poplar/DebugContext.hpp>
#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

namespace poplar {

Tensor getHwSeeds(Graph &graph, program::Sequence &program, const DebugContext &debug = {});
void setHwSeeds(Graph &graph, const Tensor &seeds, program::Sequence &program,
                const DebugContext &debug = {});

} // namespace poplar

#endif
