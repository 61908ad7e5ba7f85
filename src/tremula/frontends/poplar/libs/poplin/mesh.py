"""Evenly spaced constants and grids of them."""

from __future__ import annotations

import numpy as np

from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.libs.checks import need_rank, refuse
from tremula.frontends.poplar.libs.poputil import map_tensor_linearly
from tremula.frontends.poplar.types import FLOAT, HALF, Type


def linspace(graph: Graph, type: Type, left: float, right: float, count: int, debug: str) -> View:
    """A constant of `count` numbers from `left` to `right`."""
    if count < 2:
        raise refuse("linspace", f"{count} numbers have no spacing: at least 2 are needed")
    if type not in (HALF, FLOAT):
        raise refuse("linspace", f"elements have to be half or float, not {type}")
    made = graph.add_constant(type, (count,), np.linspace(left, right, count, dtype=np.float32), debug)
    map_tensor_linearly(graph, made)
    return made


def grid(x: View, y: View) -> list[View]:
    """The coordinates of the points of a grid: those of `x` along rows, those of `y` along columns."""
    for each in (x, y):
        need_rank("meshgrid2d", "tensor", each, 1)
    across, down = x.elements, y.elements
    return [x.expand([0]).broadcast(down, 0), y.expand([1]).broadcast(across, 1)]
