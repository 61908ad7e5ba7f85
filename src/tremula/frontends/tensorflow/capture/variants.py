"""A captured program in another precision, or with inputs and accumulators of other types."""

from __future__ import annotations

from collections.abc import Sequence

from tremula.errors import Error
from tremula.frontends.tensorflow.capture.captured import Captured
from tremula.frontends.tensorflow.capture.nodes import Node, Value
from tremula.program.dtypes import ON_DEVICE
from tremula.program.op import Phase

_STEP = (Phase.FORWARD, Phase.BACKWARD)


def in_half(captured: Captured) -> None:
    """Let a program compute as under the policy mixed_float16: in fp16, with weights in fp32 that each step casts.

    The program is changed in place.
    """
    halved: dict[Value, Value] = {}
    nodes: list[Node] = []
    for value in captured.inputs:
        _narrow(value)
    for node in captured.nodes:
        if node.phase in _STEP:
            for place, value in enumerate(node.inputs):
                if value in halved and node.type != "ReadVariableOp":
                    node.inputs[place] = halved[value]
            for value in node.outputs:
                if node.type != "ReadVariableOp":
                    _narrow(value)
        nodes.append(node)
        if node.type == "ReadVariableOp" and node.phase in _STEP and node.output.dtype == "fp32":
            cast = _cast(node.output, "fp16", node)
            halved[node.output] = cast.output
            _move_users(node.output, cast.output, cast, _STEP)
            nodes.append(cast)
    captured.nodes = nodes
    for each in captured.trained:
        gradient = each.gradient
        if gradient.dtype == "fp16" and each.variable.dtype == "fp32" and gradient.node is not None:
            cast = _cast(gradient, "fp32", gradient.node)
            _move_users(gradient, cast.output, cast, (Phase.ACCUMULATE, Phase.UPDATE))
            captured.nodes.insert(captured.nodes.index(gradient.node) + 1, cast)
            each.gradient = cast.output


def with_sent_types(captured: Captured, sent: Sequence[str | None]) -> None:
    """Let the host send inputs in other types; they are cast on the device. The program is changed in place.

    Args:
        captured: the program.
        sent: numpy's names of types, by input; None: as it is.
    """
    if len(sent) != len(captured.inputs):
        raise Error(f"The program has {len(captured.inputs)} inputs, and {len(sent)} types are given.")
    for value, name in zip(captured.inputs, sent, strict=True):
        if name is None or ON_DEVICE[name] == value.dtype:
            continue
        wanted, value.dtype = value.dtype, ON_DEVICE[name]
        first = next((node for node in captured.nodes if value in node.inputs), None)
        cast = _cast(value, wanted, first or captured.nodes[0])
        cast.phase = Phase.FORWARD
        _move_users(value, cast.output, cast, tuple(Phase))
        place = captured.nodes.index(first) if first is not None else 0
        captured.nodes.insert(place, cast)


def _narrow(value: Value) -> None:
    if value.dtype == "fp32":
        value.dtype = "fp16"


def _cast(value: Value, dtype: str, like: Node) -> Node:
    name = f"{value.name}/cast to {dtype}"
    node = Node(
        name,
        "Cast",
        [value],
        [],
        {},
        {},
        like.phase,
        like.module,
        like.source,
        like.stage,
        like.ipu,
        like.block,
    )
    node.outputs.append(Value(name, value.shape, dtype, node))
    return node


def _move_users(old: Value, new: Value, cast: Node, phases: Sequence[Phase]) -> None:
    stay = []
    for user in old.users:
        if user.phase in phases and user is not cast:
            user.inputs = [new if each is old else each for each in user.inputs]
            new.users.append(user)
        else:
            stay.append(user)
    old.users = [*stay, cast]
