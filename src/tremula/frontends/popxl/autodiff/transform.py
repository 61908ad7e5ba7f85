"""The backward graph of a graph: from gradients of outputs to gradients of inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tremula.frontends.popxl.aliases import CALLS
from tremula.frontends.popxl.autodiff.context import Backward
from tremula.frontends.popxl.autodiff.rules import RULES, STOPS, generic
from tremula.frontends.popxl.elements import is_float
from tremula.frontends.popxl.errors import graph_error
from tremula.frontends.popxl.model import Graph, Op, Tensor, add_graph_output
from tremula.frontends.popxl.ops.table import find


@dataclass
class GradInfo:
    """A backward graph and what its inputs and outputs are, in terms of tensors of the forward graph.

    Attributes:
        expected_inputs: tensors, and whether their gradients are meant.
        expected_outputs: tensors whose gradients come out.
    """

    forward: Graph
    graph: Graph
    expected_inputs: list[tuple[Tensor, bool]]
    expected_outputs: list[Tensor]


def differentiate(
    graph: Graph,
    provided: Sequence[Tensor] | None = None,
    required: Sequence[Tensor] | None = None,
    known: Mapping[Graph, GradInfo] | None = None,
) -> dict[Graph, GradInfo]:
    """The backward graphs of `graph` and, unless they are `known`, of all graphs that it calls.

    Gradients are provided for outputs and required of inputs: by default for all, and of all that have one. Forward
    values that the backward graph reads become outputs of the forward graph.

    Raises:
        Error: a gradient that is required does not exist, or an op writes to its inputs or cannot be differentiated.
    """
    found = dict(known or {})
    found.pop(graph, None)
    _differentiate(graph, provided, required, found)
    return found


def _differentiate(
    graph: Graph,
    provided: Sequence[Tensor] | None,
    required: Sequence[Tensor] | None,
    found: dict[Graph, GradInfo],
) -> GradInfo:
    _refuse_changes(graph)

    def of_called(called: Graph) -> GradInfo:
        if called not in found:
            if not called.may_be_differentiated:
                raise graph_error(
                    f"The graph {called.identifier} has been marked as unsafe to autodiff where it is called. Give its "
                    "backward graph in called_graphs_grad_info."
                )
            _differentiate(called, None, None, found)
        return found[called]

    identifier = graph.ir.unique_graph(f"{graph.identifier}_bwd")
    context = Backward(graph, graph.ir.create_graph(identifier), of_called)
    for tensor in graph.outputs if provided is None else provided:
        if tensor not in graph.outputs:
            raise graph_error(f"{tensor.identifier} is not an output of the graph {graph.identifier}.")
        context.gradient_input(tensor)
    wanted = list(graph.inputs if required is None else required)
    needed = _needed(graph, wanted)
    for op in reversed(graph.schedule()):
        _backward_of(context, op, needed)
    outputs = _outputs(context, wanted, strict=required is not None)
    for tensor, is_gradient in context.expected:
        if not is_gradient and tensor not in graph.inputs:
            add_graph_output(graph, tensor)
    found[graph] = GradInfo(graph, context.graph, context.expected, outputs)
    return found[graph]


def _refuse_changes(graph: Graph) -> None:
    for op in graph.ops:
        changes = any(op.modified.values()) if op.kind in CALLS else bool(find(op.kind).modifies)
        if changes:
            raise graph_error(
                f"The graph {graph.identifier} contains a modifying op, {op}, and cannot be differentiated: use the op "
                "that is not in place."
            )


def _needed(graph: Graph, required: Sequence[Tensor]) -> set[Tensor]:
    """The tensors on a way from the required ones to an output."""
    reached = set(required)
    for op in graph.schedule():
        if op.kind not in STOPS and any(tensor in reached for tensor in op.inputs.values()):
            reached.update(op.outputs.values())
    return reached


def _backward_of(context: Backward, op: Op, needed: set[Tensor]) -> None:
    if op.kind in STOPS:
        return
    wanted = [index for index, tensor in sorted(op.inputs.items()) if tensor in needed]
    if not wanted:
        return
    gradients = {}
    for index, tensor in op.outputs.items():
        gradient = context.gradient(tensor)
        if gradient is not None:
            gradients[index] = gradient
    if not gradients:
        return
    rule = RULES.get(op.kind, generic)
    if op.kind == "AllReduce" and len(gradients) < len(op.outputs):
        raise graph_error("Gradients of some outputs of an all-reduce are missing.")
    for index, gradient in rule(context, op, gradients, wanted).items():
        context.add(op.inputs[index], gradient, op)


def _outputs(context: Backward, wanted: Sequence[Tensor], *, strict: bool) -> list[Tensor]:
    outputs = []
    for tensor in wanted:
        gradient = context.gradient(tensor)
        if gradient is None:
            if strict and is_float(tensor.type.dtype):
                raise graph_error(
                    f"The gradient of {tensor.identifier} is required, but no output that a gradient is provided for "
                    f"depends on it in the graph {context.forward.identifier}."
                )
            if strict:
                raise graph_error(
                    f"The gradient of {tensor.identifier} is required, but tensors of the type {tensor.type.dtype} "
                    "have none."
                )
            continue
        if gradient in context.graph.inputs or gradient in context.graph.outputs:
            op = context.graph.add_op("Identity", {0: gradient}, {0: f"Gradient___{tensor.name}"}, {})
            gradient = op.outputs[0]
        context.graph.outputs.append(gradient)
        outputs.append(tensor)
    return outputs
