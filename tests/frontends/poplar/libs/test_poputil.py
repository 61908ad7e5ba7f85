"""Linear mappings: balanced pieces of whole grains, at least the smallest size, in the order of the tensor."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tremula.frontends.poplar.graph import mapping
from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.libs import poputil
from tremula.frontends.poplar.target import TargetFacts, TargetKind
from tremula.frontends.poplar.types import FLOAT, HALF


@given(
    elements=st.integers(0, 5000),
    grain=st.integers(1, 16),
    smallest=st.integers(0, 200),
    most=st.integers(1, 64),
)
def test_pieces_cover_a_range_in_balanced_whole_grains(
    elements: int, grain: int, smallest: int, most: int
) -> None:
    begin, end = poputil.pieces(elements, grain, smallest, most)
    assert np.array_equal(np.concatenate([np.arange(b, e) for b, e in zip(begin, end, strict=True)] or [begin]),
                          np.arange(elements))  # fmt: skip
    assert len(begin) <= most
    assert (begin % grain == 0).all()
    sizes = -(-(end - begin) // grain)
    assert not len(sizes) or sizes.max() - sizes.min() <= 1
    if len(begin) > 1:
        assert ((end - begin)[:-1] >= smallest).all()


@pytest.mark.parametrize(
    ("elements", "grain", "smallest", "most", "sizes"),
    [
        # 11 grains of 4 for at most 8 parts of at least 2 grains each: 5 parts, so at most 3 grains, so 4 parts
        (42, 4, 6, 8, [8, 12, 12, 10]),
        (1472 * 32, 2, 32, 1472, [32] * 1472),
        (1472 * 32 + 2, 2, 32, 1472, None),
        (100, 2, 32, 1472, [32, 34, 34]),
        (31, 2, 32, 1472, [31]),
        (65, 2, 32, 8, [32, 33]),
    ],
)
def test_pieces_of_known_sizes(
    elements: int, grain: int, smallest: int, most: int, sizes: list[int] | None
) -> None:
    begin, end = poputil.pieces(elements, grain, smallest, most)
    if sizes is None:  # one grain more than fits: fewer parts, of which the largest has 17 grains
        assert (end - begin).max() == 34
    else:
        assert (end - begin).tolist() == sizes


def test_a_tensor_is_mapped_from_the_offset_on_in_its_order() -> None:
    graph = Graph(TargetFacts(TargetKind.IPU_MODEL, tiles_per_ipu=4))
    view = graph.add_variable(FLOAT, (8, 16)).transpose()
    assert poputil.map_tensor_linearly(graph, view, offset=3) == 3
    assert mapping.tiles_of(graph.memory, view).tolist() == [3] * 32 + [0] * 32 + [1] * 32 + [2] * 32
    half = graph.add_variable(HALF, (128,))
    poputil.map_tensor_linearly(graph, half)
    assert mapping.tiles_of(graph.memory, half).tolist() == [0] * 64 + [1] * 64
