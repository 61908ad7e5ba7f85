"""Clones have new elements on the same tiles, in the order and with the aliases that were asked for."""

from __future__ import annotations

import numpy as np
import pytest

from tremula.frontends.poplar.graph import mapping
from tremula.frontends.poplar.graph.clone import clone
from tremula.frontends.poplar.graph.concat import concat
from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.graph.rearrange import contiguous_regions, moved, reshaped_part
from tremula.frontends.poplar.target import TargetFacts, TargetKind
from tremula.frontends.poplar.types import FLOAT


@pytest.fixture
def graph() -> Graph:
    return Graph(TargetFacts(TargetKind.IPU_MODEL, tiles_per_ipu=8))


def test_a_clone_lies_on_the_same_tiles(graph: Graph) -> None:
    one, other = graph.add_variable(FLOAT, (2, 3)), graph.add_variable(FLOAT, (3,))
    graph.set_tile_mapping(one, 2)
    graph.set_tile_mapping(other, 5)
    view = concat([one.flatten(), other])[1:8].reverse(0)
    for keep_order in (True, False):
        made = clone(view, keep_order=keep_order)
        assert mapping.tiles_of(graph.memory, made).tolist() == mapping.tiles_of(graph.memory, view).tolist()
        assert not np.intersect1d(made.addresses(), view.addresses()).size


def test_the_order_in_memory_is_kept_or_made_anew(graph: Graph) -> None:
    view = graph.add_variable(FLOAT, (2, 3)).transpose()
    kept, anew = clone(view), clone(view, keep_order=False)
    assert np.array_equal(np.diff(kept.addresses().reshape(-1)), np.diff(view.addresses().reshape(-1)))
    assert (np.diff(anew.addresses().reshape(-1)) == 4).all()


def test_aliases_are_kept_or_become_elements_of_their_own(graph: Graph) -> None:
    view = graph.add_variable(FLOAT, (1, 3)).broadcast(2, 0)
    assert clone(view).has_aliases()
    assert not clone(view, keep_aliases=False).has_aliases()


def test_dimensions_move_as_in_numpy(graph: Graph) -> None:
    view = graph.add_variable(FLOAT, (2, 3, 4, 5))
    assert moved(view, [0, 2], [3, 1]).shape == np.moveaxis(np.empty((2, 3, 4, 5)), [0, 2], [3, 1]).shape
    assert reshaped_part(view, 1, 3, [6, 2]).shape == (2, 6, 2, 5)


def test_regions_are_cut_where_elements_are_not_neighbours(graph: Graph) -> None:
    one, other = graph.add_variable(FLOAT, (4, 4)), graph.add_variable(FLOAT, (4,))
    assert contiguous_regions(one) == [(0, 16)]
    assert contiguous_regions(one[0:2, 1:3]) == [(0, 2), (2, 4)]
    assert contiguous_regions(concat([one.flatten(), other])) == [(0, 16), (16, 20)]
    assert contiguous_regions(one.transpose()[0]) == [(0, 1), (1, 2), (2, 3), (3, 4)]
