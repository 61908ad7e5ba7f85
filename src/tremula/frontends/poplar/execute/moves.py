"""Copies of elements within one memory, prepared once.

Where elements lie is said by strides if that is possible, so that NumPy copies them directly; by a few slices where
they are a few long stretches; else by a list. A copy whose source and target overlap gives what it would if all
elements were read before the first is written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod

import numpy as np
from numpy.typing import NDArray

from tremula.frontends.poplar.execute.arena import Arena
from tremula.frontends.poplar.graph import layout
from tremula.frontends.poplar.graph.edges import Runs
from tremula.frontends.poplar.graph.layout import Ints, Shape
from tremula.frontends.poplar.graph.view import View

Call = Callable[[], None]
Read = Callable[[], NDArray[np.generic]]
Write = Callable[[NDArray[np.generic]], None]

#: a list of addresses is taken as slices if there are at most so many, of so many elements on average
_MOST_PIECES, _PIECE_ELEMENTS = 64, 128


def elements(shape: Shape) -> int:
    """The number of elements of a shape."""
    return prod(shape)


@dataclass(frozen=True, eq=False)
class Places:
    """Where elements of `size` bytes lie in an arena: by strides in bytes, or by a flat list of element numbers."""

    size: int
    shape: Shape
    offset: int = 0
    strides: Shape = ()
    index: Ints | None = None

    @property
    def count(self) -> int:
        """How many elements there are."""
        return elements(self.shape)

    def array(self, arena: Arena) -> NDArray[np.generic]:
        """The elements without a copy; only where strides say where they lie."""
        dtype = arena.words(self.size).dtype
        return np.ndarray(self.shape, dtype, arena.bytes, self.offset if self.count else 0, self.strides)

    def bounds(self) -> tuple[int, int]:
        """The first byte, and the one after the last."""
        if not self.count:
            return 0, 0
        if self.index is not None:
            return int(self.index.min()) * self.size, (int(self.index.max()) + 1) * self.size
        reach = [(length - 1) * step for length, step in zip(self.shape, self.strides, strict=True)]
        first = self.offset + sum(min(each, 0) for each in reach)
        return first, self.offset + sum(max(each, 0) for each in reach) + self.size


def of_view(view: View) -> Places:
    """Where the elements of a view lie, in its shape."""
    if view.address_list is None:
        return Places(view.element_bytes, tuple(view.shape), view.offset, tuple(view.strides))
    found = of_runs(Runs(*view.runs()), view.element_bytes)
    if found.index is None:
        strides = layout.reshaped(found.shape, found.strides, tuple(view.shape))
        if strides is not None and view.elements:
            return Places(found.size, tuple(view.shape), found.offset, strides)
    return Places(found.size, tuple(view.shape), index=view.address_list.reshape(-1) // view.element_bytes)


def of_runs(runs: Runs, size: int) -> Places:
    """Where the elements of some runs lie, one after the other."""
    if not len(runs) or not int(runs.count.sum()):
        return Places(size, (0,), 0, (size,))
    count = int(runs.count[0])
    if (runs.count == count).all() and (count == 1 or (runs.step == runs.step[0]).all()):
        distances = np.diff(runs.offset)
        if not len(distances) or (distances == distances[0]).all():
            distance = int(distances[0]) if len(distances) else size
            step = int(runs.step[0]) if count > 1 else size
            return Places(size, (len(runs), count), int(runs.offset[0]), (distance, step))
    index = runs.addresses() // size
    return Places(size, (len(index),), index=index)


def _pieces(index: Ints) -> Sequence[tuple[slice, slice]] | None:
    """A list of element numbers as slices of the memory and of the list, if that is shorter."""
    starts, counts, _ = layout.runs_of_addresses(index, 1)
    if not len(starts) or len(starts) > _MOST_PIECES or len(index) < len(starts) * _PIECE_ELEMENTS:
        return None
    ends = np.cumsum(counts)
    return [
        (slice(start, start + count), slice(end - count, end))
        for start, count, end in zip(starts.tolist(), counts.tolist(), ends.tolist(), strict=True)
    ]


def reader(places: Places, arena: Arena) -> Read:
    """Gives the elements in the shape of `places`; without a copy where strides say where they lie."""
    if places.index is None:
        return partial(_same, places.array(arena))
    words, index, shape = arena.words(places.size), places.index, places.shape
    pieces = _pieces(index)
    if pieces is not None:
        parts = [words[memory] for memory, _ in pieces]
        return lambda: np.concatenate(parts).reshape(shape)
    return lambda: words.take(index).reshape(shape)


def _same(array: NDArray[np.generic]) -> NDArray[np.generic]:
    return array


def writer(places: Places, arena: Arena) -> Write:
    """Puts elements in the shape of `places` there. What is given may be a part of the same memory."""
    if places.index is None:
        return partial(np.copyto, places.array(arena))
    words, index = arena.words(places.size), places.index
    pieces = _pieces(index)
    if pieces is None:
        return partial(_put, words, index)
    targets = [(words[memory], given) for memory, given in pieces]

    def write(values: NDArray[np.generic]) -> None:
        flat = values.reshape(-1)
        if np.may_share_memory(flat, words):
            flat = flat.copy()
        for target, given in targets:
            target[...] = flat[given]

    return write


def _put(words: NDArray[np.generic], index: Ints, values: NDArray[np.generic]) -> None:
    words[index] = values.reshape(-1)


def copy(source: Places, target: Places, arena: Arena) -> Call:
    """Copies the elements of `source` to those of `target`, in order."""
    if not target.count:
        return _nothing
    if source.index is None and target.index is None:
        return _strided_copy(source, target, arena)
    if source.index is not None and target.index is None and _disjoint(source, target):
        place = target.array(arena)
        if place.flags.c_contiguous and _pieces(source.index) is None:
            words, index, out = arena.words(source.size), source.index, place.reshape(-1)
            return partial(_take, words, index, out)
    read, write, shape = reader(source, arena), writer(target, arena), target.shape
    if source.index is None and not _disjoint(source, target):
        return lambda: write(read().copy().reshape(shape))
    return lambda: write(read().reshape(shape))


def _disjoint(source: Places, target: Places) -> bool:
    (first, end), (other_first, other_end) = source.bounds(), target.bounds()
    return end <= other_first or other_end <= first


def _take(words: NDArray[np.generic], index: Ints, out: NDArray[np.generic]) -> None:
    words.take(index, out=out, mode="clip")


def _nothing() -> None:
    pass


def _strided_copy(source: Places, target: Places, arena: Arena) -> Call:
    given, place = source.array(arena), target.array(arena)
    if given.shape != place.shape:
        strides = layout.reshaped(source.shape, source.strides, target.shape)
        if strides is not None:
            given = Places(source.size, target.shape, source.offset, strides).array(arena)
        else:
            strides = layout.reshaped(target.shape, target.strides, source.shape)
            if strides is None:
                return lambda: np.copyto(place, given.reshape(place.shape).copy())
            place = Places(target.size, source.shape, target.offset, strides).array(arena)
    if _share(given, place):  # NumPy itself looks at some overlaps only
        between = np.empty_like(given)
        return partial(_copy_over, between, given, place)
    return partial(np.copyto, place, given)


def _share(one: NDArray[np.generic], other: NDArray[np.generic]) -> bool:
    try:
        return np.shares_memory(one, other, max_work=10_000)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


def _copy_over(between: NDArray[np.generic], given: NDArray[np.generic], place: NDArray[np.generic]) -> None:
    np.copyto(between, given)
    np.copyto(place, between)
