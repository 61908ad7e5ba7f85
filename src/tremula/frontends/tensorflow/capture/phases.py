"""To which phase of a step each node belongs.

Marks in the graph say which ops compute gradients, accumulate them or update weights. The others follow from what they
depend on: what is made of gradients and not accumulated belongs to the update, and so does what only the update uses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tremula.frontends.tensorflow.capture.live import has_effect
from tremula.frontends.tensorflow.capture.loops import LoopCounts
from tremula.frontends.tensorflow.capture.nodes import Node, Value
from tremula.program.op import Phase

#: ops that make room for results; the gradient of a loop makes some for its forward pass to fill
_EMPTY = frozenset({"EmptyTensorList", "TensorListReserve"})
_PHASES = tuple(Phase)
_ORDER = {phase: place for place, phase in enumerate(Phase)}


def assign(nodes: Sequence[Node], marked: Mapping[Node, Phase]) -> None:
    """Set the phases of nodes, in the order in which they run."""
    #: variables that the update has written: what reads one later belongs to the update too
    written: set[Value] = set()
    for node in nodes:
        phase = marked.get(node) if node.type not in _EMPTY else Phase.FORWARD
        if phase is None:
            before = max(
                (_ORDER[value.node.phase] for value in node.inputs if value.node is not None), default=0
            )
            late = any(value in written for value in node.inputs)
            phase = Phase.FORWARD if before == 0 and not late else Phase.UPDATE
        node.phase = phase
        if phase is Phase.UPDATE and has_effect(node):
            written.update(value for value in node.inputs if value.variable is not None)
    _pull_to_update(nodes, marked)


def settle(nodes: Sequence[Node], counts: LoopCounts) -> None:
    """Correct phases by the loops: what is made of a gradient before it is accumulated is of the backward pass, and
    what runs once for several micro-batches belongs to the update.
    """
    if counts.accumulation_block is None:
        return
    for node in nodes:
        inside = counts.in_accumulation(node.block)
        if node.phase is Phase.UPDATE and inside and _is_of_one_micro_batch(node):
            node.phase = Phase.BACKWARD
        elif (
            node.phase in (Phase.FORWARD, Phase.BACKWARD) and not inside and not counts.is_outside(node.block)
        ):
            node.phase = Phase.UPDATE


def _is_of_one_micro_batch(node: Node) -> bool:
    makers = [value.node for value in node.inputs if value.node is not None]
    return all(maker.phase in (Phase.FORWARD, Phase.BACKWARD) for maker in makers)


def _pull_to_update(nodes: Sequence[Node], marked: Mapping[Node, Phase]) -> None:
    for node in reversed(nodes):
        if node.phase is Phase.FORWARD and node.outputs and (node not in marked or node.type in _EMPTY):
            users = [user for value in node.outputs for user in value.users]
            first = min((_ORDER[user.phase] for user in users), default=0)
            constant_of_gradients = not node.inputs and first == _ORDER[Phase.BACKWARD]
            if first == _ORDER[Phase.UPDATE] or constant_of_gradients:
                node.phase = _PHASES[first]
