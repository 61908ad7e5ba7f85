"""Which gradient updates which weights.

The update of a variable reads its gradient, or an accumulator of it, behind casts, clipping and sums over replicas. The
gradient of a micro-batch is the nearest value that the backward pass made, of the variable's size where there is one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from tremula.frontends.tensorflow.capture.live import has_effect
from tremula.frontends.tensorflow.capture.nodes import Node, Value, Variable
from tremula.program.op import Phase


@dataclass
class Trained:
    """A variable that is trained.

    Attributes:
        variable: the weights.
        gradient: of a micro-batch.
        totals: values that are accumulators after a micro-batch; the update reads them.
        accumulator_dtype: the type of the accumulator, if the program has one.
    """

    variable: Variable
    gradient: Value
    totals: tuple[Value, ...] = ()
    accumulator_dtype: str | None = None


def find(nodes: Sequence[Node], trainable: set[Variable]) -> list[Trained]:
    """The trained variables of a program, in the order of their updates."""
    #: accumulators that are variables of a loop: what is added to each
    stored: dict[Variable, Node] = {}
    for node in nodes:
        if node.phase is Phase.ACCUMULATE and node.inputs and node.inputs[0].variable is not None:
            stored[node.inputs[0].variable] = node
    #: what the update writes: state of an optimizer whose arithmetic is written out
    writers: dict[Variable, Node] = {}
    for node in nodes:
        if node.phase is Phase.UPDATE and has_effect(node):
            for value in node.inputs:
                if value.variable is not None:
                    writers.setdefault(value.variable, node)
    trained: dict[Variable, Trained] = {}
    for node in nodes:
        if node.phase is not Phase.UPDATE or node.type == "ReadVariableOp":
            continue
        for value in node.inputs:
            variable = value.variable
            if variable in trainable and variable not in trained and variable is not None:
                found = _gradient(node, variable, stored, writers)
                if found is not None:
                    trained[variable] = found
    return list(trained.values())


def _gradient(
    update: Node, variable: Variable, stored: dict[Variable, Node], writers: dict[Variable, Node]
) -> Trained | None:
    for same_size in (True, False):
        found = _nearest(update, variable, stored, writers, same_size)
        if found is not None:
            return found
    return None


def _nearest(
    update: Node,
    variable: Variable,
    stored: dict[Variable, Node],
    writers: dict[Variable, Node],
    same_size: bool,
) -> Trained | None:
    waiting = deque(value for value in update.inputs if value is not variable.value)
    seen: set[Value] = set()
    while waiting:
        value = waiting.popleft()
        if value in seen or (same_size and value.elements != variable.value.elements):
            continue
        seen.add(value)
        if value.variable is not None and value.variable in stored:
            added = _added(stored[value.variable], variable)
            if added is not None:
                return Trained(variable, added, (value,), value.dtype)
        if value.variable is not None and value.variable in writers:
            waiting.extend(each for each in writers[value.variable].inputs if each is not variable.value)
        node = value.node
        if node is None:
            continue
        if node.phase is Phase.ACCUMULATE:
            added = _added(node, variable)
            if added is not None:
                return Trained(variable, added, (value,), value.dtype)
        elif node.phase is Phase.BACKWARD:
            return Trained(variable, value)
        elif node.phase is Phase.UPDATE:
            waiting.extend(node.inputs)
    return None


def _added(node: Node, variable: Variable) -> Value | None:
    """What an accumulation adds: a value of the backward pass."""
    waiting = deque(node.inputs)
    best: Value | None = None
    seen: set[Value] = set()
    while waiting:
        value = waiting.popleft()
        maker = value.node
        if value in seen or maker is None:
            continue
        seen.add(value)
        if maker.phase is Phase.BACKWARD:
            if value.elements == variable.value.elements:
                return value
            if best is None or value.elements > best.elements:
                best = value
        elif maker.phase is Phase.ACCUMULATE:
            waiting.extend(maker.inputs)
    return best
