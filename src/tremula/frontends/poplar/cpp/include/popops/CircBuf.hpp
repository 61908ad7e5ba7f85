// A buffer of the last tensors that were added.
#ifndef POPOPS_CIRCBUF_HPP
#define POPOPS_CIRCBUF_HPP

#include <poplar/detail/Library.hpp>

namespace popops {

class CircBuf {
public:
  CircBuf(poplar::Graph &graph, const poplar::Type &dataType, unsigned size,
          const std::vector<std::size_t> &shape, const poplar::DebugContext &debugContext = {})
      : size_(size), object_(poplar::detail::call("popops", "CircBuf", graph, dataType, size,
                                                  shape, debugContext)
                                 .object()) {}
  // What was added `i` additions ago.
  poplar::Tensor prev(unsigned i, poplar::program::Sequence &seq,
                      const poplar::DebugContext &debugContext = {}) {
    return poplar::detail::call("popops", "CircBuf.prev", object_, i, seq, debugContext).tensor();
  }
  void add(poplar::Tensor t, poplar::program::Sequence &seq,
           const poplar::DebugContext &debugContext = {}) {
    poplar::detail::call("popops", "CircBuf.add", object_, t, seq, debugContext);
  }
  poplar::Tensor getIndex() const {
    return poplar::detail::call("popops", "CircBuf.getIndex", object_).tensor();
  }
  unsigned size() const { return size_; }

private:
  unsigned size_;
  std::shared_ptr<poplar::detail::RemoteObject> object_;
};

} // namespace popops

#endif
