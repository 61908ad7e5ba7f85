// The codelets of poprand: its functions need none to be added.
#ifndef POPRAND_CODELETS_HPP
#define POPRAND_CODELETS_HPP

#include <poplar/detail/Library.hpp>

namespace poprand {

inline void addCodelets(poplar::Graph &graph) { poplar::detail::nothingToDo(graph); }

} // namespace poprand

#endif
