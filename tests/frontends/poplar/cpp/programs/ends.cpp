// Waits in different ways, for tests that kill it or the process beside it.
#include <poplar/Engine.hpp>
#include <poplar/Graph.hpp>
#include <poplar/IPUModel.hpp>

#include <thread>

using namespace poplar;
using namespace poplar::program;

int main(int argc, char **argv) {
  const std::string how = argc > 1 ? argv[1] : "";
  IPUModel model;
  model.tilesPerIPU = 4;
  const Device device = model.createDevice();
  Graph graph(device.getTarget());
  const Tensor t = graph.addVariable(FLOAT, {8}, "t");
  graph.setTileMapping(t, 0);
  const DataStream in = graph.addHostToDeviceFIFO("in", FLOAT, 8);
  if (how == "recording") {
    std::cout << "ready" << std::endl;
    for (;;) {
      const Tensor more = graph.addVariable(FLOAT, {8});
      graph.setTileMapping(more, 0);
    }
  }
  Engine engine(graph, Repeat(1u << 30, Copy(in, t)));
  engine.load(device);
  std::vector<float> data(8);
  bool first = true;
  engine.connectStreamToCallback("in", [&](void *to) {
    std::memset(to, 0, 32);
    if (first)
      std::cout << "ready" << std::endl;
    first = false;
    if (how == "callback")
      std::this_thread::sleep_for(std::chrono::hours(1));
  });
  if (how == "idle") {
    std::cout << "ready" << std::endl;
    std::this_thread::sleep_for(std::chrono::hours(1));
  }
  if (how == "exit") {
    std::cout << "ready" << std::endl;
    std::exit(3);
  }
  if (how == "throw")
    engine.connectStreamToCallback("in", [](void *) { throw std::out_of_range("thrown by the callback"); });
  try {
    engine.run();
  } catch (const std::out_of_range &problem) {
    std::cout << problem.what() << std::endl;
    return 4;
  } catch (const unrecoverable_runtime_error &problem) {
    std::cout << "caught: " << problem.what() << std::endl;
    return 5;
  }
}
