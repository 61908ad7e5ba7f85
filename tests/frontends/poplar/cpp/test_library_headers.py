"""The headers of the libraries compile by themselves, and their functions do what they do in Python."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tremula.frontends.poplar.codelets.cpp import compiler
from tremula.frontends.poplar.cpp.installation import INCLUDE

#: the first test compiles the libraries
pytestmark = pytest.mark.timeout(400)

FOLDERS = ("popops", "poputil", "poplin", "popnn", "poprand", "gcl", "popfloat")


@pytest.mark.parametrize(
    ("folders", "standard"), [*(((folder,), "c++11") for folder in FOLDERS), (FOLDERS, "c++17")]
)
def test_headers_compile_in_any_order_without_warnings(
    folders: tuple[str, ...], standard: str, tmp_path: Path
) -> None:
    found = compiler.find()
    if found is None:
        pytest.skip("there is no C++ compiler")
    headers = sorted(each for folder in folders for each in (INCLUDE / folder).rglob("*.hpp"))
    assert headers
    source = tmp_path / "all.cpp"
    source.write_text("".join(f"#include <{each.relative_to(INCLUDE)}>\n" * 2 for each in reversed(headers)))
    done = subprocess.run(
        [
            *found.command,
            f"-std={standard}",
            "-Wall",
            "-Wextra",
            "-fsyntax-only",
            f"-I{INCLUDE}",
            str(source),
        ],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


PREAMBLE = """
#include <poplar/Engine.hpp>
#include <poplar/IPUModel.hpp>
#include <poplin/ConvUtil.hpp>
#include <poplin/Convolution.hpp>
#include <poplin/MatMul.hpp>
#include <popnn/BatchNorm.hpp>
#include <popnn/Gru.hpp>
#include <popnn/Loss.hpp>
#include <popnn/Lstm.hpp>
#include <popnn/NonLinearity.hpp>
#include <popnn/Pooling.hpp>
#include <gcl/TileAllocation.hpp>
#include <popops/AllTrue.hpp>
#include <popops/Cast.hpp>
#include <popops/CircBuf.hpp>
#include <popops/DynamicSlice.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Encoding.hpp>
#include <popops/Fill.hpp>
#include <popops/Gather.hpp>
#include <popops/Loop.hpp>
#include <popops/Pad.hpp>
#include <popops/Reduce.hpp>
#include <popops/ScaledAdd.hpp>
#include <popops/Sort.hpp>
#include <popops/TopK.hpp>
#include <popops/NaN.hpp>
#include <popops/SelectScalarFromRows.hpp>
#include <popops/Zero.hpp>
#include <poprand/RandomGen.hpp>
#include <popops/codelets.hpp>
#include <poputil/Broadcast.hpp>
#include <poputil/GraphFunction.hpp>
#include <poputil/TileMapping.hpp>
#include <poputil/VertexTemplates.hpp>
#include <poputil/exceptions.hpp>

using namespace poplar;
using namespace poplar::program;

