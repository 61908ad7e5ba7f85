"""Operators with parameters (`ParameterizedOp`) and their Python bindings, in PopART sessions and in PopXL graphs."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest
import torch

from tremula.frontends.poplar.codelets.cpp import compiler

#: the product of two tensors, scaled, and their sum; each output has a gradient operator of its own
SOURCE = """
#include <popart/op/custom/parameterizedop.hpp>
#include <popart/op/custom/parameterizedopbinder.hpp>
#include <popart/popx/opx.hpp>
#include <popart/popx/opxmanager.hpp>
#include <popops/ElementWise.hpp>

using namespace popart;

struct MixParams {
  float scale = 2.0f;
  void appendAttributes(OpSerialiserBase &os) const { os.appendAttribute("scale", scale); }
  static MixParams makeFromAttributes(const Attributes &attributes) {
    MixParams made;
    made.scale = attributes.getAttribute<Attributes::Float>("scale", made.scale);
    if (attributes.hasAttribute("label"))
      attributes.getAttribute<Attributes::String>("label");
    return made;
  }
};

template <class OP> class MixGradient : public ParameterizedOp<OP, MixParams> {
public:
  using ParameterizedOp<OP, MixParams>::ParameterizedOp;
  void setup() override {
    this->outInfo(0) = this->inInfo(0);
    this->outInfo(1) = this->inInfo(0);
  }
  const std::map<int, int> &gradOutToNonGradIn() const override {
    static const std::map<int, int> found = {{0, 0}, {1, 1}};
    return found;
  }
};

class MixProductGradOp : public MixGradient<MixProductGradOp> {
public:
  using MixGradient<MixProductGradOp>::MixGradient;
  static OperatorIdentifier defaultOperatorId() { return OperatorIdentifier("org.example", "MixProductGrad", 1); }
  const std::vector<GradInOutMapper> &gradInputInfo() const override {
    static const std::vector<GradInOutMapper> found = {
        {0, 0, GradOpInType::GradOut}, {1, 0, GradOpInType::In}, {2, 1, GradOpInType::In}};
    return found;
  }
};

class MixSumGradOp : public MixGradient<MixSumGradOp> {
public:
  using MixGradient<MixSumGradOp>::MixGradient;
  static OperatorIdentifier defaultOperatorId() { return OperatorIdentifier("org.example", "MixSumGrad", 1); }
  const std::vector<GradInOutMapper> &gradInputInfo() const override {
    static const std::vector<GradInOutMapper> found = {{0, 1, GradOpInType::GradOut}};
    return found;
  }
};

class MixOp : public ParameterizedOp<MixOp, MixParams> {
public:
  using ParameterizedOp<MixOp, MixParams>::ParameterizedOp;
  static OperatorIdentifier defaultOperatorId() { return OperatorIdentifier("org.example", "Mix", 3, {2, 2}, 2); }
  void setup() override {
    if (inInfo(0) != inInfo(1))
      throw error("Mix takes tensors of one type, not {} and {}", inInfo(0), inInfo(1));
    outInfo(0) = inInfo(0);
    outInfo(1) = inInfo(0);
  }
  std::vector<std::unique_ptr<Op>> getGradOps() override {
    std::vector<std::unique_ptr<Op>> found;
    found.emplace_back(new MixProductGradOp(*this));
    found.emplace_back(new MixSumGradOp(*this));
    return found;
  }
};

class MixOpx : public popx::Opx {
public:
  using popx::Opx::Opx;
  void grow(poplar::program::Sequence &prog) const override {
    if (inShape(0).empty())
      throw error("Mix has no code for scalars");
    poplar::Tensor product = popops::mul(graph(), getInTensor(0), getInTensor(1), prog);
    setOutTensor(0, popops::mul(graph(), product, getOp<MixOp>().params().scale, prog));
    setOutTensor(1, popops::add(graph(), getInTensor(0), getInTensor(1), prog));
  }
};

class MixProductGradOpx : public popx::Opx {
public:
  using popx::Opx::Opx;
  void grow(poplar::program::Sequence &prog) const override {
    float scale = getOp<MixProductGradOp>().params().scale;
    poplar::Tensor gradient = popops::mul(graph(), getInTensor(0), scale, prog);
    setOutTensor(0, popops::mul(graph(), gradient, getInTensor(2), prog));
    setOutTensor(1, popops::mul(graph(), gradient, getInTensor(1), prog));
  }
};

class MixSumGradOpx : public popx::Opx {
public:
  using popx::Opx::Opx;
  void grow(poplar::program::Sequence &prog) const override {
    setOutTensor(0, cloneNcopy(prog, getInTensor(0)));
    setOutTensor(1, cloneNcopy(prog, getInTensor(0)));
  }
};

static OpDefinition::DataTypes T = {DataType::FLOAT};
static OpDefinition definition({OpDefinition::Inputs({{"x", T}, {"z", T}}),
                                OpDefinition::Outputs({{"product", T}, {"sum", T}}),
                                OpDefinition::Attributes({{"scale", {"*"}}})});
