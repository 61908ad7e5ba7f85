"""Backward graphs give the gradients that torch gives."""

from __future__ import annotations

from collections.abc import Callable

import hypothesis.extra.numpy as arrays
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tremula.frontends.popxl.autodiff import differentiate
from tremula.frontends.popxl.info import TensorInfo
from tremula.frontends.popxl.model import Graph, Tensor

from .graphs import call, constant, new_ir, op, run, store, variable

Build = Callable[[Graph, Tensor, Tensor], Tensor]

CASES: dict[str, tuple[Build, Callable[..., torch.Tensor]]] = {
    "product": (lambda g, x, w: op(g, "Mul", x, w), lambda x, w: x * w),
    "sum with a row": (
        lambda g, x, w: op(g, "Add", x, op(g, "ReduceSum", w, axes=[0], keepdims=False)),
        lambda x, w: x + w.sum(0),
    ),
    "difference": (lambda g, x, w: op(g, "Subtract", x, w), lambda x, w: x - w),
    "matmul": (
        lambda g, x, w: op(g, "MatMul", x, op(g, "Transpose", w, permutation=(1, 0))),
        lambda x, w: x @ w.T,
    ),
    "used twice": (lambda g, x, w: op(g, "Mul", op(g, "Mul", x, x), w), lambda x, w: x * x * w),
    "softmax": (
        lambda g, x, w: op(g, "Softmax", op(g, "Mul", x, w), axis=1),
        lambda x, w: torch.softmax(x * w, 1),
    ),
    "gelu of a view": (
        lambda g, x, w: op(g, "Reshape", op(g, "Gelu", op(g, "Add", x, w)), shape=(6,)),
        lambda x, w: torch.nn.functional.gelu(x + w, approximate="tanh").reshape(6),
    ),
    "slice": (
        lambda g, x, w: op(g, "Slice", op(g, "Mul", x, w), axes=[1], starts=[1], stops=[3], steps=[1]),
        lambda x, w: (x * w)[:, 1:3],
    ),
}
_ARRAYS = arrays.arrays(np.float32, (2, 3), elements=st.floats(-2, 2, width=32))


def _gradients(build: Build, x: np.ndarray, w: np.ndarray, *, inside: bool) -> list[np.ndarray]:
    ir = new_ir()
    graph = ir.create_graph("forward")
    inputs = [graph.add_input(graph.unique(name), TensorInfo("float32", (2, 3))) for name in ("x", "w")]
    result = build(graph, *inputs)
    graph.outputs.append(result)
    outer = graph
    if inside:  # in a graph that calls it
        outer = ir.create_graph("outer")
        outside = [outer.add_input(outer.unique(name), TensorInfo("float32", (2, 3))) for name in ("a", "b")]
        outer.outputs.append(call(outer, graph, *outside).outputs[0])
    info = differentiate(outer)[outer]
    values = [variable(ir, "x", x), variable(ir, "w", w)]
    forward = call(ir.main, outer, *values)
    seed = constant(ir.main, "seed", np.ones(result.type.shape, np.float32))
    given_inputs = []
    for tensor, is_gradient in info.expected_inputs:
        if is_gradient:
            given_inputs.append(seed)
        elif tensor in outer.inputs:
            given_inputs.append(values[outer.inputs.index(tensor)])
        else:
            given_inputs.append(forward.outputs[outer.outputs.index(tensor)])
    backward = call(ir.main, info.graph, *given_inputs)
    for index in range(2):
        store(ir, f"gradient{index}", backward.outputs[index])
    return run(ir, "gradient0", "gradient1")


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("inside", [False, True])
@settings(max_examples=5, deadline=None)
@given(x=_ARRAYS, w=_ARRAYS)
def test_gradients(case: str, inside: bool, x: np.ndarray, w: np.ndarray) -> None:
    build, function = CASES[case]
    found = _gradients(build, x, w, inside=inside)
    leaves = [torch.tensor(each, requires_grad=True) for each in (x, w)]
    expected = torch.autograd.grad(function(*leaves).sum(), leaves)
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine[0], theirs.numpy(), rtol=1e-4, atol=1e-5)


def test_a_graph_that_writes_to_its_input_is_refused() -> None:
    ir = new_ir()
    graph = ir.create_graph("writes")
    x = graph.add_input(graph.unique("x"), TensorInfo("float32", (2,)))
    graph.outputs.append(op(graph, "ReluInplace", x))
    with pytest.raises(Exception, match="contains a modifying op"):
        differentiate(graph)


def test_a_gradient_that_does_not_exist_is_refused() -> None:
    ir = new_ir()
    graph = ir.create_graph("detached")
    x = graph.add_input(graph.unique("x"), TensorInfo("float32", (2,)))
    graph.outputs.append(op(graph, "Detach", x))
    with pytest.raises(Exception, match="is required"):
        differentiate(graph, required=[x])
    assert differentiate(graph)[graph].expected_outputs == []
