"""The graphs of functions that a program calls, and the order of their ops."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def in_order(graph: Any) -> Iterator[Any]:
    """The ops of a graph, each after those that it takes tensors from.

    That is the order in which they were made, but for loops: their gradients add inputs to them later.
    """
    done: set[Any] = set()
    for op in graph.get_operations():
        waiting = [op]
        while waiting:
            current = waiting[-1]
            missing = [tensor.op for tensor in current.inputs if tensor.op not in done]
            if missing and current not in done:
                waiting.extend(missing)
                continue
            waiting.pop()
            if current not in done:
                done.add(current)
                yield current


def traced_graph(graph: Any, name: str) -> Any:
    """The graph of a function in Python, which has the shapes that the program set; None if there is none."""
    while graph is not None:
        function = graph._get_function(name)
        if function is not None:
            return getattr(function, "graph", None)
        graph = getattr(graph, "outer_graph", None)
    return None
