// Types are passed by reference, and clones may have another type.
#include <poplar/Graph.hpp>

#include <iostream>

using namespace poplar;

static Tensor clones(Graph &graph, Type &type, const Tensor &tensor) { return graph.cloneN(type, tensor, 3, "clones"); }

int main() {
  Graph graph(Target::createIPUTarget(1, "ipu2"));
  const Tensor one = graph.addVariable(FLOAT, {2, 4}, "one");
  for (unsigned i = 0; i < 2; ++i)
    graph.setTileMapping(one[i], 5 + i);
  const Tensor made = clones(graph, UNSIGNED_INT, one);
  std::cout << made.elementType() << " " << made.shape().size() << " " << made.dim(0) << " "
            << graph.getTileMapping(made[2][1])[6].size() << " " << graph.cloneN(one, 2).elementType() << std::endl;
}
