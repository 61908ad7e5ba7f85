"""Layers that the device's libraries have as one op: their many ops become one node, and so do their gradients.

`ops/facts.py` marks the ops of such a layer while it is traced. Ops of its gradient have no mark; their names lie below
the scope of the layer.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tremula.frontends.tensorflow.capture.nodes import Node, Value
from tremula.frontends.tensorflow.ops.facts import COMPOSITE
from tremula.program.op import Phase


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
                    return next((scope for scope in self._described if below.startswith(scope)), None)
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
        inside = {node for group in groups.values() for node in group}
        position = {node: place for place, node in enumerate(nodes)}
        merged = [node for node in nodes if node not in inside]
        for (scope, phase), group in groups.items():
            made = self._merged(scope, phase, group, kept)
            position[made] = position[group[-1]]
            merged.append(made)
        return _sorted(merged, position)

    def _merged(self, scope: str, phase: Phase, group: Sequence[Node], kept: set[Value]) -> Node:
        members = set(group)
        described = dict(self._described[scope])
        first = group[0]
        inputs = dict.fromkeys(
            value
            for node in group
            for value in node.inputs
            if value.node not in members and value.constant is None
        )
        outputs = [
            value
            for node in group
            for value in node.outputs
            if value in kept or any(user not in members for user in value.users)
        ]
        made = Node(
            f"{scope}{phase.value}",
            described.pop("type"),
            list(inputs),
            outputs,
            described,
            {},
            phase,
            first.module,
            first.source,
            first.stage,
            first.ipu,
            _outermost(group),
        )
        for value in outputs:
            value.node = made
        for value in inputs:
            value.users = [*(user for user in value.users if user not in members), made]
        return made


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
        _, _, node = heapq.heappop(ready)
        ordered.append(node)
        for user in users.get(node, ()):
            missing[user] -= 1
            if not missing[user]:
                heapq.heappush(ready, (position[user], id(user), user))
    return ordered
