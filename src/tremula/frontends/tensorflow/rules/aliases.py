"""Nodes that give their inputs on as they are: identities, reads of variables, ends of branches."""

from __future__ import annotations

from collections.abc import Iterator

from tremula.frontends.tensorflow.capture.nodes import Node, Value
from tremula.frontends.tensorflow.rules.call import Call, GraphFacts
from tremula.program.lowered import Lowered

_TEXT = """
    Identity IdentityN StopGradient PreventGradient Snapshot EnsureShape CheckNumerics CheckNumericsV2 ReadVariableOp
    PlaceholderWithDefault Enter Exit NextIteration RefIdentity DeepCopy CopyHost Switch Merge RefSwitch RefMerge
"""
ALIASES = frozenset(_TEXT.split())


def alias(call: Call) -> Lowered:
    """Each result is the input of the same position; a switch gives its only input twice."""
    if not call.node.inputs:
        return call.lowered((), "hint", reads=())
    shares = []
    for number, value in enumerate(call.node.outputs):
        source = _input(call.node, number)
        shares.append(source.name)
        if source.shape == value.shape:
            call.facts.place(value, call.facts.operand(source).strides)
    return call.lowered((), "view", reads=(), shares=tuple(shares))


def _input(node: Node, position: int) -> Value:
    """What the result at `position` of an alias is."""
    if node.type.endswith(("Switch", "Merge")):
        return node.inputs[0]
    return node.inputs[min(position, len(node.inputs) - 1)]


def behind_aliases(value: Value, facts: GraphFacts) -> Value:
    """The value behind identities, reads of variables and repetitions."""
    while True:
        value = facts.repeated.get(value, value)
        node = value.node
        if node is None or node.type not in ALIASES or not node.inputs:
            return value
        value = _input(node, node.outputs.index(value) if len(node.outputs) > 1 else 0)


def users_behind_aliases(value: Value, facts: GraphFacts) -> Iterator[Node | None]:
    """Users of a value behind aliases; None stands for the program, whose result an alias is."""
    waiting = [value]
    while waiting:
        current = waiting.pop()
        for user in facts.users(current):
            if user.type not in ALIASES:
                yield user
                continue
            for number, made in enumerate(user.outputs):
                if _input(user, number) is current or user.type.endswith("Merge"):
                    if made in facts.kept:
                        yield None
                    waiting.append(made)
