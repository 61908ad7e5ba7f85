"""Bytes on tiles: every byte of a tensor is on exactly one tile."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tremula.memory.code import spread_code
from tremula.memory.tiles import LEAST_BYTES, laid_out, same


@given(st.lists(st.integers(0, 10**8), max_size=20), st.integers(1, 1472))
def test_tiles_sum_to_the_total(sizes: list[int], tiles: int) -> None:
    on_tiles = laid_out(sizes, tiles)
    assert len(on_tiles) == tiles
    assert on_tiles.sum() == sum(sizes)
    assert (on_tiles >= 0).all()


@given(st.integers(1, 10**8), st.integers(1, 1472))
def test_one_tensor_is_spread_in_grains(size: int, tiles: int) -> None:
    on_tiles = laid_out([size], tiles)
    used = on_tiles[on_tiles > 0]
    assert used.max() <= max(LEAST_BYTES, size / tiles + 8)
    # all but the last piece are alike
    assert len(set(used[:-1])) <= 1


def test_small_tensors_pile_up_on_the_first_tiles() -> None:
    on_tiles = laid_out([256] * 100, 1472)
    assert on_tiles[0] == on_tiles[1] == 100 * LEAST_BYTES
    assert on_tiles[2:].sum() == 0


@given(st.integers(0, 10**6), st.integers(1, 1472))
def test_code_is_uneven_and_complete(mean: int, tiles: int) -> None:
    on_tiles = spread_code(mean, tiles)
    assert on_tiles.sum() == mean * tiles
    assert (np.diff(on_tiles) <= 0).all()


def test_the_same_on_some_tiles() -> None:
    assert same(5, 4, 2).tolist() == [5, 5, 0, 0]
    assert same(5, 4).tolist() == [5] * 4
    assert same(5, 4, 99).tolist() == [5] * 4
