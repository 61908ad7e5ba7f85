"""Padded tensors: views of the tensor, of constants around it, or of its own elements again. Nothing runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from tremula.frontends.poplar.graph.concat import concat
from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.libs import outputs
from tremula.frontends.poplar.libs.errors import PoplibsError
from tremula.frontends.poplar.lines import user_line

AnyView = TypeVar("AnyView", bound=View)


def check(view: View, lower: Sequence[int], upper: Sequence[int]) -> None:
    """Raise unless there is one padding for each dimension, and none cuts off more than there is."""
    if len(lower) != view.rank or len(upper) != view.rank:
        raise PoplibsError(
            f"popops::pad: {len(lower)} and {len(upper)} paddings of a tensor of shape {list(view.shape)} "
            f"({user_line()})"
        )
    for length, before, after in zip(view.shape, lower, upper, strict=True):
        if min(before, 0) + min(after, 0) + length < 0:
            raise PoplibsError(
                f"popops::pad: paddings of {before} and {after} leave nothing of {length} elements ({user_line()})"
            )


def cut(view: AnyView, lower: Sequence[int], upper: Sequence[int]) -> AnyView:
    """What negative paddings leave."""
    for dim, (before, after) in enumerate(zip(lower, upper, strict=True)):
        first, last = max(0, -before), view.shape[dim] - max(0, -after)
        if first or last != view.shape[dim]:
            view = view.slice_dimension(first, last, dim)
    return view


def with_value(
    graph: Graph, view: View, lower: Sequence[int], upper: Sequence[int], value: float | View, place: str
) -> View:
    """Surround a tensor with a constant, or with an element. `place`: none, tile 0 (zero), or that of the edge."""
    check(view, lower, upper)
    view = cut(view, lower, upper)
    for dim, (before, after) in enumerate(zip(lower, upper, strict=True)):
        parts = [view]
        if before > 0:
            parts.insert(0, _filled(graph, view, dim, before, value, place, 0))
        if after > 0:
            parts.append(_filled(graph, view, dim, after, value, place, -1))
        view = concat(parts, dim)
    return view


def _filled(
    graph: Graph, view: View, dim: int, count: int, value: float | View, place: str, edge: int
) -> View:
    shape = (*view.shape[:dim], count, *view.shape[dim + 1 :])
    if isinstance(value, View):
        return _spread(value.reshape((1,) * len(shape)), shape)
    if place != "EDGE" or not view.shape[dim]:
        made = graph.add_constant(view.type, (1,) * len(shape), value, "pad")
        if place != "NONE":
            graph.set_tile_mapping(made, 0)
        return _spread(made, shape)
    made = graph.add_constant(view.type, shape, value, "pad")
    at = 0 if edge == 0 else view.shape[dim] - 1
    beside = view.slice_dimension(at, at + 1, dim).broadcast(count, dim)
    begin, end, tile = outputs.stretches(beside)
    kept = tile >= 0
    outputs.put_whole_tiles(graph, made, begin[kept], end[kept], tile[kept])
    return made


def _spread(view: View, shape: Sequence[int]) -> View:
    for dim, length in enumerate(shape):
        view = view.broadcast(length, dim)
    return view


def with_itself(view: AnyView, lower: Sequence[int], upper: Sequence[int], kind: str) -> AnyView:
    """Surround a tensor with its outermost elements (EDGE), or with its elements mirrored at them (REFLECT)."""
    check(view, lower, upper)
    view = cut(view, lower, upper)
    for dim, (before, after) in enumerate(zip(lower, upper, strict=True)):
        length, before, after = view.shape[dim], max(before, 0), max(after, 0)
        if not before and not after:
            continue
        if kind == "REFLECT" and max(before, after) >= length:
            raise PoplibsError(
                f"popops::pad: {length} elements cannot be mirrored {max(before, after)} far ({user_line()})"
            )
        places = np.arange(-before, length + after)
        if kind == "EDGE":
            places = np.clip(places, 0, length - 1)
        else:
            places = np.abs(places)
            places = np.where(places >= length, 2 * (length - 1) - places, places)
        index = np.take(view.addresses(), places, axis=dim)
        view = view.__class__(view.graph, view.type, index.shape, 0, (), index)
    return view
