"""Ops that call graphs. The program runs them itself; here are the shapes of what they return."""

from __future__ import annotations

from tremula.frontends.popxl.errors import graph_error
from tremula.frontends.popxl.info import TensorInfo
from tremula.frontends.popxl.model import Op
from tremula.frontends.popxl.ops.table import by_the_program, kernel


def _of_call(op: Op) -> dict[int, TensorInfo]:
    graph = op.called[0]
    for index, tensor in op.inputs.items():
        if index >= len(graph.inputs):
            raise graph_error(f"The graph {graph.identifier} has no input {index}.")
        inner = graph.inputs[index].type
        if tensor.type.shape != inner.shape or tensor.type.dtype != inner.dtype:
            raise graph_error(
                f"The graph {graph.identifier} is called with {tensor.identifier} of the shape "
                f"{list(tensor.type.shape)} and type {tensor.type.dtype}, but its input "
                f"{graph.inputs[index].identifier} has {list(inner.shape)} and {inner.dtype}."
            )
    return {index: graph.outputs[index].type for index in op.outputs}


def _of_loop(op: Op) -> dict[int, TensorInfo]:
    body = op.called[0]
    return {index: body.outputs[index + 1].type for index in op.outputs}


def _of_branches(op: Op) -> dict[int, TensorInfo]:
    then, otherwise = op.called
    # branches may return more, for backward graphs of calls of them
    for index in op.outputs:
        first, second = then.outputs[index], otherwise.outputs[index]
        if first.type.shape != second.type.shape or first.type.dtype != second.type.dtype:
            raise graph_error(
                f"The branches return {first.identifier} and {second.identifier} at the same place, whose shapes or "
                "types differ."
            )
    return {index: then.outputs[index].type for index in op.outputs}


kernel("Call", infer=_of_call, effect=True)(by_the_program)
kernel("Loop", infer=_of_loop, effect=True)(by_the_program)
kernel("If", infer=_of_branches, effect=True)(by_the_program)
