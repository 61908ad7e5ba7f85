"""Sorting along a dimension, and the largest or smallest elements of rows."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.libs import calls, outputs
from tremula.frontends.poplar.libs.calls import computing, work_type
from tremula.frontends.poplar.libs.errors import PoplibsError
from tremula.frontends.poplar.libs.popops.mapping import check_writeable
from tremula.frontends.poplar.lines import user_line
from tremula.frontends.poplar.program.library import Arrays, Kernel
from tremula.frontends.poplar.program.programs import Sequence_
from tremula.frontends.poplar.types import UNSIGNED_INT
from tremula.program import work

Array = NDArray[Any]


class SortOrder(Enum):
    """The order of the elements that a function finds."""

    NONE = 0
    ASCENDING = 1
    DESCENDING = 2


@computing("popops.sort")
def sort_kernel(attributes: Mapping[str, Any]) -> Kernel:
    """Inputs: keys, and values that go with them. Outputs: what is asked for, of both, sorted by the keys."""
    axis, keys_too = attributes["dim"], attributes["keys"]

    def compute(inputs: Arrays, outputs: Arrays) -> None:
        if len(inputs) == 1:
            outputs[0][...] = np.sort(inputs[0], axis=axis, kind="stable")
            return
        order = np.argsort(inputs[0], axis=axis, kind="stable")
        values = np.take_along_axis(inputs[1], order, axis=axis)
        if keys_too:
            outputs[0][...] = np.take_along_axis(inputs[0], order, axis=axis)
        outputs[-1][...] = values

    return compute


def sort_views(
    graph: Graph, keys: View, values: View | None, dim: int, program: Sequence_, name: str, *, in_place: bool
) -> View | None:
    """Sort keys, or values by keys, into themselves or a new tensor."""
    function = "popops::sort" if values is None else "popops::sortKeyValue"
    if not 0 <= dim < keys.rank:
        raise PoplibsError(
            f"{function}: a tensor of shape {list(keys.shape)} has no dimension {dim} ({user_line()})"
        )
    if values is not None and tuple(values.shape) != tuple(keys.shape):
        raise PoplibsError(
            f"{function}: keys of shape {list(keys.shape)} and values of shape {list(values.shape)} ({user_line()})"
        )
    inputs = [keys] if values is None else [keys, values]
    sorted_one = inputs[-1]
    if in_place:
        for each in inputs:
            check_writeable(each, "a tensor that is sorted in place")
        made = inputs
    else:
        made = [outputs.of_element_wise(graph, [sorted_one], tuple(sorted_one.shape), sorted_one.type, name)]
    attributes = {"dim": dim, "keys": in_place}
    columns = keys.shape[dim]
    works = [work.Sort(keys.elements // max(columns, 1), columns, work_type(keys.type))]
    calls.add_call(program, "popops.sort", inputs, made, attributes, works, name or function)
    return None if in_place else made[0]


@computing("popops.top_k")
def top_k_kernel(attributes: Mapping[str, Any]) -> Kernel:
    """Inputs: keys, and values. Outputs: keys, and values or, without them, places."""
    k, largest, ascending = attributes["k"], attributes["largest"], attributes["ascending"]

    def compute(inputs: Arrays, outputs: Arrays) -> None:
        order = _first(inputs[0], k, largest)
        if ascending == largest:  # found from the largest down, or from the smallest up
            order = _turned(inputs[0], order, largest)
        outputs[0][...] = np.take_along_axis(inputs[0], order, axis=-1)
        if len(outputs) > 1:
            outputs[1][...] = np.take_along_axis(inputs[1], order, axis=-1) if len(inputs) > 1 else order

    return compute


def _first(keys: Array, k: int, largest: bool) -> Array:
    """Places of the k best of each row, the best first; of equal ones the first."""
    if not largest:
        return np.argsort(keys, axis=-1, kind="stable")[..., :k]
    backwards = np.argsort(keys[..., ::-1], axis=-1, kind="stable")[..., ::-1][..., :k]
    return np.asarray(keys.shape[-1] - 1 - backwards)


def _turned(keys: Array, order: Array, largest_first: bool) -> Array:
    """The same places in the other order of their keys; equal ones are in the order of their places."""
    places = np.sort(order, axis=-1)
    found = np.take_along_axis(keys, places, axis=-1)
    return np.take_along_axis(places, _first(found, order.shape[-1], not largest_first), axis=-1)


def top_k(
    graph: Graph,
    keys: View,
    values: View | None,
    k: int,
    largest: bool,
    order: SortOrder,
    program: Sequence_,
    name: str,
    *,
    places: bool = False,
) -> tuple[View, View | None]:
    """The k largest or smallest of each row, with the values that belong to them or their places."""
    if not keys.rank or k > keys.shape[-1]:
        raise PoplibsError(
            f"popops::topK: a tensor of shape {list(keys.shape)} has no {k} elements in each row ({user_line()})"
        )
    if values is not None and tuple(values.shape) != tuple(keys.shape):
        raise PoplibsError(
            f"popops::topK: keys of shape {list(keys.shape)} and values of shape {list(values.shape)} ({user_line()})"
        )
    shape = (*keys.shape[:-1], k)
    made = [outputs.linear(graph, keys.type, shape, name)]
    if values is not None or places:
        made.append(outputs.linear(graph, UNSIGNED_INT if values is None else values.type, shape, name))
    attributes = {
        "k": k,
        "largest": largest,
        "ascending": order is SortOrder.ASCENDING or (order is SortOrder.NONE and not largest),
    }
    columns = keys.shape[-1]
    works = [work.Sort(keys.elements // max(columns, 1), columns, work_type(keys.type), k)]
    inputs = [keys] if values is None else [keys, values]
    calls.add_call(program, "popops.top_k", inputs, made, attributes, works, name or "popops::topK")
    return made[0], made[1] if len(made) > 1 else None
