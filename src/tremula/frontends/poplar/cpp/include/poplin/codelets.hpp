// The codelets of poplin: its functions need none to be added.
#ifndef POPLIN_CODELETS_HPP
#define POPLIN_CODELETS_HPP

#include <poplar/detail/Library.hpp>

namespace poplin {

inline void addCodelets(poplar::Graph &graph) { poplar::detail::nothingToDo(graph); }

} // namespace poplin

#endif
