// The base classes of vertices, as codelets include them.
#ifndef POPLAR_VERTEX_HPP
#define POPLAR_VERTEX_HPP

#include <poplar/Alignment.hpp>
#include <poplar/FieldTypes.hpp>
#include <poplar/TileConstants.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace poplar {

// What all vertices have in common.
class VertexBase {};

// One worker runs `compute()`.
class Vertex : public VertexBase {};

// All workers of the tile run `compute(worker)`.
class MultiVertex : public VertexBase {
public:
  static constexpr unsigned numWorkers() { return CTXT_WORKERS; }
};

// The supervisor runs `compute()`.
class SupervisorVertex : public VertexBase {
public:
  static constexpr unsigned numWorkers() { return CTXT_WORKERS; }
};

// Vertices of programs that exchange data by themselves: run like a supervisor's.
class ExternalExchangeVertex : public SupervisorVertex {};

namespace detail {
template <bool supervisor> struct SupervisorIf {
  using type = Vertex;
};
template <> struct SupervisorIf<true> {
  using type = SupervisorVertex;
};
} // namespace detail

template <bool supervisor> using SupervisorVertexIf = typename detail::SupervisorIf<supervisor>::type;

} // namespace poplar

#ifdef __POPC__
#ifndef __clang__
#define __builtin_assume(condition) ((void)0)
#endif
#endif

#endif
