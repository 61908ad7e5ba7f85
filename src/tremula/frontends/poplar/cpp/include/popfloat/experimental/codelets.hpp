// The codelets of popfloat: what is offered of it needs none to be added.
#ifndef POPFLOAT_EXPERIMENTAL_CODELETS_HPP
#define POPFLOAT_EXPERIMENTAL_CODELETS_HPP

#include <poplar/detail/Library.hpp>

namespace popfloat {
namespace experimental {

inline void addCodelets(poplar::Graph &graph) { poplar::detail::nothingToDo(graph); }

} // namespace experimental
} // namespace popfloat

#endif
