// Makes one mistake, and prints the class and the text of what is thrown.
#include <poplar/Engine.hpp>
#include <poplar/Graph.hpp>
#include <poplar/IPUModel.hpp>
#include <poplar/exceptions.hpp>

using namespace poplar;
using namespace poplar::program;

static const char *const CODELETS = "#include <poplar/Vertex.hpp>\n"
                                    "class Twice : public poplar::Vertex {\n"
                                    "public:\n"
                                    "  poplar::Input<float> in;\n"
                                    "  poplar::Output<poplar::Vector<float>> out;\n"
                                    "  float factor;\n"
                                    "  bool compute() { for (auto &o : out) o = in * factor; return true; }\n"
                                    "};\n";

static void wrong(const std::string &what) {
  IPUModel model;
  model.tilesPerIPU = 4;
  const Device device = model.createDevice();
  Graph graph(device.getTarget());
  std::stringstream text(CODELETS);
  graph.addCodelets(text);
  const Tensor t = graph.addVariable(FLOAT, {4}, "numbers");
  const ComputeSet cs = graph.addComputeSet("cs");
  if (what == "slice")
    t.slice(2, 9);
  if (what == "tile")
    graph.setTileMapping(t, 4);
  if (what == "vertex type")
    graph.addVertex(cs, "Thrice");
  const VertexRef v = graph.addVertex(cs, "Twice");
  if (what == "field")
    graph.connect(v["inn"], t[0]);
  if (what == "element type")
    graph.connect(v["in"], graph.addVariable(INT, {}));
  if (what == "copy")
    Copy(t, graph.addVariable(FLOAT, {5}));
  if (what == "option")
    Engine(graph, Sequence(), {{"no.such.option", "1"}});
  if (what == "unmapped")
    Engine(graph, Copy(t, graph.addVariable(FLOAT, {4})));
  if (what == "codelet") {
    std::stringstream bad("#include <poplar/Vertex.hpp>\nclass A : public poplar::Vertex { int x = y; };");
    graph.addCodelets(bad);
  }
  if (what == "concat")
    concat(t, graph.addVariable(INT, {4}));
  if (what == "stream twice") {
    graph.addHostToDeviceFIFO("a", FLOAT, 4);
    graph.addHostToDeviceFIFO("a", FLOAT, 4);
  }
  graph.setTileMapping(t, 0);
  graph.setTileMapping(v, 0);
  graph.connect(v["in"], t[0]);
  graph.connect(v["out"], t.slice(1, 4));
  graph.setInitialValue(v["factor"], 2.0f);
  const DataStream in = graph.addHostToDeviceFIFO("in", FLOAT, 4);
  graph.createHostRead("numbers", t);
  Engine engine(graph, {Sequence{Copy(in, t), Execute(cs)}, Abort("stop here")});
  if (what == "not loaded")
    engine.run();
  engine.load(device);
  if (what == "not connected")
    engine.run();
  std::vector<float> data{1, 0, 0, 0}, result(4);
  if (what == "small ring")
    engine.connectStream("in", data.data(), data.data() + 3);
  if (what == "handle")
    engine.readTensor("nothing", result.data(), result.data() + 4);
  engine.connectStream("in", data.data());
  engine.run();
  engine.readTensor("numbers", result.data(), result.data() + result.size());
  if (result != std::vector<float>{1, 2, 2, 2})
    throw std::logic_error("wrong result");
  if (what == "size")
    engine.readTensor("numbers", result.data(), result.data() + 3);
  if (what == "abort")
    engine.run(1);
}

int main(int argc, char **argv) {
  try {
    wrong(argc > 1 ? argv[1] : "");
    std::cout << "no error\n";
  } catch (const poplar_error &problem) {
    std::cout << problem.type << "\n" << problem.what() << "\n";
  }
}