struct Program_ {
  Device device;
  Graph graph;
  Sequence prog;
  std::vector<std::pair<std::string, Tensor>> results;
  Program_() : device(make()), graph(device.getTarget()) { popops::addCodelets(graph); }
  static Device make() {
    IPUModel model;
    model.numIPUs = 1;
    model.tilesPerIPU = 4;
    return model.createDevice();
  }
  // Numbers that count up from `first` in steps of a quarter.
  Tensor tensor(std::vector<std::size_t> shape, float first = -1.0f, Type type = FLOAT) {
    Tensor made = graph.addVariable(type, shape, "tensor");
    poputil::mapTensorLinearly(graph, made);
    std::vector<float> values(made.numElements());
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = first + 0.25f * i;
    graph.setInitialValue(made, ArrayRef<float>(values));
    return made;
  }
  Tensor integers(std::vector<unsigned> values) {
    Tensor made = graph.addVariable(UNSIGNED_INT, {values.size()}, "integers");
    graph.setTileMapping(made, 0);
    graph.setInitialValue(made, ArrayRef<unsigned>(values));
    return made;
  }
  void show(const std::string &name, const Tensor &t) {
    Tensor plain = t.elementType() == FLOAT ? t : popops::cast(graph, t, FLOAT, prog);
    graph.createHostRead(name, plain);
    results.emplace_back(name, plain);
  }
  int run() {
    Engine engine(graph, prog);
    engine.load(device);
    engine.run(0);
    std::cout << "{";
    for (std::size_t i = 0; i < results.size(); ++i) {
      std::vector<float> values(results[i].second.numElements());
      engine.readTensor(results[i].first, values.data(), values.data() + values.size());
      std::cout << (i ? ", " : "") << '"' << results[i].first << "\\": [[";
      for (std::size_t d = 0; d < results[i].second.rank(); ++d)
        std::cout << (d ? "," : "") << results[i].second.dim(d);
      std::cout << "], [";
      for (std::size_t j = 0; j < values.size(); ++j)
        std::cout << (j ? "," : "") << std::setprecision(9) << values[j];
      std::cout << "]]";
    }
    std::cout << "}" << std::endl;
    return 0;
  }
};

int main() {
  Program_ p;
  Graph &graph = p.graph;
  Sequence &prog = p.prog;
"""


@pytest.fixture
def results(run_program: Callable[[str], str]) -> Callable[[str], dict[str, Any]]:
    def of(body: str) -> dict[str, Any]:
        printed = run_program(f"{PREAMBLE}\n{body}\n  return p.run();\n}}\n")
        decoded = json.loads(printed.strip().splitlines()[-1])
        return {name: np.array(values).reshape(shape) for name, (shape, values) in decoded.items()}

    return of


def counted(*shape: int, first: float = -1.0) -> Any:
    return (first + 0.25 * np.arange(np.prod(shape))).reshape(shape)


def test_functions_of_popops(results: Callable[[str], dict[str, Any]]) -> None:
    found = results("""
  using namespace popops::expr;
  Tensor a = p.tensor({2, 3}), b = p.tensor({2, 3}, 0.5f);
  p.show("add", popops::add(graph, a, b.slice(0, 1), prog, "add"));
  p.show("number", popops::mul(graph, a, 2.0f, prog));
  p.show("first", popops::sub(graph, 1.0f, a, prog, {"debug"}));
  p.show("map", popops::map(graph, Select(Sqrt(_1 * _1 + 0.25f), -_2, _1 < _2 && _1 > 0.0f),
                            {a, b}, prog));
  p.show("operation", popops::map(graph, BinaryOpType::MAXIMUM, a, b, prog));
  Tensor inPlace = p.tensor({2, 3});
  popops::mapInPlace(graph, Cast(_1 >= Const(0.0f), FLOAT) + Abs(_1), {inPlace}, prog);
  popops::scaledAddTo(graph, inPlace, b, 0.5f, prog);
  p.show("inPlace", inPlace);
  p.show("reduce", popops::reduce(graph, a, {1}, {popops::Operation::MAX}, prog));
  std::vector<ComputeSet> sets;
  Tensor sum = p.tensor({3});
  popops::reduceWithOutput(graph, a, sum, {0}, popops::Operation::ADD, sets);
  for (ComputeSet &each : sets)
    prog.add(Execute(each));
  p.show("sets", sum);
  Tensor place = p.integers({1});
  p.show("slice", popops::dynamicSlice(graph, a, place, {0}, {1}, prog));
  p.show("gather", popops::gather(graph, a, p.integers({2, 0}), 1, prog, {}));
  p.show("pad", popops::pad(graph, a, {0, 1}, {1, 0}, 7.0f));
  p.show("sort", popops::sort(graph, a.reverse(1), 1, prog));
  p.show("top", popops::topK(graph, prog, a, {2, true, popops::SortOrder::DESCENDING}));
  Tensor numbers = graph.addVariable(UNSIGNED_INT, {4}, VariableMappingMethod::LINEAR, "numbers");
  popops::iota(graph, numbers, 3u, prog);
  p.show("iota", numbers);
  Tensor total = p.tensor({1}, 0.0f);
  prog.add(popops::countedLoop(graph, 0, 6, 2, [&](const Tensor &i) {
    Sequence body;
    popops::addInPlace(graph, total, popops::cast(graph, i, FLOAT, body), body);
    return body;
  }));
  p.show("loop", total);
  Tensor filled = p.tensor({3});
  popops::fill(graph, filled, prog, 2.5f);
  popops::zero(graph, filled[1], prog);
  p.show("filled", filled);
""")
    a, b = counted(2, 3), counted(2, 3, first=0.5)
    where = (a < b) & (a > 0)
    expected = {
        "add": a + b[:1],
        "number": 2 * a,
        "first": 1 - a,
        "map": np.where(where, np.sqrt(a * a + 0.25), -b),
        "operation": np.maximum(a, b),
        "inPlace": (a >= 0) + np.abs(a) + 0.5 * b,
        "reduce": a.max(axis=1),
        "sets": a.sum(axis=0),
        "slice": a[1:2],
        "gather": a[:, [2, 0]],
        "pad": np.pad(a, ((0, 1), (1, 0)), constant_values=7),
        "sort": np.sort(a, axis=1),
        "top": a[:, [2, 1]],
        "iota": np.arange(3, 7),
        "loop": np.array([6]),
        "filled": np.array([2.5, 0, 2.5]),
    }
    assert set(found) == set(expected)
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-5, err_msg=name)


def test_functions_of_poplin_and_popnn(results: Callable[[str], dict[str, Any]]) -> None:
    found = results("""
  Tensor a = p.tensor({2, 3}), b = p.tensor({3, 4}), c = p.tensor({2, 4});
  p.show("product", poplin::matMul(graph, a, b, prog, "product", {{"partialsType", "float"}}));
  p.show("typed", poplin::matMul(graph, a, b, prog, FLOAT));
  poplin::matmul::PlanningCache cache;
  poplin::matMulAcc(graph, c, 0.5f, a, b, prog, {}, {}, &cache);
  p.show("added", c);
  poplin::createMatMulInputLHS(graph, FLOAT, {2, 3}, {3, 4}, "left");
  poplin::ConvParams params(FLOAT, 1, {5, 5}, {3, 3}, 2, 3, 1);
  params.inputTransform.paddingLower = {1, 1};
  params.inputTransform.paddingUpper = {1, 1};
  params.outputTransform.stride = {2, 2};
  params.validate();
  Tensor in = p.tensor({1, 2, 5, 5}), weights = p.tensor({1, 3, 2, 3, 3});
  Tensor out = poplin::convolution(graph, in, weights, params, false, prog, "conv");
  p.show("out", out);
  Tensor back = poplin::convolution(graph, out, weights, poplin::getGradientParams(params), true, prog);
  p.show("back", back);
  p.show("deltas", poplin::calculateWeightDeltas(graph, out, in, params, prog));
  popnn::pooling::PoolParams pool(popnn::PoolingType::MAX, {5, 5}, {2, 2}, {2, 2}, {0, 0}, {0, 0},
                                  2, 1, FLOAT);
  p.show("pool", popnn::pooling::pool(graph, pool, in, prog));
  Tensor chances = popnn::softmax(graph, a, prog);
  p.show("chances", chances);
  Tensor labels = p.integers({2, 1}), right = p.integers({10});
  Tensor loss = p.tensor({2}), slope = p.tensor({2, 3});
  prog.add(popnn::calcLoss(graph, chances, labels, loss, slope, right, popnn::CROSS_ENTROPY_LOSS));
  p.show("loss", loss);
  p.show("slope", slope);
  p.show("right", right);
  auto best = popnn::maxAndArgMax(graph, a, prog);
  p.show("best", best.first);
  p.show("bestPlace", best.second);
  Tensor places;
  p.show("top", popnn::topK(graph, a, places, 2, true, prog));
  p.show("places", places);
  auto statistics = popnn::bn::batchNormStatistics(graph, in, 0.001f, prog, false);
  p.show("mean", statistics.first);
  p.show("white", popnn::bn::batchNormWhiten(graph, in, statistics.first, statistics.second, prog));
  float scaling = 0;
  p.show("scaled", popnn::nonLinearity(graph, popnn::NonLinearityType::SOFTMAX_SCALED, a, scaling, prog));
  p.show("scaling", p.tensor({1}, scaling));
  std::ostringstream plan;
  poplin::matMulReportPlan(plan, graph, FLOAT, FLOAT, {2, 3}, {3, 4});
  p.show("planned", p.tensor({1}, plan.str().find("Plan (modelled)") == 0 ? 1.0f : 0.0f));
  p.show("cycles", p.tensor({1}, poplin::reportPlanEstimatedCosts(graph, params).cycles));
""")
    a, b = counted(2, 3), counted(3, 4)
    chances = np.exp(a) / np.exp(a).sum(axis=1, keepdims=True)
    values = counted(1, 2, 5, 5)
    expected = {
        "product": a @ b,
        "typed": a @ b,
        "added": counted(2, 4) + 0.5 * (a @ b),
        "chances": chances,
        "loss": -np.log(chances[[0, 1], [2, 1]]),
        "slope": chances - np.eye(3)[[2, 1]],
        "right": np.array([11]),
        "best": a.max(axis=1),
        "bestPlace": np.array([2, 2]),
        "top": a[:, None, [2, 1]],
        "places": np.array([[[2, 1]], [[2, 1]]]),
        "mean": values.mean(axis=(0, 2, 3)),
        "pool": values[:, :, 1::2, 1::2],
        "scaled": 62000 * chances,
        "scaling": np.array([62000]),
    }
    for name, right in expected.items():
        np.testing.assert_allclose(found[name], right, rtol=1e-4, err_msg=name)
    assert found["planned"].item() == 1
    assert found["cycles"].item() > 100
    assert found["back"].shape == values.shape
    weights = counted(1, 3, 2, 3, 3)
    # <out, out> is <back, in>: the gradient is that of half the squared output
    squares = (found["out"] ** 2).sum()
    np.testing.assert_allclose((found["back"] * values).sum(), squares, rtol=1e-4)
    np.testing.assert_allclose((found["deltas"] * weights).sum(), squares, rtol=1e-4)


def test_recurrent_layers_give_results_through_pointers(results: Callable[[str], dict[str, Any]]) -> None:
    found = results("""
  popnn::lstm::LstmParams params(FLOAT, 2, 3, {4, 5});
  auto state = popnn::lstm::createInitialState(graph, params, "state");
  popnn::lstm::zeroInitialState(graph, state, prog);
  popnn::lstm::LstmWeights weights = {p.tensor({4, 4, 5}, -0.1f), p.tensor({4, 5, 5}, -0.1f), p.tensor({4, 5}, 0.0f)};
  popops::mulInPlace(graph, weights.inputWeights, 0.01f, prog);
  popops::mulInPlace(graph, weights.outputWeights, 0.01f, prog);
  Tensor in = p.tensor({3, 2, 4}), kept, inputGrad;
  auto out = popnn::lstm::lstmFwd(graph, params, state, in, weights, &kept, prog, "forward");
  popnn::lstm::LstmWeights grads;
  const popnn::lstm::LstmState *last = nullptr;
  popnn::lstm::lstmBwdWithWU(graph, params, prog, state, kept, weights, in, out.first, out.first,
                             last, &inputGrad, grads);
  p.show("out", out.first);
  p.show("inputGrad", inputGrad);
  p.show("biases", grads.biases);
  popnn::gru::GruParams gru(FLOAT, 2, 3, {4, 5});
  gru.outputFullSequence = false;
  auto gruWeights = popnn::gru::createWeights(graph, gru, "weights");
  for (Tensor each : {gruWeights.inputWeights, gruWeights.outputWeights, gruWeights.biases})
    popops::zero(graph, each, prog);
  p.show("gru", popnn::gru::gruFwd(graph, gru, p.tensor({2, 5}, 1.0f), in, gruWeights, nullptr, prog));
""")
    assert found["out"].shape == (3, 2, 5)
    assert found["inputGrad"].shape == (3, 2, 4)
    assert found["biases"].shape == (4, 5)
    assert np.abs(found["inputGrad"]).min() > 0
    # without weights the gates are a half, and the candidate is zero
    np.testing.assert_allclose(found["gru"], counted(2, 5, first=1.0) / 8, rtol=1e-6)


def test_rarer_functions_reach_their_python_ones(results: Callable[[str], dict[str, Any]]) -> None:
    found = results("""
  Tensor table = p.tensor({6, 4}), seed = p.integers({1, 2});
  popops::SlicePlan plan = popops::embedding::plan(graph, FLOAT, 6, 4, {3}, {});
  Tensor indices = popops::createIndicesTensor(graph, {0}, 3, plan, {}, "indices");
  Tensor numbers = p.integers({5, 0, 2});
  prog.add(Copy(numbers, indices.flatten()));
  p.show("multi", popops::multiSlice(graph, table, indices, {0}, {1}, prog, plan, {}, "multi"));
  Tensor scale = p.tensor({}, 2.0f), updated = p.tensor({6, 4});
  popops::multiUpdateAdd(graph, updated, p.tensor({3, 1, 4}), indices, scale, {0}, {1}, prog, plan, {});
  p.show("updated", updated);
  p.show("constant", popops::multiSlice(graph, table, {1, 3}, 0, prog));
  Tensor hot = graph.addVariable(FLOAT, {3, 6}, VariableMappingMethod::LINEAR, "hot");
  popops::encodeOneHot(graph, numbers, hot, prog);
  p.show("hot", hot);
  p.show("same", popops::cast(graph, popops::cast(graph, table, HALF, prog), FLOAT, prog));
  p.show("rows", popops::selectScalarFromRows(graph, table.slice(0, 3), p.integers({0, 1, 2}), prog));
  Tensor keys = p.tensor({2, 3}).reverse(1), values = p.tensor({2, 3});
  p.show("sorted", popops::sortKeyValue(graph, keys, values, 1, prog));
  Tensor less = popops::lt(graph, table, 0.0f, prog);
  p.show("all", popops::allTrue(graph, less.slice(0, 1), prog));
  p.show("nan", popops::hasNaN(graph, table, prog));
  p.show("clamped", popops::clamp(graph, table, p.tensor({1, 1}, 0.0f), p.tensor({1, 1}, 1.0f), prog));
  popops::CircBuf buffer(graph, FLOAT, 2, {4});
  buffer.add(table[0], prog);
  buffer.add(table[1], prog);
  p.show("old", buffer.prev(1, prog));
  Tensor uniform = poprand::uniform(graph, &seed, 3, table, FLOAT, 2.0, 3.0, prog);
  p.show("uniform", uniform);
  p.show("bernoulli", poprand::bernoulli(graph, nullptr, 0, table, FLOAT, 1.0, prog));
  p.show("kept", poprand::dropout(graph, &seed, 0, table, table, 1.0, 1.0, prog));
  std::vector<Tensor> sums;
  popops::reduceMany(graph, {popops::SingleReduceOp(table, {0}, {popops::Operation::ADD}, "sum"),
                             popops::SingleReduceOp(table, {1}, {popops::Operation::MIN}, FLOAT, "min")},
                     sums, prog);
  p.show("sum", sums[0]);
  p.show("min", sums[1]);
  p.show("padded", popops::pad(table.slice(0, 2), 1, 0, 0, popops::padding::Type::EDGE));
  std::cout << gcl::perIPUTiles(graph, 1, 2).size() << std::endl;
  using namespace poputil;
  graphfn::VoidFunction twice(graph, {graphfn::input(table[0]), graphfn::output(table[0])},
                              [&](std::vector<Tensor> &args, Sequence &body) {
                                popops::mulWithOutput(graph, args[0], 2.0f, args[1], body);
                              });
  std::vector<Tensor> arguments{table[1], p.tensor({4})};
  twice(arguments, prog);
  p.show("twice", arguments[1]);
  graphfn::TensorFunction total(graph, {graphfn::input(table[0])},
                                [&](std::vector<Tensor> &args, Sequence &body) {
                                  return popops::reduce(graph, args[0], {0}, popops::Operation::ADD, body);
                                });
  std::vector<Tensor> row{table[2]};
  p.show("total", total(row, prog));
""")
    table = counted(6, 4)
    added = table.copy()
    added[[5, 0, 2]] += 2 * counted(3, 4)
    expected = {
        "multi": table[[5, 0, 2]][:, None],
        "updated": added,
        "constant": table[[1, 3]][:, None],
        "hot": np.eye(6)[[5, 0, 2]],
        "same": table,
        "rows": table[[0, 1, 2], [0, 1, 2]],
        "sorted": np.sort(counted(2, 3))[:, ::-1],
        "clamped": table.clip(0, 1),
        "old": table[0],
        "bernoulli": np.ones((6, 4)),
        "kept": table,
        "sum": table.sum(axis=0),
        "min": table.min(axis=1),
        "padded": table[[0, 0, 1]],
        "twice": 2 * table[1],
        "total": table[2].sum(),
    }
    for name, right in expected.items():
        np.testing.assert_allclose(found[name].reshape(np.shape(right)), right, rtol=1e-3, err_msg=name)
    assert found["all"].item() == 1
    assert found["nan"].item() == 0
    assert ((found["uniform"] >= 2) & (found["uniform"] <= 3)).all()
    assert len(np.unique(found["uniform"])) > 12


def test_replicas_exchange_data(run_program: Callable[[str], str]) -> None:
    printed = run_program("""
#include <poplar/Engine.hpp>
#include <poplar/IPUModel.hpp>
#include <gcl/Collectives.hpp>
using namespace poplar;
int main() {
  IPUModel model;
  model.numIPUs = 2;
  model.tilesPerIPU = 4;
  Device device = model.createDevice();
  Graph graph(device.getTarget(), replication_factor(2));
  program::Sequence prog;
  Tensor index = graph.addReplicationIndexConstant("index");
  graph.setTileMapping(index, 0);
  Tensor mine = graph.addVariable(UNSIGNED_INT, {1}, VariableMappingMethod::LINEAR, "mine");
  prog.add(program::Copy(index.reshape({1}), mine));
  Tensor all = gcl::allGatherCrossReplica(graph, mine, prog, gcl::CommGroup(), "all");
  Tensor sum = gcl::allReduceCrossReplica(graph, mine, gcl::CollectiveOperator::ADD, prog);
  graph.createHostRead("all", all);
  graph.createHostRead("sum", sum);
  Engine engine(graph, prog);
  engine.load(device);
  engine.run(0);
  unsigned gathered[2][2], sums[2];
  engine.readTensor("all", gathered, gathered + 2);
  engine.readTensor("sum", sums, sums + 2);
  std::cout << all.shapeToString() << gathered[0][0] << gathered[0][1] << gathered[1][1] << sums[1] << std::endl;
}
""")
    assert printed.replace(" ", "").strip() == "[2,1]0111"


def test_helpers_of_poputil_are_computed_in_cpp(run_program: Callable[[str], str]) -> None:
    printed = run_program(f"""{PREAMBLE}
  std::cout << poputil::templateVertex("ns::Vertex", FLOAT, true, 3, "text", HALF) << std::endl;
  for (const auto &part : poputil::splitRegions({{{{0, 10}}, {{15, 20}}, {{33, 60}}}}, 4, 8, 6)) {{
    for (const Interval &each : part)
      std::cout << each;
    std::cout << ' ';
  }}
  std::cout << std::endl;
  Tensor a = graph.addVariable(FLOAT, {{3, 1}}, "a"), b = graph.addVariable(FLOAT, {{4}}, "b");
  poputil::broadcastToMatch(a, b);
  std::cout << a.shapeToString() << b.shapeToString() << std::endl;
  try {{
    poplin::matMul(graph, p.tensor({{2, 3}}), p.tensor({{2, 3}}), prog);
  }} catch (const poputil::poplibs_error &problem) {{
    std::cout << "poplibs_error" << std::endl;
  }}
  try {{
    poplin::matMul(graph, p.tensor({{2, 3}}), p.tensor({{3, 3}}), prog, "", {{{{"partials", "half"}}}});
  }} catch (const poplar::invalid_option &problem) {{
    std::cout << "invalid_option" << std::endl;
  }}
}}
""")
    lines = printed.splitlines()
    assert lines[0] == "ns::Vertex<float,true,3,text,half>"
    assert lines[1].split() == ["[0,8)", "[8,10)[15,20)[33,38)", "[38,50)", "[50,60)"]
    assert lines[2].replace(" ", "").count("3,4") == 2
    assert lines[3:] == ["poplibs_error", "invalid_option"]


def test_halves_are_converted_as_numpy_does(run_program: Callable[[str], str]) -> None:
    printed = run_program("""
#include <popfloat/experimental/CastToHalf.hpp>
int main() {
  using namespace popfloat::experimental;
  for (unsigned bits = 0; bits < 65536; bits += 7)
    std::printf("%a %u\\n", halfToSingle(bits), singleToHalf(halfToSingle(bits) * 1.0003f));
}
""")
    pairs = [line.split() for line in printed.splitlines()]
    halves = np.arange(0, 65536, 7).astype(np.uint16).view(np.float16)
    found = np.array([float.fromhex(first) for first, _ in pairs], dtype=np.float32)
    np.testing.assert_array_equal(found, halves.astype(np.float32))
    back = np.array([int(second) for _, second in pairs], dtype=np.uint16).view(np.float16)
    with np.errstate(all="ignore"):
        larger = halves.astype(np.float32) * np.float32(1.0003)
        expected = larger.clip(-65504, 65504).astype(
            np.float16
        )  # too large a number becomes the largest half
    np.testing.assert_array_equal(back, expected)
