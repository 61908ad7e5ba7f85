"""Custom operators in C++: a library is compiled, loaded as programs load it, and used from PopTorch and PopART."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tremula.frontends.poplar.codelets.cpp import compiler

SOURCE = """
#include <popart/op.hpp>
#include <popart/opmanager.hpp>
#include <popart/opserialiser.hpp>
#include <popart/popx/opx.hpp>
#include <popart/popx/opxmanager.hpp>
#include <popops/ElementWise.hpp>

static const popart::OperatorIdentifier scaleId("org.example", "Scale", 1);
static const popart::OperatorIdentifier scaleGradId("org.example", "ScaleGrad", 1);

class ScaleGradOp;

class ScaleOp : public popart::Op {
public:
  ScaleOp(const popart::OperatorIdentifier &opid, float factor_, const popart::Op::Settings &settings)
      : popart::Op(opid, settings), factor(factor_) {}
  std::unique_ptr<popart::Op> clone() const override { return std::unique_ptr<popart::Op>(new ScaleOp(*this)); }
  void setup() override {
    if (inInfo(0).rank() == 0)
      throw popart::error("Scale needs a vector, not a scalar of {}", inInfo(0).dataType());
    outInfo(0) = inInfo(0);
  }
  std::vector<std::unique_ptr<popart::Op>> getGradOps() override;
  float getSubgraphValue() const override { return getLowSubgraphValue(); }
  float factor;
};

class ScaleGradOp : public popart::Op {
public:
  explicit ScaleGradOp(const ScaleOp &forward) : popart::Op(scaleGradId, forward.settings), factor(forward.factor) {}
  std::unique_ptr<popart::Op> clone() const override { return std::unique_ptr<popart::Op>(new ScaleGradOp(*this)); }
  void setup() override { outInfo(0) = inInfo(0); }
  const std::vector<popart::GradInOutMapper> &gradInputInfo() const override {
    static const std::vector<popart::GradInOutMapper> found = {{0, 0, popart::GradOpInType::GradOut}};
    return found;
  }
  const std::map<int, int> &gradOutToNonGradIn() const override {
    static const std::map<int, int> found = {{0, 0}};
    return found;
  }
  float getSubgraphValue() const override { return getLowSubgraphValue(); }
  float factor;
};

std::vector<std::unique_ptr<popart::Op>> ScaleOp::getGradOps() {
  std::vector<std::unique_ptr<popart::Op>> found;
  found.emplace_back(new ScaleGradOp(*this));
  return found;
}

template <class OP> class ScaledOpx : public popart::popx::Opx {
public:
  ScaledOpx(popart::Op *op, popart::popx::Devicex *device) : popart::popx::Opx(op, device) {
    verifyOp<OP>(op, op->opid);
  }
  void grow(poplar::program::Sequence &prog) const override {
    setOutTensor(0, popops::mul(graph(), getInTensor(0), getOp<OP>().factor, prog, debugContext("scale")));
  }
};

static popart::OpDefinition::DataTypes T = {popart::DataType::FLOAT, popart::DataType::FLOAT16};
static popart::OpDefinition definition({popart::OpDefinition::Inputs({{"x", T}}),
                                        popart::OpDefinition::Outputs({{"y", T}}),
                                        popart::OpDefinition::Attributes({{"factor", {"*"}}})});
static popart::OpCreator<ScaleOp> creator(
    popart::OpDefinitions({{scaleId, definition}}),
    [](const popart::OpCreatorInfo &info) -> std::unique_ptr<popart::Op> {
      float factor = info.attributes.getAttribute<popart::Attributes::Float>("factor", 2.0f);
      return std::unique_ptr<popart::Op>(new ScaleOp(info.opid, factor, info.settings));
    },
    true);
