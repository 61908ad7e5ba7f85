"""The first run of a batch, with guard bytes around every edge that it may write.

The edges are moved to scratch space, apart from each other, with a pattern between them. After the run the pattern has
to be there still; then what was written goes to where it belongs. What vertices only read stays where it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.frontends.poplar.codelets.codelet import Edges
from tremula.frontends.poplar.errors import ApplicationRuntimeError, PoplarError
from tremula.frontends.poplar.execute import moves
from tremula.frontends.poplar.execute.arena import Arena
from tremula.frontends.poplar.execute.staging import (
    AllEdges,
    StagedField,
    moved_to,
    places_one_after_another,
    scratch_places,
)
from tremula.frontends.poplar.graph.edges import vertex_name
from tremula.frontends.poplar.graph.layout import Ints
from tremula.frontends.poplar.graph.vertices import VertexBatch

#: guard bytes before each edge and behind the last; a multiple of the alignment of edges
GAP = 32
_PATTERN = np.uint64(0xA5C3_5AA5_3CC3_A55A)
_WORD = 8


@dataclass(frozen=True, eq=False)
class _Guarded:
    """A field between guards: where its edges begin, and the first byte behind each."""

    staged: StagedField
    begins: Ints
    ends: Ints
    places: tuple[moves.Places, moves.Places]  # outside, inside


class Guards:
    """Where the edges that a batch writes lie in its first run."""

    def __init__(
        self, batch: VertexBatch, fields: Sequence[StagedField], edges: AllEdges, scratch: int
    ) -> None:
        self._batch = batch
        self._edges = edges
        self._begin = scratch
        self._fields: list[_Guarded] = []
        for each in fields:
            if not each.field.direction.writes:
                continue
            size = each.edges.dtype.itemsize
            begins, scratch = places_one_after_another(each.edges.counts, size, scratch, GAP)
            outside = moves.of_runs(edges[each.field.name].runs, size)
            inside = scratch_places(begins, each.edges.counts, size)
            self._fields.append(
                _Guarded(moved_to(each, begins), begins, begins + each.edges.counts * size, (outside, inside))
            )
        self.end = scratch

    @property
    def needed(self) -> bool:
        """Whether the batch writes anything."""
        return bool(self._fields)

    def edges(self, field: str) -> Edges | None:
        """The edges of a field between guards; None for one that is only read."""
        return next((each.staged.edges for each in self._fields if each.staged.field.name == field), None)

    def enter(self, arena: Arena) -> None:
        """Write the pattern, and between it the values that the edges have."""
        self._words(arena)[...] = _PATTERN
        for each in self._fields:
            moves.copy(*each.places, arena)()

    def leave(self, arena: Arena) -> None:
        """Check the pattern, and put what was written where it belongs."""
        for each in self._fields:
            self._check(arena, each)
        for each in self._fields:
            outside, inside = each.places
            moves.copy(inside, outside, arena)()

    def _words(self, arena: Arena) -> NDArray[Any]:
        return arena.words(_WORD)[self._begin // _WORD : -(-self.end // _WORD)]

    def _check(self, arena: Arena, guarded: _Guarded) -> None:
        """Compare the guards before and behind each edge."""
        words: NDArray[Any] = arena.words(_WORD)
        tails = -(-guarded.ends // _WORD)
        behind = tails[:, None] + np.arange(GAP // _WORD)
        before = guarded.begins[:, None] // _WORD - np.arange(1, GAP // _WORD + 1)
        # the last word of an edge may be guard in part
        rest = guarded.ends % _WORD
        cut = np.flatnonzero(rest)
        last = (words[tails[cut] - 1] ^ _PATTERN) >> (rest[cut].astype(np.uint64) * np.uint64(8))
        problems = [
            (cut[last != 0], "behind the last element of"),
            (np.flatnonzero((words[behind] != _PATTERN).any(axis=1)), "behind the last element of"),
            (np.flatnonzero((words[before] != _PATTERN).any(axis=1)), "before the first element of"),
        ]
        for edges, where in problems:
            if len(edges):
                raise _outside(self._batch, self._edges, guarded, int(edges[0]), where)


def _outside(batch: VertexBatch, edges: AllEdges, guarded: _Guarded, edge: int, where: str) -> PoplarError:
    field = guarded.staged.field
    vertex = int(edges[field.name].vertex[edge])
    count = int(guarded.staged.edges.counts[edge])
    return ApplicationRuntimeError(
        f"{vertex_name(batch, vertex)} writes {where} its field {field.name!r}, which has {count} "
        f"element{'s' * (count != 1)}: compare the bounds of its loops with the sizes of its fields"
    )


def outside_of_snapshot(
    batch: VertexBatch,
    fields: Sequence[StagedField],
    edges: AllEdges,
    arena: Arena,
    before: NDArray[np.uint8],
) -> None:
    """For a batch whose vertices read elements that they write too: compare the whole memory with a copy from before.

    What the batch may write is taken over from the memory into the copy; then both have to be the same.
    """
    for each in fields:
        if each.field.direction.writes:
            size = each.edges.dtype.itemsize
            addresses = edges[each.field.name].runs.addresses()
            for byte in range(size):
                before[addresses + byte] = arena.bytes[addresses + byte]
    changed = np.flatnonzero(before != arena.bytes[: len(before)])
    if len(changed):
        raise ApplicationRuntimeError(
            f"{vertex_name(batch, 0)}, or another one of this batch of {batch.count}, writes outside its fields: "
            f"{len(changed)} bytes of other elements changed; compare the bounds of its loops "
            "with the sizes of its fields"
        )
