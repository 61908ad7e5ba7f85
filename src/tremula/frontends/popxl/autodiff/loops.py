"""The backward pass of a repeat: its turns are computed again, and then their backward graphs are called in reverse.

Values of turns are not kept, as the body has room for those of one turn. The turns are calls in the backward graph.
"""

from __future__ import annotations

from collections.abc import Mapping

from tremula.frontends.popxl.autodiff.calls import backward_inputs, zeros_of
from tremula.frontends.popxl.autodiff.context import Backward
from tremula.frontends.popxl.elements import is_float
from tremula.frontends.popxl.errors import graph_error
from tremula.frontends.popxl.info import TensorInfo
from tremula.frontends.popxl.model import Graph, Op, Tensor

#: inputs of a repeat and of its body that come before those of the graph: the turn, and whether to go on
_OWN = 2
_MOST_TURNS = 10_000


def of_loop(
    context: Backward, op: Op, gradients: Mapping[int, Tensor], wanted: list[int]
) -> dict[int, Tensor]:
    """Calls of the repeated graph, then calls of its backward graph."""
    graph = _repeated(op)
    turns, carried = int(op.attributes["trip_count"]), len(op.outputs)
    if turns > _MOST_TURNS:
        raise graph_error(
            f"The gradients of a repeat of {turns} turns are not supported; the most is {_MOST_TURNS}."
        )
    info = context.of_called(graph)

    def zeros(kind: TensorInfo, name: str) -> Tensor:
        return zeros_of(context.graph, op, kind, name)

    values = [context.value(op.inputs[index]) for index in sorted(op.inputs) if index >= _OWN]
    starts = []
    for _ in range(turns):
        names = {index: tensor.name for index, tensor in enumerate(graph.outputs)}
        made = context.op(op, "Call", dict(enumerate(values)), names, {"graphs": [graph]})
        starts.append((values, made))
        values = [*(made.outputs[index] for index in range(carried)), *values[carried:]]
    found = {
        index: gradients[index] if index in gradients else zeros(tensor.type, tensor.name)
        for index, tensor in op.outputs.items()
        if is_float(tensor.type.dtype)
    }
    parts: dict[int, list[Tensor]] = {}
    for given, made in reversed(starts):
        inputs = backward_inputs(info, graph, found, given.__getitem__, made.outputs.__getitem__, zeros)
        names = {place: tensor.name for place, tensor in enumerate(info.graph.outputs)}
        back = context.op(op, "Call", inputs, names, {"graphs": [info.graph]})
        own = {
            graph.inputs.index(tensor): back.outputs[place]
            for place, tensor in enumerate(info.expected_outputs)
        }
        found = {
            index: own[index] if index in own else zeros(op.outputs[index].type, op.outputs[index].name)
            for index in found
        }
        for index, part in own.items():
            if index >= carried:
                parts.setdefault(index, []).append(part)
    found |= {index: _sum(context, op, index, each) for index, each in parts.items()}
    return {index + _OWN: tensor for index, tensor in found.items() if index + _OWN in wanted}


def _repeated(op: Op) -> Graph:
    """The graph that the body calls."""
    calls = op.called[0].schedule()
    if len(calls) != 1 or calls[0].kind != "Call":
        raise graph_error(
            f"The body of {op} is not a call of one graph, and the repeat cannot be differentiated."
        )
    return calls[0].called[0]


def _sum(context: Backward, op: Op, index: int, parts: list[Tensor]) -> Tensor:
    if len(parts) == 1:
        return parts[0]
    return context.part(op, index + _OWN, "Sum", parts, {})
