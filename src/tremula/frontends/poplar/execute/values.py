"""Elements of views as values of their type: whole tensors for the host and for library functions, and scalars."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.frontends.poplar.execute import moves
from tremula.frontends.poplar.execute.arena import Arena
from tremula.frontends.poplar.graph.view import View

Read = Callable[[], NDArray[Any]]
Write = Callable[[NDArray[Any]], None]


def reader(view: View, arena: Arena) -> Read:
    """Gives the elements in the view's shape. It may be the memory itself: copy what has to last."""
    dtype = view.graph.storage(view.type)
    places = moves.of_view(view)
    if places.index is None:
        array = np.ndarray(
            places.shape, dtype, arena.bytes, places.offset if places.count else 0, places.strides
        )
        return lambda: array
    read = moves.reader(places, arena)
    return lambda: read().view(dtype)


def writer(view: View, arena: Arena) -> Write:
    """Puts values into the elements; they are converted to the type in which the host keeps them."""
    dtype = view.graph.storage(view.type)
    places = moves.of_view(view)
    shape = places.shape
    if places.index is None:
        array = np.ndarray(shape, dtype, arena.bytes, places.offset if places.count else 0, places.strides)

        def direct(values: NDArray[Any]) -> None:
            np.copyto(array, values.reshape(shape), casting="unsafe")

        return direct
    write, words = moves.writer(places, arena), arena.words(places.size).dtype

    def listed(values: NDArray[Any]) -> None:
        write(np.ascontiguousarray(values, dtype=dtype).view(words))

    return listed


def scalar(view: View, arena: Arena) -> Callable[[], Any]:
    """Gives the value of a tensor of one element."""
    address = int(view.addresses().reshape(-1)[0])
    dtype = view.graph.storage(view.type)
    return np.ndarray((), dtype, arena.bytes, address).item


def in_place(view: View, arena: Arena) -> NDArray[Any] | None:
    """The elements in the view's shape without a copy, if that is possible."""
    places = moves.of_view(view)
    if places.index is not None:
        return None
    dtype = view.graph.storage(view.type)
    return np.ndarray(places.shape, dtype, arena.bytes, places.offset if places.count else 0, places.strides)
