// The codelets of popnn: its functions need none to be added.
#ifndef POPNN_CODELETS_HPP
#define POPNN_CODELETS_HPP

#include <poplar/detail/Library.hpp>

namespace popnn {

inline void addCodelets(poplar::Graph &graph) { poplar::detail::nothingToDo(graph); }

} // namespace popnn

#endif
