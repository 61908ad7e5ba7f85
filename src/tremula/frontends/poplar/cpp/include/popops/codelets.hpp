// The codelets of popops: its functions need none to be added.
#ifndef POPOPS_CODELETS_HPP
#define POPOPS_CODELETS_HPP

#include <poplar/detail/Library.hpp>

namespace popops {

inline void addCodelets(poplar::Graph &graph) { poplar::detail::nothingToDo(graph); }

} // namespace popops

#endif
