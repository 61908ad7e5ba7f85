// The graph that an operator belongs to. A custom operator is built and run by itself here, so a graph has no other ones.
#ifndef POPART_GRAPH_HPP
#define POPART_GRAPH_HPP
#include <popart/names.hpp>
namespace popart {
class Ir {};
class Graph {
public:
  Ir &getIr() { return ir_; }
  const Ir &getIr() const { return ir_; }

private:
  Ir ir_;
};
} // namespace popart
#endif
