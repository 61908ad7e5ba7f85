"""Changes of shape that are made of simpler ones: moved dimensions, partial reshapes, regions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from tremula.frontends.poplar.errors import TensorCreationError
from tremula.frontends.poplar.graph.layout import Ints
from tremula.frontends.poplar.graph.view import View

AnyView = TypeVar("AnyView", bound=View)


def moved(view: AnyView, sources: Sequence[int], targets: Sequence[int]) -> AnyView:
    """Put dimension `sources[i]` at place `targets[i]`; the others keep their order."""
    rank = view.rank
    if len(sources) != len(targets) or len(set(sources)) != len(sources) or len(set(targets)) != len(targets):
        raise TensorCreationError(f"dimensions {list(sources)} cannot be moved to {list(targets)}")
    if any(not 0 <= place < rank for place in (*sources, *targets)):
        raise TensorCreationError(f"a tensor of rank {rank} has not all dimensions of {[*sources, *targets]}")
    rest = iter([number for number in range(rank) if number not in sources])
    places = dict(zip(targets, sources, strict=True))
    return view.dim_shuffle([places[place] if place in places else next(rest) for place in range(rank)])


def reshaped_part(view: AnyView, begin: int, end: int, dimensions: Sequence[int]) -> AnyView:
    """Give the dimensions from `begin` to `end`, not included, another shape."""
    return view.reshape((*view.shape[:begin], *dimensions, *view.shape[end:]))


def contiguous_regions(view: View) -> list[tuple[int, int]]:
    """Begin and end, in the flattened view, of each stretch of elements that are neighbours in a variable."""
    starts, counts, steps = view.runs()
    if len(steps) and (steps != view.element_bytes).any():
        single = np.repeat(starts, counts)
        within = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
        starts = single + within * np.repeat(steps, counts)
        counts = np.ones(len(starts), dtype=np.int64)
    if not len(starts):
        return []
    memory, size = view.graph.memory, view.element_bytes
    starts, counts = _cut(starts, counts, size, memory.bases)
    follows = starts[1:] == starts[:-1] + counts[:-1] * size
    follows &= memory.numbers_of(starts[1:]) == memory.numbers_of(starts[:-1])
    ends = np.cumsum(counts)
    begin = np.concatenate(([0], ends[:-1][~follows]))
    end = np.concatenate((ends[:-1][~follows], ends[-1:]))
    return list(zip(begin.tolist(), end.tolist(), strict=True))


def _cut(starts: Ints, counts: Ints, size: int, bases: Ints) -> tuple[Ints, Ints]:
    """Cut runs of neighbours where another variable begins."""
    ends = starts + counts * size
    first, last = np.searchsorted(bases, starts, side="right"), np.searchsorted(bases, ends, side="left")
    inside = last - first
    if not inside.any():
        return starts, counts
    run = np.repeat(np.arange(len(starts)), inside)
    place = np.arange(int(inside.sum())) - np.repeat(np.cumsum(inside) - inside, inside) + first[run]
    begins = np.concatenate((starts, bases[place]))
    owner = np.concatenate((np.arange(len(starts)), run))
    order = np.lexsort((begins, owner))
    begins, owner = begins[order], owner[order]
    following = np.append(begins[1:], 0)
    same = np.append(owner[1:] == owner[:-1], False)
    return begins, (np.where(same, following, ends[owner]) - begins) // size
