"""Slices at offsets that are known when the program runs: what is read or written, on arrays.

An offset that is outside its dimension leaves a single slice as it was; among several it reads zeros and writes
nothing. Options may map it to 0 instead, or let the length of the dimension stand for zeros. A slice that reaches past
the end goes on at the beginning.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.frontends.poplar.libs.calls import computing
from tremula.frontends.poplar.program.library import Arrays, Kernel

Array = NDArray[Any]
Ints = NDArray[np.int64]

_AT: dict[str, Callable[..., Any]] = {"add": np.add.at, "max": np.fmax.at, "mul": np.multiply.at}


class _Frame:
    """The sliced dimensions of a tensor at the front, after `groups` dimensions that stay."""

    def __init__(self, attributes: Mapping[str, Any]) -> None:
        self.dims = tuple(attributes["dims"])
        self.sizes = tuple(attributes["sizes"])
        self.remap = bool(attributes.get("remap"))
        self.padding = bool(attributes.get("padding"))

    def front(self, table: Array) -> Array:
        """The table with the sliced dimensions first."""
        return np.moveaxis(table, self.dims, range(len(self.dims)))

    def slices_front(self, slices: Array) -> Array:
        """Slices, one after the other, with the sliced dimensions after their number."""
        inner = tuple(each + 1 for each in self.dims)
        return np.moveaxis(slices, inner, range(1, len(self.dims) + 1))

    def places(self, table: Array, offsets: Ints) -> tuple[tuple[Ints, ...], NDArray[np.bool_]]:
        """Indices into the front of the table for each slice, and which slices begin inside."""
        lengths = np.array([table.shape[each] for each in self.dims], dtype=np.int64)
        if any(not 0 <= size <= length for size, length in zip(self.sizes, lengths, strict=True)):
            raise ValueError(f"slices of sizes {self.sizes} of dimensions of {lengths.tolist()} elements")
        inside = (offsets >= 0) & (offsets < lengths)
        if self.remap and not self.padding:
            offsets = np.where(inside, offsets, 0)
            inside = np.ones_like(inside)
        elif self.remap:
            far = (offsets < 0) | (offsets > lengths)
            offsets, inside = np.where(far, 0, offsets), inside | far
        valid = np.asarray(inside.all(axis=1))
        count = len(self.dims)
        index = []
        for place, size in enumerate(self.sizes):
            steps = np.arange(size).reshape((1,) + (1,) * place + (size,) + (1,) * (count - place - 1))
            first = offsets[:, place].reshape((-1,) + (1,) * count)
            index.append((first + steps) % max(int(lengths[place]), 1))
        return tuple(index), valid


def _offsets(given: Array, count: int) -> Ints:
    """Offsets as rows of one number for each sliced dimension; unsigned ones of other types too."""
    return np.asarray(given).astype(np.int64).reshape(-1, count)


def _straight(table: Array, frame: _Frame, offsets: Ints) -> tuple[slice, ...] | None:
    """The slice as plain ranges, where it begins inside and does not reach past the end."""
    found = [slice(None)] * table.ndim
    for dim, size, first in zip(frame.dims, frame.sizes, offsets[0].tolist(), strict=True):
        if not 0 <= first <= table.shape[dim] - size:
            return None
        found[dim] = slice(first, first + size)
    return tuple(found)


@computing("popops.dynamic_slice")
def dynamic_slice_kernel(attributes: Mapping[str, Any]) -> Kernel:
    """Inputs: tensor, offsets."""
    frame = _Frame(attributes)
    count = len(frame.dims)

    def compute(inputs: Arrays, outputs: Arrays) -> None:
        table, offsets = inputs[0], _first(inputs[1], count)
        straight = _straight(table, frame, offsets)
        if straight is not None:
            outputs[0][...] = table[straight]
            return
        index, valid = frame.places(table, offsets)
        if valid[0]:
            found = frame.front(table)[index]
            outputs[0][...] = np.moveaxis(found[0], range(count), frame.dims)
        elif frame.padding:
            outputs[0][...] = 0

    return compute


def _first(offsets: Array, count: int) -> Ints:
    """The offsets of one slice; a second dimension repeats them for several tiles."""
    given = np.asarray(offsets).astype(np.int64)
    return (given[:, 0] if given.ndim == 2 and given.shape[0] == count else given.reshape(-1)[:count])[
        np.newaxis
    ]


@computing("popops.dynamic_update")
def dynamic_update_kernel(attributes: Mapping[str, Any]) -> Kernel:
    """Inputs: the tensor, which is the output too, the slice, offsets."""
    frame = _Frame(attributes)
    count = len(frame.dims)

    def compute(inputs: Arrays, outputs: Arrays) -> None:
        table, offsets = outputs[0], _first(inputs[2], count)
        straight = _straight(table, frame, offsets)
        if straight is not None:
            table[straight] = inputs[1]
            return
        index, valid = frame.places(table, offsets)
        if valid[0]:
            frame.front(table)[index] = np.moveaxis(inputs[1], frame.dims, range(count))[np.newaxis]

    return compute


@computing("popops.multi_slice")
def multi_slice_kernel(attributes: Mapping[str, Any]) -> Kernel:
    """Inputs: tensor, offsets. With groups, both have them as their first dimension."""
    frame, groups = _Frame(attributes), attributes["groups"]
    count = len(frame.dims)

    def one(table: Array, offsets: Array, out: Array) -> None:
        index, valid = frame.places(table, _offsets(offsets, count))
        found = frame.front(table)[index]
        if not valid.all():
            found = np.where(valid.reshape((-1,) + (1,) * (found.ndim - 1)), found, found.dtype.type(0))
        frame.slices_front(out)[...] = found

    def compute(inputs: Arrays, outputs: Arrays) -> None:
        if not groups:
            one(inputs[0], inputs[1], outputs[0])
            return
        for table, offsets, out in zip(inputs[0], inputs[1], outputs[0], strict=True):
            one(table, offsets, out)

    return compute


@computing("popops.multi_update")
def multi_update_kernel(attributes: Mapping[str, Any]) -> Kernel:
    """Inputs: the tensor, which is the output too, slices, offsets, and a scale for sums."""
    frame, groups, operation = _Frame(attributes), attributes["groups"], attributes["operation"]
    count = len(frame.dims)
    at = _AT.get(operation)

    def one(table: Array, slices: Array, offsets: Array, scale: Array | None) -> None:
        index, valid = frame.places(table, _offsets(offsets, count))
        values = frame.slices_front(slices)
        if not valid.all():
            index, values = tuple(each[valid] for each in index), values[valid]
        front = frame.front(table)
        if at is None:
            front[index] = values
        else:
            scaled = values if scale is None else (values * scale.reshape(())).astype(table.dtype)
            at(front, index, scaled)

    def compute(inputs: Arrays, outputs: Arrays) -> None:
        scale = inputs[3] if len(inputs) > 3 else None
        if not groups:
            one(outputs[0], inputs[1], inputs[2], scale)
            return
        for table, slices, offsets in zip(outputs[0], inputs[1], inputs[2], strict=True):
            one(table, slices, offsets, scale)

    return compute
