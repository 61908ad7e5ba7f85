"""Runs taken apart by tile, and sets of elements: against an element-by-element reference."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.placed.programs import runs, variables

from tremula.placed.pieces import Pieces, split
from tremula.placed.unions import union
from tremula.program.placed import Runs

TILES = st.lists(st.lists(st.integers(-1, 3), min_size=1, max_size=12), min_size=1, max_size=3)


@st.composite
def mapped_runs(draw: st.DrawFn) -> tuple[list[list[int]], Runs]:
    """Variables by the tile of each element, and runs that stay in one variable each."""
    tiles = draw(TILES)
    found = []
    for _ in range(draw(st.integers(1, 6))):
        number = draw(st.integers(0, len(tiles) - 1))
        first = sum(map(len, tiles[:number]))
        size = len(tiles[number])
        stride = draw(st.integers(-3, 3))
        start = draw(st.integers(0, size - 1))
        room = size if stride == 0 else (size - 1 - start if stride > 0 else start) // abs(stride) + 1
        found.append((first + start, draw(st.integers(0, room)), stride))
    return tiles, runs(*found)


def elements_of(pieces: Pieces) -> list[tuple[int, int]]:
    """Element and tile of every place, in order."""
    return [
        (start + number * stride, tile)
        for start, count, stride, tile in zip(
            pieces.start.tolist(),
            pieces.count.tolist(),
            pieces.stride.tolist(),
            pieces.tile.tolist(),
            strict=True,
        )
        for number in range(count)
    ]


@given(mapped_runs())
def test_pieces_are_the_elements_in_order_each_on_its_tile(case: tuple[list[list[int]], Runs]) -> None:
    tiles, given_runs = case
    whole = [tile for each in tiles for tile in each]
    expected = [
        (start + number * stride, whole[start + number * stride])
        for start, count, stride in zip(
            given_runs.start.tolist(), given_runs.count.tolist(), given_runs.stride.tolist(), strict=True
        )
        for number in range(count)
    ]
    pieces = split(given_runs, variables(*tiles))
    assert elements_of(pieces) == expected
    assert pieces.position.tolist() == (np.cumsum(pieces.count) - pieces.count).tolist()


@given(mapped_runs())
def test_a_union_counts_each_element_of_contiguous_runs_once(case: tuple[list[list[int]], Runs]) -> None:
    tiles, given_runs = case
    contiguous = Runs(given_runs.start, given_runs.count, np.sign(given_runs.stride))
    pieces = split(contiguous, variables(*tiles))
    found = union(pieces, pieces.tile)
    assert int(found.count.sum()) == len(set(elements_of(pieces)))


@given(mapped_runs())
def test_a_union_is_never_smaller_than_the_set_nor_larger_than_the_sum(
    case: tuple[list[list[int]], Runs],
) -> None:
    tiles, given_runs = case
    pieces = split(given_runs, variables(*tiles))
    found = union(pieces, pieces.tile)
    assert len(set(elements_of(pieces))) <= int(found.count.sum()) <= int(pieces.count.sum())
