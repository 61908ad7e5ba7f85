"""Which nodes the compiler leaves out, for no result of the program and no effect follows from them.

Traced gradients hold many: those of the first layer's input, of a dropout's rate, of numbers of the program's text.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tremula.frontends.tensorflow.capture.nodes import Node, Value

#: nodes with results that are there for what they do as well
_EFFECTS_TEXT = """
    PyFunc EagerPyFunc Print PrintV2 Assert IteratorGetNext IteratorGetNextSync IteratorGetNextAsOptional
    QueueDequeueV2 QueueDequeueManyV2 RngReadAndSkip RngSkip Assign AssignAdd AssignSub
"""
_EFFECTS = frozenset(_EFFECTS_TEXT.split())


def dead_nodes(nodes: Sequence[Node], results: Collection[Value]) -> set[Node]:
    """The nodes of a program with these results that nothing follows from."""
    wanted = {value.node for value in results}
    dead: set[Node] = set()
    for node in reversed(nodes):
        if node in wanted or not node.outputs or node.type in _EFFECTS or _writes(node):
            continue
        if all(user in dead for value in node.outputs for user in value.users):
            dead.add(node)
    return dead


def _writes(node: Node) -> bool:
    """Whether a node that names a variable may change it."""
    return (
        node.type not in ("ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VariableShape")
        and any(value.variable is not None for value in node.inputs)
        and node.type.startswith(("Resource", "Assign", "Scatter"))
    )
