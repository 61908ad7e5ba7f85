"""Recurrent layers, against onnx's reference evaluator, and against torch for gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx.reference import ReferenceEvaluator

from tremula.frontends.onnx.arrays import tensor_of
from tremula.frontends.onnx.interpreter import Interpreter
from tremula.frontends.onnx.model import OnnxModel

from .models import node, proto, run_node, value

GATES = {"RNN": 1, "LSTM": 4, "GRU": 3}


def arrays(kind: str, directions: int, steps: int, batch: int, seed: int = 0) -> dict[str, Any]:
    rng, gates, hidden, width = np.random.default_rng(seed), GATES[kind], 3, 2
    shapes = {
        "x": (steps, batch, width),
        "w": (directions, gates * hidden, width),
        "r": (directions, gates * hidden, hidden),
        "b": (directions, 2 * gates * hidden),
        "h": (directions, batch, hidden),
        "c": (directions, batch, hidden),
    }
    return {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}


@pytest.mark.skipif(
    onnx.__version__.startswith("1.18."),
    reason="the reference evaluator of onnx 1.18 has neither both directions nor the cell state of an LSTM",
)
@settings(max_examples=20, deadline=None)
@given(
    st.sampled_from(list(GATES)),
    st.sampled_from(["forward", "reverse", "bidirectional"]),
    st.integers(1, 4),
    st.integers(1, 3),
    st.booleans(),
)
def test_layers_compute_what_the_reference_computes(
    kind: str, direction: str, steps: int, batch: int, linear_first: bool
) -> None:
    given_arrays = arrays(kind, 2 if direction == "bidirectional" else 1, steps, batch)
    names = ["x", "w", "r", "b", "", "h"] + (["c"] if kind == "LSTM" else [])
    options = {"linear_before_reset": int(linear_first)} if kind == "GRU" else {}
    outputs = ["y", "last"] + (["cell"] if kind == "LSTM" else [])
    used = {name: given_arrays[name] for name in names if name}
    model = proto(
        [node(kind, names, outputs, direction=direction, hidden_size=3, **options)],
        [value(name, array.shape) for name, array in used.items()],
        outputs,
        opset=14,
    )
    expected = ReferenceEvaluator(model).run(outputs, used)
    own = OnnxModel.load(model.SerializeToString())
    found = Interpreter(own.graph).run({name: tensor_of(each) for name, each in used.items()})
    for name, wanted in zip(outputs, expected, strict=True):
        assert np.allclose(found[name].numpy(), wanted, rtol=1e-4, atol=1e-5), name


def test_a_short_sequence_keeps_its_state_and_gives_zeros() -> None:
    each = arrays("GRU", 1, 4, 2)
    whole, last = run_node(
        "GRU",
        each["x"],
        each["w"],
        each["r"],
        each["b"],
        np.array([4, 2], np.int32),
        outputs=2,
        hidden_size=3,
    )
    short, short_last = run_node(
        "GRU", each["x"][:2], each["w"], each["r"], each["b"], outputs=2, hidden_size=3
    )
    assert torch.all(whole[2:, 0, 1] == 0)
    assert torch.allclose(whole[:2, 0, 1], short[:, 0, 1])
    assert torch.allclose(last[0, 1], short_last[0, 1])


def test_lstms_in_both_layouts_are_equal() -> None:
    """The device's own layout: gates forget, input, cell, output; weights of input and state in one tensor."""
    each = arrays("LSTM", 1, 3, 2)
    order = [2, 0, 3, 1]

    def gates(array: Any) -> Any:
        return np.stack([np.split(array[0], 4)[place].T for place in order])

    weights = np.concatenate([gates(each["w"]), gates(each["r"])], axis=1)
    first, second = np.split(each["b"][0], 2)
    biases = np.stack([np.split(first + second, 4)[place] for place in order])
    state = np.concatenate([each["h"], each["c"]])
    onnx_y, _, onnx_c = run_node(
        "LSTM",
        each["x"],
        each["w"],
        each["r"],
        each["b"],
        None,
        each["h"],
        each["c"],
        outputs=3,
        hidden_size=3,
    )
    own_y, own_c = run_node("LSTM", each["x"], weights, biases, state, outputs=2, domain="ai.graphcore")
    assert torch.allclose(own_y, onnx_y[:, 0], atol=1e-6)
    assert torch.allclose(own_c, onnx_c[0], atol=1e-6)


@pytest.mark.parametrize("kind", ["RNN", "GRU"])
def test_gradients_are_torchs(kind: str) -> None:
    """torch's GRU has the gates in the order reset, update, new; ONNX update, reset, hidden."""
    each = {name: torch.from_numpy(array) for name, array in arrays(kind, 1, 3, 2).items()}
    layer = (torch.nn.RNN if kind == "RNN" else torch.nn.GRU)(2, 3)
    order = [0] if kind == "RNN" else [1, 0, 2]

    def turned(tensor: torch.Tensor) -> torch.Tensor:
        return torch.cat([tensor.chunk(len(order))[place] for place in order])

    with torch.no_grad():
        layer.weight_ih_l0.copy_(turned(each["w"][0]))
        layer.weight_hh_l0.copy_(turned(each["r"][0]))
        first, second = each["b"][0].chunk(2)
        layer.bias_ih_l0.copy_(turned(first))
        layer.bias_hh_l0.copy_(turned(second))
    mine, theirs = each["x"].clone().requires_grad_(), each["x"].clone().requires_grad_()
    (found,) = run_node(
        kind, mine, each["w"], each["r"], each["b"], None, each["h"], hidden_size=3, **(
            {"linear_before_reset": 1} if kind == "GRU" else {}
        )
    )  # fmt: skip
    wanted, _ = layer(theirs, each["h"])
    assert torch.allclose(found[:, 0], wanted, atol=1e-6)
    (own,) = torch.autograd.grad(found.pow(2).sum(), [mine])
    (other,) = torch.autograd.grad(wanted.pow(2).sum(), [theirs])
    assert torch.allclose(own, other, atol=1e-5)
