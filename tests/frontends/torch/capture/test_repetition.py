"""An update that is recorded once per shape is the same update."""

from __future__ import annotations

import pytest
import torch
from torch import fx

from tremula.frontends.torch.capture.update import capture_update
from tremula.frontends.torch.graphs.program import RECORD, Annotation
from tremula.frontends.torch.optimize.rules import apply_update, hyper_tensors, initial_state
from tremula.frontends.torch.optimize.spec import (
    GroupSpec,
    HyperValue,
    Kind,
    LossScaleSettings,
    OptimizerSpec,
)
from tremula.program.op import Placement

SHAPES = {"a": (4, 3), "b": (4, 3), "a.b": (4, 3), "c": (3,), "d": (3,), "e": (4, 3)}
VALUES = {
    "learningRate": 0.1, "weightDecay": 0.01, "momentum": 0.9, "dampening": 0.0, "velocityScaling": 1.0,
    "nesterov": 0.0, "beta1": 0.9, "beta2": 0.99, "eps": 1e-6, "maxWeightNorm": 10.0, "alpha": 0.9,
}  # fmt: skip


def _spec(kind: Kind, **more: object) -> OptimizerSpec:
    variable = {key: HyperValue(value) for key, value in VALUES.items()}
    fixed = {key: HyperValue(value, constant=True) for key, value in VALUES.items()}
    groups = (GroupSpec(("a", "b", "a.b", "c"), variable), GroupSpec(("d", "e"), fixed))
    return OptimizerSpec(kind, groups, **more)  # type: ignore[arg-type]


def _tensors(spec: OptimizerSpec) -> tuple[dict[str, torch.Tensor], ...]:
    generator = torch.Generator().manual_seed(1)
    parameters = {name: torch.randn(shape, generator=generator) for name, shape in SHAPES.items()}
    parameters["e"] = parameters["e"].half()  # alike in shape, not in type
    gradients = {
        name: torch.randn(t.shape, generator=generator).to(t.dtype) for name, t in parameters.items()
    }
    return parameters, gradients, initial_state(spec, parameters), hyper_tensors(spec)


def _recorded(spec: OptimizerSpec, *, repeating: bool) -> fx.GraphModule:
    def update(p, g, s, h, each):  # type: ignore[no-untyped-def]
        apply_update(spec, p, g, s, h, each) if repeating else apply_update(spec, p, g, s, h)

    annotations = {name: Annotation(Placement(ipu=i)) for i, name in enumerate(SHAPES)}
    return capture_update(update, *_tensors(spec), annotations)


@pytest.mark.parametrize(
    "spec",
    [
        *[_spec(kind) for kind in Kind],
        _spec(Kind.ADAM, max_grad_norm=0.5),
        _spec(Kind.LAMB, automatic_loss_scaling=LossScaleSettings()),
        _spec(Kind.SGD, use_combined_accum=False),
    ],
    ids=lambda spec: spec.kind.value,
)
def test_copies_compute_what_a_recording_computes(spec: OptimizerSpec) -> None:
    results = []
    for repeating in (True, False):
        module = _recorded(spec, repeating=repeating)
        tables = _tensors(spec)
        for _ in range(2):
            module(*(tensor for table in tables for tensor in table.values()))
        results.append(([str(node.target) for node in module.graph.nodes], tables))
    (targets, copied), (expected_targets, expected) = results
    assert sorted(targets) == sorted(expected_targets)
    for mine, other in zip(copied, expected, strict=True):
        for name, tensor in mine.items():
            torch.testing.assert_close(tensor, other[name], rtol=0, atol=0, msg=name)


def test_each_update_is_placed_with_its_parameter() -> None:
    module = _recorded(_spec(Kind.SGD), repeating=True)
    placed = {
        node.meta[RECORD].annotation.placement.ipu
        for node in module.graph.nodes
        if node.op == "call_function"
    }
    assert placed == set(range(len(SHAPES)))