static OpCreator<MixOp> creator(OpDefinitions({{MixOp::defaultOperatorId(), definition}}),
                                &MixOp::createOpFromCreatorInfo, true);
static popx::OpxCreator<MixOpx> opx(MixOp::defaultOperatorId());
static popx::OpxCreator<MixProductGradOpx> productOpx(MixProductGradOp::defaultOperatorId());
static popx::OpxCreator<MixSumGradOpx> sumOpx(MixSumGradOp::defaultOperatorId());

PYBIND11_MODULE(mix, m) {
  py::class_<MixParams>(m, "MixParams")
      .def(py::init([](float scale) {
             MixParams made;
             made.scale = scale;
             return made;
           }),
           py::arg("scale"))
      .def_readwrite("scale", &MixParams::scale);
  ir::op::makeParameterizedOpBindings<MixOp>(m, "Mix");
  ir::op::makeParameterizedOpBindings<MixSumGradOp>(m, "Twice"); // has no gradient
}
"""
_POPART = """
import mix, numpy as np, popart

opid = mix.Mix.default_opid()

def computed(attributes):
    builder = popart.Builder()
    x, z = (builder.addInputTensor("FLOAT", [2]) for _ in range(2))
    found = builder.customOp(opid.type, opid.version, opid.domain, [x, z], attributes, 2)
    for each in found:
        builder.addOutputTensor(each)
    session = popart.InferenceSession(
        builder.getModelProto(), popart.DataFlow(1, {each: popart.AnchorReturnType("All") for each in found}),
        popart.DeviceManager().createIpuModelDevice({}),
    )
    session.prepareDevice()
    anchors = session.initAnchorArrays()
    session.run(popart.PyStepIO({x: np.array([1, 2], np.float32), z: np.array([3, 5], np.float32)}, anchors))
    return [anchors[each].tolist() for each in found]

"""
_POPXL = """
import mix, numpy as np, popxl, popxl.ops as ops
from popxl.context import get_current_context
from popxl.tensor import Tensor

def mixed(x, z, scale):
    context = get_current_context()
    graph = context.graph
    op = mix.Mix.create_op_in_graph(
        graph=graph._pb_graph, inputs={0: x.id, 1: z.id},
        outputs={0: graph._create_tensor_id("product"), 1: graph._create_tensor_id("sum")},
        params=mix.MixParams(scale), settings=context._get_op_settings("mix"),
    )
    context._op_created(op)
    return [Tensor._from_pb_tensor(op.outTensor(place)) for place in (0, 1)]

ir = popxl.Ir()
"""
_GRADIENTS = """
def function(x, z):
    product, total = mixed(x, z, 10.0)
    return (product, total) if BOTH else product

with ir.main_graph:
    x, z = popxl.variable(np.float32([1, 2])), popxl.variable(np.float32([3, 5]))
    graph = ir.create_graph(function, x, z)
    call = ops.call_with_info(graph, x, z)
    backward = popxl.transforms.autodiff(graph)
    seeds = [popxl.constant(np.float32([1, 1])) for _ in graph.outputs[: 1 + BOTH]]
    results = [*call.outputs[: 1 + BOTH], *ops.call(backward.graph, *seeds, inputs_dict=backward.inputs_dict(call))]
    streams = [popxl.d2h_stream((2,), popxl.float32) for _ in results]
    for stream, result in zip(streams, results):
        ops.host_store(stream, result)
with popxl.Session(ir, "ipu_model") as session:
    found = session.run()
print(*[found[stream].tolist() for stream in streams])
"""


@pytest.fixture(scope="module")
def module(installation: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the compiled module `mix`; torch has the headers of pybind11."""
    python = Path(sysconfig.get_paths()["include"])
    if not (python / "Python.h").exists():
        assert not os.environ.get("CI"), "no headers of Python: the tests of bindings would prove nothing"
        pytest.skip("the headers of Python are not installed")
    folder = tmp_path_factory.mktemp("mix")
    (folder / "mix.cpp").write_text(SOURCE)
    found = compiler.find()
    assert found is not None
    headers = [installation.include, Path(torch.__file__).parent / "include", python]
    subprocess.run(
        [*found.command, "-std=c++14", "-fPIC", "-shared", "-fvisibility=hidden", *(f"-I{each}" for each in headers),
         str(folder / "mix.cpp"), f"-L{installation.lib}", "-lpopart", "-lpoplar", "-lpopops",
         "-o", str(folder / "mix.so")],
        check=True, timeout=110,
    )  # fmt: skip
    return folder


def run(module: Path, installation: Any, program: str) -> subprocess.CompletedProcess[str]:
    """Run a program that can import the module."""
    environment = {
        **os.environ,
        "LD_LIBRARY_PATH": str(installation.lib),
        "PYTHONPATH": str(module),
        "TREMULA_SUMMARY": "0",
    }
    command = [sys.executable, "-c", program]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=110, check=False)


