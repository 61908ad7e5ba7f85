"""Views as columns: each that programs or vertices name once, in the order in which they were met."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tremula.checked_json import BadValue
from tremula.frontends.poplar.execute.moves import Places
from tremula.frontends.poplar.execute.stored.columns import Reader, Writer
from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.types import ALL_TYPES

TYPE_NUMBERS = {type_.name: number for number, type_ in enumerate(ALL_TYPES)}
_MOST_DIMENSIONS = 64


class ViewTable:
    """Numbers for views."""

    def __init__(self) -> None:
        self.views: list[View] = []
        self._numbers: dict[int, int] = {}

    def number(self, view: View) -> int:
        """The number of a view."""
        found = self._numbers.get(id(view))
        if found is None:
            found = self._numbers[id(view)] = len(self.views)
            self.views.append(view)
        return found

    def write(self, writer: Writer) -> None:
        """Put the views into columns."""
        views = self.views
        writer.put("view_type", [TYPE_NUMBERS[view.type.name] for view in views])
        writer.put_lists("view_shape", [view.shape for view in views])
        writer.put("view_offset", [view.offset for view in views])
        writer.put_lists("view_strides", [view.strides for view in views])
        writer.put("view_listed", [view.address_list is not None for view in views])
        none = np.zeros(0, dtype=np.int64)
        writer.put_lists("view_list", [none if v.address_list is None else v.address_list for v in views])


def read_views(reader: Reader, graph: Graph) -> list[View]:
    """The views again, each within the memory of the graph."""
    types = reader.numbers("view_type", 0, len(ALL_TYPES))
    count = len(types)
    shapes, strides, lists = (
        reader.lists("view_shape", 0),
        reader.lists("view_strides"),
        reader.lists("view_list", 0),
    )
    offsets = reader.numbers("view_offset", count=count)
    listed = reader.numbers("view_listed", 0, 2, count=count)
    if not len(shapes) == len(strides) == len(lists) == count:
        raise BadValue("the columns of views have different lengths")
    found = []
    for number in range(count):
        shape, steps = tuple(shapes[number].tolist()), tuple(strides[number].tolist())
        if len(shape) > _MOST_DIMENSIONS:
            raise BadValue("a view has too many dimensions")
        index = lists[number].reshape(shape) if listed[number] else None
        made = graph.view_class(
            graph, ALL_TYPES[int(types[number])], shape, 0 if index is not None else int(offsets[number]),
            () if index is not None else steps, index,
        )  # fmt: skip
        _check(made, graph.memory.size)
        found.append(made)
    return found


def _check(view: View, memory: int) -> None:
    """Raise unless all elements lie in the memory, at addresses that their type can have."""
    size = view.element_bytes
    if view.address_list is not None:
        index = view.address_list
        if index.size and (index.min() < 0 or index.max() + size > memory or (index % size).any()):
            raise BadValue("a view names elements outside the memory")
        return
    if len(view.strides) != len(view.shape):
        raise BadValue("a view has strides for other dimensions than its own")
    if not view.elements:
        view.offset = 0
        return
    first, end = Places(size, tuple(view.shape), view.offset, view.strides).bounds()
    if first < 0 or end > memory or any(each % size for each in (view.offset, *view.strides)):
        raise BadValue("a view names elements outside the memory")


def checked_view(views: Sequence[View], number: int) -> View:
    """A view by its number."""
    if type(number) is not int or not 0 <= number < len(views):
        raise BadValue(f"there is no view {str(number)[:40]}")
    return views[number]