static popart::popx::OpxCreator<ScaledOpx<ScaleOp>> opx(scaleId);
static popart::popx::OpxCreator<ScaledOpx<ScaleGradOp>> gradOpx(scaleGradId);
"""
_PROGRAM = """
import ctypes, sys
ctypes.cdll.LoadLibrary(sys.argv[1])
"""
_POPTORCH = """
import poptorch, torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(3))

    def forward(self, x):
        (y,) = poptorch.custom_op(
            [self.weight * x], "Scale", "org.example", 1, example_outputs=[x], attributes={"factor": 3.0}
        )
        return y, poptorch.identity_loss(((y - 6.0) ** 2).sum(), reduction="none")

model = Model()
training = poptorch.trainingModel(model, optimizer=poptorch.optim.SGD(model.parameters(), lr=0.02))
for _ in range(50):
    output, loss = training(torch.ones(3))
print([round(value, 3) for value in model.weight.tolist()])
"""
_POPART = """
import numpy as np, popart

builder = popart.Builder()
x = builder.addInputTensor("FLOAT", [3])
(y,) = builder.customOp("Scale", 1, "org.example", [x], {"factor": 4.0}, 1)
builder.addOutputTensor(y)
session = popart.InferenceSession(
    builder.getModelProto(), popart.DataFlow(1, {y: popart.AnchorReturnType("All")}),
    popart.DeviceManager().createIpuModelDevice({"numIPUs": 1}),
)
session.prepareDevice()
anchors = session.initAnchorArrays()
session.run(popart.PyStepIO({x: np.array([1, 2, 3], np.float32)}, anchors))
print(anchors[y].tolist())
"""
_SCALAR = """
import poptorch, torch

class Model(torch.nn.Module):
    def forward(self, x):
        return poptorch.custom_op([x], "Scale", "org.example", 1, example_outputs=[x])[0]

poptorch.inferenceModel(Model())(torch.tensor(1.0))
"""


@pytest.fixture(scope="module")
def library(installation: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled library."""
    folder = tmp_path_factory.mktemp("custom")
    (folder / "scale.cpp").write_text(SOURCE)
    found = compiler.find()
    assert found is not None
    subprocess.run(
        [*found.command, "-std=c++14", "-fPIC", "-shared", f"-I{installation.include}", str(folder / "scale.cpp"),
         f"-L{installation.lib}", "-lpopart", "-lpoplar", "-lpopops", "-o", str(folder / "libscale.so")],
        check=True, timeout=110,
    )  # fmt: skip
    return folder / "libscale.so"


def run(library: Path, installation: Any, program: str) -> subprocess.CompletedProcess[str]:
    """Run a program that loads the library first."""
    environment = {**os.environ, "LD_LIBRARY_PATH": str(installation.lib), "TREMULA_SUMMARY": "0"}
    command = [sys.executable, "-c", _PROGRAM + program, str(library)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=110, check=False)


def test_a_model_trains_through_a_compiled_operator(library: Path, installation: Any) -> None:
    ran = run(library, installation, _POPTORCH)
    assert ran.stdout == "[2.0, 2.0, 2.0]\n", ran.stderr


def test_a_popart_session_runs_a_compiled_operator(library: Path, installation: Any) -> None:
    ran = run(library, installation, _POPART)
    assert ran.stdout == "[4.0, 8.0, 12.0]\n", ran.stderr


def test_an_error_of_the_operator_reaches_the_program(library: Path, installation: Any) -> None:
    ran = run(library, installation, _SCALAR)
    assert ran.returncode == 1
    assert "Scale needs a vector, not a scalar of FLOAT" in ran.stderr


def test_patterns_are_refused_when_they_are_compiled(installation: Any, tmp_path: Path) -> None:
    source = tmp_path / "pattern.cpp"
    source.write_text(
        '#include <popart/patterns/pattern.hpp>\nstruct P;\nstatic popart::PatternCreator<P> p("P");\n'
    )
    found = compiler.find()
    assert found is not None
    command = [*found.command, "-fsyntax-only", f"-I{installation.include}", str(source)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=110, check=False)
    assert ran.returncode != 0


def test_without_such_a_library_nothing_is_registered() -> None:
    from tremula.frontends.poplar.user_ops import popart_ops

    with pytest.raises(OSError, match="libpopart"):
        ctypes.CDLL("libpopart.so")
    assert popart_ops.registered() == []
