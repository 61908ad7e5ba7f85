"""Which nodes of a program matter: those that do something, and what they depend on."""

from __future__ import annotations

from collections.abc import Iterable

from tremula.frontends.tensorflow.capture.nodes import Node, Value


def live(nodes: Iterable[Node], outputs: Iterable[Value]) -> list[Node]:
    """The nodes that something depends on: results, variables, feeds. Values forget their other users."""
    needed: set[Node] = set()
    waiting = [value.node for value in outputs if value.node is not None]
    listed = list(nodes)
    waiting += [node for node in listed if has_effect(node)]
    while waiting:
        node = waiting.pop()
        if node not in needed:
            needed.add(node)
            waiting += [value.node for value in node.inputs if value.node is not None]
    for value in {value for node in listed for value in (*node.inputs, *node.outputs)}:
        value.users = [user for user in value.users if user in needed]
    return [node for node in listed if node in needed]


def has_effect(node: Node) -> bool:
    """Whether a node does something beside its results: it changes a variable, or gives values to the host."""
    kind = node.type
    if node.facts.get("feed") == "outfeed":
        return True
    if kind.startswith(("Assign", "Resource")) and not kind.startswith("ResourceGather"):
        return any(value.variable is not None for value in node.inputs)
    return kind in ("Assert", "Print", "PrintV2", "PyFunc", "EagerPyFunc") or kind.startswith("QueueEnqueue")
