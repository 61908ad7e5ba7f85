"""Evenly spaced edges as contiguous ones, for code that accepts no strides: gathered before a run, scattered after."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.frontends.poplar.codelets.codelet import Batch, Edges, Field
from tremula.frontends.poplar.codelets.python.grouping import edge_memory

_ALIGNMENT = 16


def is_strided(batch: Batch) -> bool:
    """Whether an edge has gaps."""
    return any(((each.strides != 1) & (each.counts > 1)).any() for each in batch.edges.values())


@dataclass(frozen=True)
class _Move:
    """Elements of one field outside, where they have gaps, and inside, where they have none."""

    outside: NDArray[Any]
    outside_places: NDArray[np.int64]
    inside: NDArray[Any]
    inside_places: NDArray[np.int64]
    writes: bool


@dataclass(frozen=True)
class Packed:
    """A batch without gaps, and where its elements come from."""

    batch: Batch
    moves: list[_Move]

    def gather(self) -> None:
        """Copy the elements in."""
        for each in self.moves:
            each.inside[each.inside_places] = each.outside[each.outside_places]

    def scatter(self) -> None:
        """Copy what was written out."""
        for each in self.moves:
            if each.writes:
                each.outside[each.outside_places] = each.inside[each.inside_places]


def packed(batch: Batch, fields: Mapping[str, Field]) -> Packed:
    """The same batch with strided fields moved to memory of their own; other fields stay where they are."""
    strided = [name for name, each in batch.edges.items() if ((each.strides != 1) & (each.counts > 1)).any()]
    offsets: dict[str, NDArray[np.int64]] = {}
    size = 0
    for name in strided:
        edges = batch.edges[name]
        bytes_ = -(-edges.counts * edges.dtype.itemsize // _ALIGNMENT) * _ALIGNMENT
        offsets[name] = size + np.cumsum(bytes_) - bytes_
        size += int(bytes_.sum())
    room = np.zeros(size + _ALIGNMENT, dtype=np.uint8)
    room = room[-room.ctypes.data % _ALIGNMENT :]
    # offsets are distances from the batch's buffer, wherever the room lies
    apart = room.ctypes.data - batch.buffer.ctypes.data
    edges_of, moves = dict(batch.edges), list[_Move]()
    for name in strided:
        edges = batch.edges[name]
        item = edges.dtype.itemsize
        owner = np.repeat(np.arange(len(edges.counts)), edges.counts)
        within = np.arange(len(owner)) - np.repeat(np.cumsum(edges.counts) - edges.counts, edges.counts)
        outside = edges.offsets[owner] // item + within * edges.strides[owner]
        inside = (offsets[name][owner] + within * item) // item
        typed = room[: len(room) // item * item].view(edges.dtype)
        moves.append(_Move(edge_memory(edges, batch), outside, typed, inside, fields[name].direction.writes))
        edges_of[name] = Edges(
            offsets[name] + apart, edges.counts, np.ones_like(edges.strides), edges.dtype, edges.first
        )
    return Packed(replace(batch, edges=edges_of), moves)
