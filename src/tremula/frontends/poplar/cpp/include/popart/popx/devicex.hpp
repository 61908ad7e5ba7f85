// The device that operators are lowered to: the Poplar graph that they grow, and the tensors in it.
#ifndef POPART_POPX_DEVICEX_HPP
#define POPART_POPX_DEVICEX_HPP
#include <popart/names.hpp>
#include <poplar/Graph.hpp>
#include <poplar/OptionFlags.hpp>
namespace popart {
namespace popx {
class Devicex {
public:
  explicit Devicex(poplar::Graph &graph_) : graph(graph_) {}
  poplar::Graph &graph;
  std::map<TensorId, poplar::Tensor> tensors;
  poplar::OptionFlags matmulOptions, convolutionOptions, gclOptions;
  const std::string &getName() const {
    static const std::string name = "custom operator";
    return name;
  }
};
} // namespace popx
} // namespace popart
#endif
