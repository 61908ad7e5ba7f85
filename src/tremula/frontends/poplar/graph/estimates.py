"""Estimates of vertices by functions of the user's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tremula.frontends.poplar.codelets.codelet import CycleEstimate, EstimateSource, Shapes
from tremula.frontends.poplar.errors import UnknownField


class FieldFacts:
    """What an estimator may ask about a field of a vertex."""

    def __init__(self, elements: int, edges: int) -> None:
        self._elements, self._edges = elements, edges

    def size(self) -> int:
        """Elements of the field; of a list its edges."""
        return self._edges or self._elements

    def getSizeAtIndex(self, index: int) -> int:  # noqa: N802  the public name
        """Elements of an edge: the mean of all edges of the vertex."""
        return self._elements // max(self._edges, 1)


class VertexIntrospector:
    """One vertex, as an estimator sees it."""

    def __init__(self, shapes: Shapes, vertex: int) -> None:
        self._shapes, self._vertex = shapes, vertex

    def getFieldInfo(self, name: str) -> FieldFacts:  # noqa: N802  the public name
        """Facts about a field."""
        if name not in self._shapes.elements:
            raise UnknownField(f"an estimator asks for a field {name!r} that the vertex does not have")
        lists = self._shapes.lists.get(name)
        return FieldFacts(
            int(self._shapes.elements[name][self._vertex]), 0 if lists is None else int(lists[self._vertex])
        )

    def getFieldValue(self, name: str) -> Any:  # noqa: N802  the public name
        """The value of a plain member."""
        if name not in self._shapes.state:
            raise UnknownField(f"an estimator asks for a member {name!r} that the vertex does not have")
        return self._shapes.state[name][self._vertex].item()


def of_user(function: Callable[..., Any], target: Any) -> Callable[[Shapes], CycleEstimate]:
    """The estimates of a user's function `(introspector, target)` for all vertices of a batch."""

    def estimate(shapes: Shapes) -> CycleEstimate:
        cycles = np.empty(shapes.count)
        flops = np.zeros(shapes.count)
        for vertex in range(shapes.count):
            found = function(VertexIntrospector(shapes, vertex), target)
            cycles[vertex], flops[vertex] = found if isinstance(found, tuple) else (found, 0)
        return CycleEstimate(cycles, EstimateSource.USER, flops)

    return estimate
