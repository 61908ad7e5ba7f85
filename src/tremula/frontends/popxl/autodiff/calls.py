"""Backward passes of ops that call graphs: calls, and conditionals.

The backward pass of a conditional is a conditional of two new graphs. Each computes its branch again, for the values
that the branch's backward graph reads, and calls that graph: what a branch computes inside is not kept, as the other
branch has no such values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tremula.frontends.popxl.autodiff.context import Backward
from tremula.frontends.popxl.elements import is_float
from tremula.frontends.popxl.info import TensorInfo
from tremula.frontends.popxl.model import Graph, Op, Tensor

if TYPE_CHECKING:
    from tremula.frontends.popxl.autodiff.transform import GradInfo

Gradients = Mapping[int, Tensor]


def of_call(context: Backward, op: Op, gradients: Gradients, wanted: list[int]) -> dict[int, Tensor]:
    """A call of the backward graph."""
    called = op.called[0]
    info = context.of_called(called)

    def zeros(info: TensorInfo, name: str) -> Tensor:
        return zeros_of(context.graph, op, info, name)

    inputs = backward_inputs(
        info,
        called,
        gradients,
        lambda index: context.value(op.inputs[index]),
        lambda index: context.value(op.outputs[index]),
        zeros,
    )
    places = [called.inputs.index(tensor) for tensor in info.expected_outputs]
    names = {index: f"Gradient___{op.inputs[place].name}" for index, place in enumerate(places)}
    for index in range(len(places), len(info.graph.outputs)):
        names[index] = info.graph.outputs[index].name
    made = context.op(op, "Call", inputs, names, {"graphs": [info.graph]})
    return {place: made.outputs[index] for index, place in enumerate(places) if place in wanted}


def backward_inputs(
    info: GradInfo,
    called: Graph,
    gradients: Gradients,
    given: Callable[[int], Tensor],
    returned: Callable[[int], Tensor],
    zeros: Callable[[TensorInfo, str], Tensor],
) -> dict[int, Tensor]:
    """The inputs of the backward graph of `called`: gradients of its outputs, and what it was given or returned."""
    inputs = {}
    for index, (tensor, is_gradient) in enumerate(info.expected_inputs):
        if is_gradient:
            gradient = gradients.get(called.outputs.index(tensor))
            inputs[index] = zeros(tensor.type, tensor.name) if gradient is None else gradient
        elif tensor in called.inputs:
            inputs[index] = given(called.inputs.index(tensor))
        else:
            inputs[index] = returned(called.outputs.index(tensor))
    return inputs


def zeros_of(graph: Graph, op: Op, info: TensorInfo, name: str) -> Tensor:
    attributes = {"shape": info.shape, "dtype": info.dtype}
    made = graph.add_op("Init", {}, {0: f"Gradient___{name}"}, attributes, op.settings)
    return made.outputs[0]


def of_conditional(context: Backward, op: Op, gradients: Gradients, wanted: list[int]) -> dict[int, Tensor]:
    """A conditional of the backward passes of the branches."""
    wanted = [index for index in wanted if index and is_float(op.inputs[index].type.dtype)]
    if not wanted:
        return {}
    inputs: dict[int, Tensor] = {0: context.value(op.inputs[0])}
    graphs, mappings = [], []
    for branch, mapping in zip(op.called, op.attributes["inputs"], strict=True):
        graph = _backward_branch(context, op, branch, mapping, gradients, wanted)
        outer = [context.value(op.inputs[index]) for index in sorted(mapping)]
        outer += [gradients[index] for index in sorted(gradients)]
        first = len(inputs)
        inputs |= dict(enumerate(outer, first))
        graphs.append(graph)
        mappings.append({first + place: place for place in range(len(outer))})
    names = {place: f"Gradient___{op.inputs[index].name}" for place, index in enumerate(wanted)}
    made = context.op(op, "If", inputs, names, {"graphs": graphs, "inputs": mappings})
    return {index: made.outputs[place] for place, index in enumerate(wanted)}


def _backward_branch(
    context: Backward,
    op: Op,
    branch: Graph,
    mapping: Mapping[int, int],
    gradients: Gradients,
    wanted: list[int],
) -> Graph:
    """A graph that computes a branch again and calls its backward graph.

    Its inputs are those of the branch, in the order of the op's indices, then the gradients. Its outputs are the
    gradients of the op's `wanted` inputs: zeros for those of the other branch.
    """
    info = context.of_called(branch)
    ir = context.graph.ir
    graph = ir.create_graph(ir.unique_graph(f"{branch.identifier}_bwd_branch"))
    inner = {
        mapping[index]: graph.add_input(graph.unique(op.inputs[index].name), op.inputs[index].type)
        for index in sorted(mapping)
    }
    seeds = {
        index: graph.add_input(graph.unique(gradients[index].name), gradients[index].type)
        for index in sorted(gradients)
    }

    def zeros(info: TensorInfo, name: str) -> Tensor:
        return zeros_of(graph, op, info, name)

    found: dict[int, Tensor] = {}
    if any(index in mapping for index in wanted):
        names = {index: tensor.name for index, tensor in enumerate(branch.outputs)}
        again = graph.add_op("Call", inner, names, {"graphs": [branch]}, op.settings)
        backward = backward_inputs(
            info, branch, seeds, lambda index: inner[index], lambda index: again.outputs[index], zeros
        )
        names = {index: tensor.name for index, tensor in enumerate(info.graph.outputs)}
        called = graph.add_op("Call", backward, names, {"graphs": [info.graph]}, op.settings)
        found = {
            branch.inputs.index(tensor): called.outputs[place]
            for place, tensor in enumerate(info.expected_outputs)
        }
    for index in wanted:
        gradient = found.get(mapping[index]) if index in mapping else None
        tensor = op.inputs[index]
        graph.outputs.append(zeros(tensor.type, tensor.name) if gradient is None else gradient)
    return graph
