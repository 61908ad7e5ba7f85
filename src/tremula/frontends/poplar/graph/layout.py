"""Strided layouts in bytes: an offset, a shape, and the distance between neighbours in each dimension.

A layout names addresses in the memory of a graph. The functions here say when a change of shape needs no list of
addresses, and write layouts as runs of evenly spaced addresses.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Shape = tuple[int, ...]


def contiguous_strides(shape: Shape, size: int) -> Shape:
    """The strides of elements that lie in order, without gaps."""
    strides = []
    for length in reversed(shape):
        strides.append(size)
        size *= max(length, 1)
    return tuple(reversed(strides))


def merged(shape: Shape, strides: Shape) -> tuple[list[int], list[int]]:
    """The same addresses in the same order with as few dimensions as possible."""
    lengths: list[int] = []
    steps: list[int] = []
    for length, stride in zip(shape, strides, strict=True):
        if length == 1:
            continue
        if steps and steps[-1] == length * stride:
            lengths[-1] *= length
            steps[-1] = stride
        else:
            lengths.append(length)
            steps.append(stride)
    return lengths, steps


def reshaped(shape: Shape, strides: Shape, new: Shape) -> Shape | None:
    """The strides of the same elements in another shape, or None where no strides can say it."""
    lengths, steps = merged(shape, strides)
    result = [0] * len(new)
    place = len(lengths) - 1
    rest, step = (lengths[place], steps[place]) if lengths else (1, 0)
    for position in range(len(new) - 1, -1, -1):
        length = new[position]
        if length == 1:
            result[position] = step
            continue
        while rest == 1 and place > 0:
            place -= 1
            rest, step = lengths[place], steps[place]
        if rest % length:
            return None
        result[position] = step
        step *= length
        rest //= length
    return tuple(result)


def addresses(offset: int, shape: Shape, strides: Shape) -> Ints:
    """The address of each element, in the layout's shape."""
    found = np.full((), offset, dtype=np.int64)
    for length, stride in zip(shape, strides, strict=True):
        found = np.add.outer(found, np.arange(length, dtype=np.int64) * stride)
    return found


def runs(offset: int, shape: Shape, strides: Shape, size: int) -> tuple[Ints, Ints, Ints]:
    """The same addresses as evenly spaced runs: where each starts, how many it has, and their distance in bytes."""
    if not prod(shape):
        none = np.zeros(0, dtype=np.int64)
        return none, none, none
    lengths, steps = merged(shape, strides)
    count, step = (lengths.pop(), steps.pop()) if lengths else (1, size)
    starts = addresses(offset, tuple(lengths), tuple(steps)).reshape(-1)
    return starts, np.full(len(starts), count, dtype=np.int64), np.full(len(starts), step, dtype=np.int64)


def runs_of_addresses(found: Ints, size: int) -> tuple[Ints, Ints, Ints]:
    """Runs of neighbours in a list of addresses."""
    if not len(found):
        none = np.zeros(0, dtype=np.int64)
        return none, none, none
    first = np.concatenate(([0], np.flatnonzero(np.diff(found) != size) + 1))
    counts = np.diff(np.concatenate((first, [len(found)])))
    return found[first], counts, np.full(len(first), size, dtype=np.int64)


def position(index: int, length: int) -> int | None:
    """`index` from the front, or None if it is outside."""
    if index < 0:
        index += length
    return index if 0 <= index < length else None


def as_shape(shape: Sequence[int]) -> Shape:
    """A shape as a tuple of Python integers."""
    return tuple(int(length) for length in shape)
