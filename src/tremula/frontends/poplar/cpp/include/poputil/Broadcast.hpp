// Shapes made equal by repeating elements.
#ifndef POPUTIL_BROADCAST_HPP
#define POPUTIL_BROADCAST_HPP

#include <poplar/Tensor.hpp>
#include <poputil/exceptions.hpp>

namespace poputil {

// Gives the tensor with fewer dimensions leading ones of length 1.
inline void expandToMatchRanks(poplar::Tensor &a, poplar::Tensor &b) {
  poplar::Tensor &shorter = a.rank() < b.rank() ? a : b;
  const std::size_t missing =
      std::max(a.rank(), b.rank()) - std::min(a.rank(), b.rank());
  shorter = shorter.expand(std::vector<std::size_t>(missing, 0));
}

// Repeats dimensions of length 1, and puts missing ones in front.
inline void broadcastToMatch(poplar::Tensor &a, const std::vector<std::size_t> &shape) {
  if (a.rank() > shape.size())
    throw poplibs_error("broadcastToMatch: a tensor of more dimensions than the shape");
  a = a.expand(std::vector<std::size_t>(shape.size() - a.rank(), 0));
  for (unsigned place = 0; place < shape.size(); ++place) {
    if (a.dim(place) == shape[place])
      continue;
    if (a.dim(place) != 1)
      throw poplibs_error("broadcastToMatch: dimension " + std::to_string(place) + " has " +
                          std::to_string(a.dim(place)) + " elements, the shape " +
                          std::to_string(shape[place]));
    a = a.broadcast(static_cast<unsigned>(shape[place]), place);
  }
}

inline bool canBroadcastToMatch(const poplar::Tensor &a, const poplar::Tensor &b) {
  const std::vector<std::size_t> first = a.shape(), second = b.shape();
  for (std::size_t back = 1; back <= std::min(first.size(), second.size()); ++back) {
    const std::size_t x = first[first.size() - back], y = second[second.size() - back];
    if (x != y && x != 1 && y != 1)
      return false;
  }
  return true;
}

inline void broadcastToMatch(poplar::Tensor &a, poplar::Tensor &b) {
  expandToMatchRanks(a, b);
  std::vector<std::size_t> shape = a.shape();
  for (unsigned place = 0; place < shape.size(); ++place)
    if (shape[place] == 1)
      shape[place] = b.dim(place);
  broadcastToMatch(a, shape);
  broadcastToMatch(b, shape);
}

inline void broadcastToMatch(poplar::Tensor &a, poplar::Tensor &b, poplar::Tensor &c) {
  broadcastToMatch(a, b);
  broadcastToMatch(a, c);
  broadcastToMatch(b, c);
}

} // namespace poputil

#endif
