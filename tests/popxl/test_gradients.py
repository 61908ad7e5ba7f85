"""Gradients of repeats and of reductions over replicas, through `popxl`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

import popxl
from popxl import ops

RNG = np.random.default_rng(3)
ROWS = RNG.normal(size=(3, 4)).astype(np.float32)
WEIGHT = (RNG.normal(size=(4, 4)) / 2).astype(np.float32)


def gradients_of(build: Callable[[popxl.Ir, popxl.Tensor, popxl.Tensor], popxl.Tensor]) -> list[np.ndarray]:
    """The gradients of a loss of `ROWS` and `WEIGHT`."""
    ir = popxl.Ir()
    with ir.main_graph, popxl.in_sequence():
        rows, weight = popxl.variable(ROWS), popxl.variable(WEIGHT)
        graph = ir.create_graph(lambda x, w: build(ir, x, w), rows, weight)
        call = ops.call_with_info(graph, rows, weight)
        backward = popxl.transforms.autodiff(graph)
        found = ops.call(backward.graph, 1.0, inputs_dict=backward.inputs_dict(call))
        streams = [popxl.d2h_stream(each.shape, each.dtype) for each in found]
        for stream, each in zip(streams, found, strict=True):
            ops.host_store(stream, each)
    with popxl.Session(ir, "ipu_model") as session:
        returned = session.run()
    return [returned[stream] for stream in streams]


@pytest.mark.parametrize("turns", [0, 1, 3])
def test_a_repeat_has_the_gradients_of_its_turns(turns: int) -> None:
    def loss(ir: popxl.Ir, x: popxl.Tensor, w: popxl.Tensor) -> popxl.Tensor:
        body = ir.create_graph(lambda a, b: ops.gelu(a @ b) * 1.5, x, w)
        (result,) = ops.repeat(body, turns, x, w)
        return ops.sum(result * result + ops.sum(w))

    x, w = (torch.tensor(each, requires_grad=True) for each in (ROWS, WEIGHT))
    result = x
    for _ in range(turns):
        result = torch.nn.functional.gelu(result @ w, approximate="tanh") * 1.5
    (result * result + w.sum()).sum().backward()
    for found, wanted in zip(gradients_of(loss), (x.grad, w.grad), strict=True):
        assert wanted is not None
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def test_several_carried_values_have_gradients() -> None:
    def loss(ir: popxl.Ir, x: popxl.Tensor, w: popxl.Tensor) -> popxl.Tensor:
        body = ir.create_graph(lambda a, b: (a @ b, b * 0.5), x, w)
        product, _ = ops.repeat(body, 2, x, w)
        return ops.sum(product)

    x, w = (torch.tensor(each, requires_grad=True) for each in (ROWS, WEIGHT))
    (x @ w @ (w * 0.5)).sum().backward()
    for found, wanted in zip(gradients_of(loss), (x.grad, w.grad), strict=True):
        assert wanted is not None
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("operator", "factor"), [("add", 1.0), ("mean", 0.5)])
def test_an_all_reduce_reduces_its_gradients(operator: str, factor: float) -> None:
    ir = popxl.Ir(replication=2)
    seeds = np.array([[1.0, 2.0], [10.0, 20.0]], np.float32)
    with ir.main_graph, popxl.in_sequence():
        seed_stream = popxl.h2d_stream((2,), popxl.float32)
        seed = ops.host_load(seed_stream)
        data = popxl.variable(np.ones(2, np.float32))
        graph = ir.create_graph(lambda x: ops.collectives.replicated_all_reduce(x, op=operator), data)
        ops.call(graph, data)
        backward = popxl.transforms.autodiff(graph)
        (gradient,) = ops.call(backward.graph, seed)
        stream = popxl.d2h_stream((2,), popxl.float32)
        ops.host_store(stream, gradient)
    with popxl.Session(ir, "ipu_model") as session:
        found = session.run({seed_stream: seeds})[stream]
    np.testing.assert_allclose(found, [seeds.sum(0) * factor] * 2)
