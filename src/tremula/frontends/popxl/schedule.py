"""An order of ops in which each runs after what it needs."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

from tremula.frontends.popxl.errors import graph_error

if TYPE_CHECKING:
    from tremula.frontends.popxl.model import Graph, Op


def scheduled(graph: Graph) -> list[Op]:
    """The ops of `graph` in the order of creation, moved only where data or constraints say otherwise."""
    place = {op: index for index, op in enumerate(graph.ops)}
    after: dict[Op, set[Op]] = {op: set() for op in graph.ops}
    for op in graph.ops:
        for tensor in op.inputs.values():
            if tensor.producer is not None and tensor.producer in place:
                after[op].add(tensor.producer)
    for first, second in graph.order:
        if first in place and second in place:
            after[second].add(first)
    if all(place[each] < place[op] for op, needed in after.items() for each in needed):
        return list(graph.ops)
    return _sorted(graph, place, after)


def _sorted(graph: Graph, place: dict[Op, int], after: dict[Op, set[Op]]) -> list[Op]:
    waiting = {op: len(needed) for op, needed in after.items()}
    followers: dict[Op, list[Op]] = {op: [] for op in graph.ops}
    for op, needed in after.items():
        for each in needed:
            followers[each].append(op)
    ready = [place[op] for op, count in waiting.items() if not count]
    heapq.heapify(ready)
    found: list[Op] = []
    while ready:
        op = graph.ops[heapq.heappop(ready)]
        found.append(op)
        for follower in followers[op]:
            waiting[follower] -= 1
            if not waiting[follower]:
                heapq.heappush(ready, place[follower])
    if len(found) != len(graph.ops):
        raise graph_error(
            f"The ops of the graph {graph.identifier or 'main'} wait for each other in a circle."
        )
    return found
