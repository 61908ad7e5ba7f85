"""Layers that the device's libraries have as one op: their many ops become one node, and so do their gradients.

`ops/facts.py` marks the ops of such a layer while it is traced. Ops of its gradient have no mark; their names lie below
the scope of the layer.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tremula.errors import Error
from tremula.frontends.tensorflow.capture.nodes import Node, Value
from tremula.frontends.tensorflow.ops.facts import COMPOSITE
from tremula.program.op import Phase

#: layers whose gradient needs nothing of the forward pass but a seed or indices
_FORGETFUL = frozenset({"tremula.Dropout", "tremula.Embedding"})


class Composites:
    """The layers that were met, and their nodes."""

    def __init__(self) -> None:
        self._described: dict[str, dict[str, Any]] = {}
        self._parts: dict[Node, str] = {}

    def of(self, name: str, facts: Mapping[str, Any]) -> str | None:
        """The scope of the layer that an op is a part of; None if it is a part of none."""
        marked = facts.get(COMPOSITE)
        if marked is not None:
            described = json.loads(marked)
            scope: str = described.pop("scope")
            self._described.setdefault(scope, described)
            return scope
        if self._described:
            for prefix in ("gradient_tape/", "gradients/"):
                _, found, below = name.partition(prefix)
                if found:
                    return self._around(below)
        return None

    def _around(self, name: str) -> str | None:
        """The scope of the outermost layer that a name lies below."""
        end = name.find("/")
        while end >= 0:
            if name[: end + 1] in self._described:
                return name[: end + 1]
            end = name.find("/", end + 1)
        return None

    def add(self, node: Node, scope: str) -> None:
        """A node is a part of a layer."""
        self._parts[node] = scope

    def merge(self, nodes: Sequence[Node], results: Iterable[Value]) -> list[Node]:
        """The nodes with each layer, and each gradient of one, as one node."""
        groups: dict[tuple[str, Phase], list[Node]] = {}
        for node in nodes:
            scope = self._parts.get(node)
            if scope is not None and node.phase in (Phase.FORWARD, Phase.BACKWARD):
                groups.setdefault((scope, node.phase), []).append(node)
        if not groups:
            return list(nodes)
        kept = set(results)
        places = {node: place for place, node in enumerate(nodes)}
        for group in groups.values():
            _take_between(group, nodes, places)
        inside = {node for group in groups.values() for node in group}
        position = dict(places)
        merged = [node for node in nodes if node not in inside]
        forward: dict[str, Node] = {}
        for (scope, phase), group in sorted(groups.items(), key=lambda each: each[0][1] is not Phase.FORWARD):
            other = groups.get((scope, Phase.BACKWARD if phase is Phase.FORWARD else Phase.FORWARD), [])
            made = self._merged(scope, phase, group, {*group, *other}, kept, forward.get(scope))
            forward.setdefault(scope, made)
            # as soon as what it needs is there: parts that only its gradient uses may come much later
            position[made] = position[group[0]]
            merged.append(made)
        return _sorted(merged, position)

    def _merged(
        self,
        scope: str,
        phase: Phase,
        group: Sequence[Node],
        layer: set[Node],
        kept: set[Value],
        forward: Node | None,
    ) -> Node:
        """One node for the parts of a layer in one phase; what parts of the same layer exchange is not seen outside.

        Args:
            scope: of the layer.
            phase: forward or backward.
            group: the parts.
            layer: the parts of both phases.
            kept: results of the program.
            forward: the node of the forward phase, for a gradient.
        """
        described = dict(self._described[scope])
        first = group[0]
        inputs = dict.fromkeys(
            value
            for node in group
            for value in node.inputs
            if value.constant is None and value.node not in layer and value.node is not forward
        )
        if forward is not None and described["type"] not in _FORGETFUL:
            inputs.update(dict.fromkeys(value for value in forward.inputs if value.variable is None))
            inputs.update(dict.fromkeys(forward.outputs))
        outputs = [
            value
            for node in group
            for value in node.outputs
            if value in kept or any(user not in layer for user in value.users)
        ]
        made = Node(
            f"{scope}{phase.value}",
            described.pop("type"),
            list(inputs),
            outputs,
            described,
            {},
            phase,
            (forward or first).module,
            (forward.source if forward is not None else None)
            or next((node.source for node in group if node.source is not None), None),
            first.stage,
            first.ipu,
            _outermost(group),
        )
        for value in outputs:
            value.node = made
        for value in inputs:
            value.users = [*(user for user in value.users if user not in layer), made]
        return made


def _take_between(group: list[Node], nodes: Sequence[Node], places: Mapping[Node, int]) -> None:
    """Add what lies between two parts of a layer: sums of gradients, which are outside of its scope."""
    members = set(group)
    window = nodes[places[group[0]] : places[group[-1]] + 1]
    after: set[Node] = set()
    for node in window:
        if node not in members and any(
            value.node in members or value.node in after for value in node.inputs if value.node is not None
        ):
            after.add(node)
    before: set[Node] = set()
    for node in reversed(window):
        if node in members or node in before:
            before.update(value.node for value in node.inputs if value.node is not None)
    between = (after & before) - members
    if between:
        group[:] = [node for node in window if node in members or node in between]


def _outermost(group: Sequence[Node]) -> Any:
    """The block that a layer is in: that of its parts that are in the fewest loops."""

    def depth(node: Node) -> int:
        count, block = 0, node.block
        while block is not None:
            count, block = count + 1, block.parent
        return count

    return min(group, key=depth).block


def _sorted(nodes: Sequence[Node], position: Mapping[Node, int]) -> list[Node]:
    """Nodes after what they depend on, otherwise in the order that they had."""
    wanted = set(nodes)
    missing = dict.fromkeys(nodes, 0)
    users: dict[Node, list[Node]] = {}
    for node in nodes:
        for maker in {value.node for value in node.inputs if value.node in wanted}:
            if maker is not None and maker is not node:
                missing[node] += 1
                users.setdefault(maker, []).append(node)
    ready = [(position[node], id(node), node) for node in nodes if not missing[node]]
    heapq.heapify(ready)
    ordered = []
    while ready:
        *_, node = heapq.heappop(ready)
        ordered.append(node)
        for user in users.get(node, ()):
            missing[user] -= 1
            if not missing[user]:
                heapq.heappush(ready, (position[user], id(user), user))
    if len(ordered) < len(nodes):
        stuck = next(node for node in nodes if missing[node])
        raise Error(f"the order of its ops is not clear: {stuck.name} depends on itself")
    return ordered
