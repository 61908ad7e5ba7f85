"""From captured graphs to flat lists: aliases, placement, folding."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tremula.frontends.torch.assembly import capture_program
from tremula.frontends.torch.capture.placement import SingleIpu
from tremula.frontends.torch.optimize.spec import GroupSpec, HyperValue, OptimizerSpec
from tremula.frontends.torch.optimize.spec import Kind as OptimizerKind
from tremula.frontends.torch.rules.lower import lower
from tremula.frontends.torch.rules.program import flatten
from tremula.frontends.torch.settings import SessionSettings
from tremula.frontends.torch.structure import flattenTensorStructure
from tremula.program.loops import Loops
from tremula.program.op import Phase
from tremula.program.program import Program
from tremula.program.tensor import Role


class Net(torch.nn.Module):
    """Tied weights, views, an in-place op, a constant made of constants, several results, a written buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = torch.nn.Linear(8, 8)
        self.tied = torch.nn.Linear(8, 8)
        self.tied.weight = self.fc.weight
        self.norm = torch.nn.BatchNorm1d(8)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        hidden = self.tied(torch.relu_(self.norm(self.fc(x))))
        left, _ = hidden.view(2, 4, 4).transpose(0, 1).split([1, 3], dim=0)
        mask = torch.ones(4, 8).tril().eq(0).to("ipu")
        loss = torch.nn.functional.mse_loss(hidden.masked_fill(mask, 0.0), y)
        return left, loss


def _flat(training: bool, accumulation: int = 2, samples: int | None = None) -> Program:
    module = Net()
    values = {"learningRate": HyperValue(0.1)}
    values |= {
        key: HyperValue(value, True)
        for key, value in {
            "beta1": 0.9,
            "beta2": 0.999,
            "eps": 1e-8,
            "weightDecay": 0.1,
            "maxWeightNorm": 1e9,
        }.items()
    }
    group = GroupSpec(tuple(name for name, _ in module.named_parameters()), values)
    spec = OptimizerSpec(OptimizerKind.LAMB, (group,)) if training else None
    settings = SessionSettings(training, loops=Loops(gradient_accumulation=accumulation), rule=SingleIpu())
    inputs = [torch.zeros(4, 8), torch.zeros(4, 8)]
    program = capture_program(
        settings,
        spec,
        module.train(training),
        lambda v: module(*v),
        inputs,
        ["x", "y"],
        flattenTensorStructure,
    ).program
    return flatten(program, lower(program), samples)


@pytest.fixture(scope="module")
def trained() -> Program:
    """A training program with accumulation and LAMB."""
    return _flat(training=True)


def test_every_tensor_has_one_storage(trained: Program) -> None:
    for tensor in trained.tensors:
        base = trained.tensors[tensor.storage]
        assert base.storage == tensor.storage
    for number, op in enumerate(trained.ops):
        for made in op.outputs:
            assert trained.tensors[made].producer == number
        for read in op.inputs:
            assert trained.tensors[read].producer < number


def test_views_and_in_place_results_share(trained: Program) -> None:
    made_by = {op.kind: op.outputs for op in trained.ops if op.phase is Phase.FORWARD}
    for target in ("aten::view", "aten::transpose", "aten::split_with_sizes", "aten::relu_"):
        for made in made_by[target]:
            assert trained.tensors[made].storage != made, target


def test_kinds_and_bytes(trained: Program) -> None:
    sizes = {
        kind: sum(t.bytes for n, t in enumerate(trained.tensors) if t.role is kind and t.storage == n)
        for kind in Role
    }
    weights = 4 * (8 * 8 + 8 + 8 + 8 + 8)  # tied weights are one
    assert sizes[Role.PARAMETER] == sizes[Role.ACCUMULATOR] == weights
    assert sizes[Role.STATE] == 2 * weights
    assert sizes[Role.INPUT] == 2 * 4 * 4 * 8
    assert sizes[Role.BUFFER] == 4 * (8 + 8 + 1)  # the count of batches has 32 bits on the device
    # of the constants only the mask is there, not what it was made from
    assert [t.elements for t in trained.tensors if t.role is Role.CONSTANT and t.bytes > 4] == [32]


def test_state_belongs_to_its_parameter(trained: Program) -> None:
    owned = [t for t in trained.tensors if t.role is Role.STATE]
    assert len(owned) == 2 * len(trained.trained) == 10
    names = sorted(t.name for t in owned)
    assert names == sorted(2 * [f"state of {trained.tensors[n].name}" for n in trained.trained])
    assert {t.scope for t in owned} == {("fc",), ("tied",), ("norm",)}


def test_gradients_are_carried_by_accumulators(trained: Program) -> None:
    assert all(trained.tensors[n].role is Role.ACCUMULATOR for n in trained.carried)
    straight = trained.without_accumulation()
    assert straight.carried == straight.gradients
    assert not straight.of_phase(Phase.ACCUMULATE)
    assert not any(t.role is Role.ACCUMULATOR for t in straight.tensors)
    for number, op in enumerate(straight.ops):
        assert all(straight.tensors[made].producer == number for made in op.outputs)
        assert all(straight.tensors[read].producer < number for read in op.inputs)
    assert straight.without_accumulation() is straight


def test_samples_are_the_leading_extent() -> None:
    assert _flat(training=False).samples == 4
    assert _flat(training=False, samples=3).samples == 3