def test_a_popart_session_takes_parameters_from_attributes(module: Path, installation: Any) -> None:
    ran = run(module, installation, _POPART + 'print(computed({"scale": 10.0}), computed({}), opid.version)')
    assert ran.stdout == "[[30.0, 100.0], [4.0, 7.0]] [[6.0, 20.0], [4.0, 7.0]] 3\n", ran.stderr


def test_an_attribute_of_another_type_is_zero_and_told_once(module: Path, installation: Any) -> None:
    program = 'print(*(computed({"scale": each})[0] for each in (10.0, 10, [10.0], 10)))'
    ran = run(module, installation, _POPART + program)
    assert ran.stdout == "[30.0, 100.0] [0.0, 0.0] [0.0, 0.0] [0.0, 0.0]\n", ran.stderr
    assert ran.stderr.count("attribute scale is given as int,") == 1
    assert ran.stderr.count("attribute scale is given as floats,") == 1


def test_a_text_that_is_given_as_a_number_is_missing(module: Path, installation: Any) -> None:
    ran = run(module, installation, _POPART + 'computed({"label": 1})')
    assert ran.returncode == 1
    assert "attribute label is given as int, but the operator asks for string" in ran.stderr
    assert "no attribute key label" in ran.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("both", "result"),
    [
        ("False", "[30.0, 100.0] [30.0, 50.0] [10.0, 20.0]\n"),
        # each gradient operator gives a part
        ("True", "[30.0, 100.0] [4.0, 7.0] [31.0, 51.0] [11.0, 21.0]\n"),
    ],
)
def test_a_popxl_graph_computes_and_differentiates(
    both: str, result: str, module: Path, installation: Any
) -> None:
    ran = run(module, installation, f"{_POPXL}\nBOTH = {both}\n{_GRADIENTS}")
    assert ran.stdout == result, ran.stderr


def test_popxl_programs_with_other_parameters_are_other_programs(module: Path, installation: Any) -> None:
    program = """
from tremula.frontends.popxl.description import described

def description(scale):
    ir = popxl.Ir()
    with ir.main_graph:
        (product, total) = mixed(popxl.constant(np.float32([1])), popxl.constant(np.float32([2])), scale)
        print(product._pb_tensor.getProducer().opType(), end=" ")
    return described(ir._pb_ir)

print(description(1.0) == description(1.0), description(1.0) == description(2.0))
"""
    ran = run(module, installation, _POPXL + program)
    assert ran.stdout == "Mix Mix Mix Mix True False\n", ran.stderr


def test_an_error_of_the_operator_reaches_the_popxl_program(module: Path, installation: Any) -> None:
    program = """
import popart
with ir.main_graph:
    try:
        mixed(popxl.constant(np.float32([1])), popxl.constant(np.float32([1, 2])), 1.0)
    except popart.popart_exception as problem:
        print(problem)
    print(list(ir.main_graph._pb_graph.getOps()))
    mixed(popxl.constant(np.float32(1)), popxl.constant(np.float32(1)), 1.0)
try:
    with popxl.Session(ir, "ipu_model") as session:
        session.run()
except popart.popart_exception as problem:
    print(problem)
"""
    ran = run(module, installation, _POPXL + program)
    assert "Mix takes tensors of one type, not FLOAT [1] and FLOAT [2]\n[]\n" in ran.stdout, ran.stderr
    assert "Mix has no code for scalars" in ran.stdout, ran.stderr


def test_an_operator_without_a_gradient_cannot_be_differentiated(module: Path, installation: Any) -> None:
    program = """
import popart

def twice(x):
    context = get_current_context()
    graph = context.graph
    op = mix.Twice.create_op_in_graph(
        graph=graph._pb_graph, inputs={0: x.id}, opid=mix.Twice.default_opid(),
        outputs={0: graph._create_tensor_id("a"), 1: graph._create_tensor_id("b")},
        params=mix.MixParams(1.0), settings=context._get_op_settings("twice"),
    )
    return Tensor._from_pb_tensor(op.outTensor(1))

with ir.main_graph:
    graph = ir.create_graph(twice, popxl.constant(np.float32([1])))
    try:
        popxl.transforms.autodiff(graph)
    except popart.popart_exception as problem:
        print(problem)
"""
    ran = run(module, installation, _POPXL + program)
    assert "MixSumGrad of domain org.example cannot be differentiated" in ran.stdout, ran.stderr


def test_an_operator_alone_has_its_parameters(module: Path, installation: Any) -> None:
    program = """
settings = get_current_context()._get_op_settings("mix")
op = mix.Mix(opid=mix.Mix.default_opid(), params=mix.MixParams(scale=4.0), settings=settings)
print(op.params.scale)
"""
    ran = run(module, installation, _POPXL + program)
    assert ran.stdout == "4.0\n", ran.stderr
