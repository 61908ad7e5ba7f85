"""Views name the elements that NumPy's operations of the same kind name, in the same order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tremula.frontends.poplar.errors import TensorCreationError
from tremula.frontends.poplar.graph import mapping
from tremula.frontends.poplar.graph.concat import concat
from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.target import TargetFacts, TargetKind
from tremula.frontends.poplar.types import FLOAT, HALF, INT, UNSIGNED_INT


def graph() -> Graph:
    return Graph(TargetFacts(TargetKind.IPU_MODEL, tiles_per_ipu=8))


def numbers(view: View) -> np.ndarray:
    """The elements of a view of the graph's first variable, by number."""
    return (view.addresses() - view.graph.memory.variables[0].address) // view.element_bytes


def step(view: View, expected: np.ndarray, data: st.DataObject) -> tuple[View, np.ndarray]:
    """One operation on a view and on the array that it should equal."""
    choice = data.draw(
        st.sampled_from(
            [
                "slice",
                "at",
                "reshape",
                "shuffle",
                "reverse",
                "broadcast",
                "upsample",
                "sample",
                "expand",
                "join",
            ]
        )
    )
    if choice == "expand" or not view.rank:
        place = data.draw(st.integers(0, view.rank))
        return view.expand([place]), np.expand_dims(expected, place)
    dimension = data.draw(st.integers(0, view.rank - 1))
    length = view.shape[dimension]
    front = (slice(None),) * dimension
    if choice == "slice":
        begin = data.draw(st.integers(0, length))
        end = data.draw(st.integers(begin, length))
        return view.slice_dimension(begin, end, dimension), expected[(*front, slice(begin, end))]
    if choice == "at" and view.shape[0]:
        number = data.draw(st.integers(0, view.shape[0] - 1))
        return view[number], expected[number]
    if choice == "reshape":
        shape = data.draw(st.sampled_from([(-1,), (*view.shape, 1), (1, *view.shape[::-1])]))
        shape = (view.elements,) if shape == (-1,) else shape
        return view.reshape(shape), expected.reshape(shape)
    if choice == "shuffle":
        order = data.draw(st.permutations(range(view.rank)))
        return view.dim_shuffle(order), expected.transpose(order)
    if choice == "reverse":
        return view.reverse(dimension), np.flip(expected, dimension)
    count = data.draw(st.integers(1, 3))
    if view.elements > 500:
        return view, expected
    if choice == "broadcast":
        return view.broadcast(count, dimension), np.concatenate([expected] * count, dimension)
    if choice == "upsample":
        return view.upsample(count, dimension), np.repeat(expected, count, dimension)
    if choice == "sample":
        return view.sub_sample(count, dimension), expected[(*front, slice(None, None, count))]
    cut = data.draw(st.integers(0, length))
    parts = [view.slice_dimension(0, cut, dimension), view.slice_dimension(cut, length, dimension)]
    return concat(parts, dimension), expected


@given(st.data())
def test_any_chain_of_views_names_what_numpy_names(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(0, 5), min_size=1, max_size=3)))
    view = graph().add_variable(FLOAT, shape)
    expected = np.arange(int(np.prod(shape))).reshape(shape)
    for _ in range(data.draw(st.integers(1, 6))):
        view, expected = step(view, expected, data)
    assert view.shape == expected.shape
    assert np.array_equal(numbers(view), expected)
    starts, counts, steps = view.runs()
    in_order = [
        start + i * stride for start, n, stride in zip(starts, counts, steps, strict=True) for i in range(n)
    ]
    assert in_order == view.addresses().reshape(-1).tolist()
    assert view.has_aliases() == (len(set(in_order)) != len(in_order))


def test_slices_and_transpositions_take_no_list_of_addresses() -> None:
    view = graph().add_variable(FLOAT, (4, 6))
    assert view.transpose()[1:5, 2].address_list is None
    assert view.reshape((2, 2, 6)).dim_shuffle([2, 0, 1]).address_list is None
    assert concat([view[0:2], view[2:4]]).address_list is None
    assert view.transpose().flatten().address_list is not None


def test_half_is_kept_in_the_type_that_computes_it() -> None:
    quick = Graph(TargetFacts(TargetKind.IPU_MODEL, accurate_half=False)).add_variable(HALF, (3,))
    exact = Graph(TargetFacts(TargetKind.IPU)).add_variable(HALF, (3,))
    assert (quick.element_bytes, exact.element_bytes) == (4, 2)


def test_bits_are_read_as_another_type_of_the_same_size() -> None:
    view = graph().add_variable(FLOAT, (3,))
    assert view.reinterpret(UNSIGNED_INT).type is UNSIGNED_INT
    with pytest.raises(TensorCreationError, match="sizes"):
        view.reinterpret(HALF)


def test_a_view_outside_its_tensor_is_an_error_that_gives_the_shape() -> None:
    view = graph().add_variable(INT, (2, 3))
    with pytest.raises(TensorCreationError, match=r"\[2, 3\]"):
        view.slice_dimension(0, 3)
    with pytest.raises(TensorCreationError, match="6 elements"):
        view.reshape((4,))


@given(st.data())
def test_the_last_mapping_of_an_element_counts(data: st.DataObject) -> None:
    whole = graph()
    variable = whole.add_variable(FLOAT, (4, 5))
    expected = np.full(20, mapping.UNMAPPED)
    for _ in range(data.draw(st.integers(0, 5))):
        view = variable
        order = np.arange(20).reshape(4, 5)
        for _ in range(data.draw(st.integers(0, 3))):
            view, order = step(view, order, data)
        tile = data.draw(st.integers(0, 7))
        whole.set_tile_mapping(view, tile)
        expected[order.reshape(-1)] = tile
    assert mapping.tiles_of(whole.memory, variable).tolist() == expected.tolist()


def test_a_view_of_several_variables_is_mapped_piece_by_piece() -> None:
    whole = graph()
    one, other = whole.add_variable(FLOAT, (4,)), whole.add_variable(FLOAT, (4,))
    whole.set_tile_mapping(concat([one[2:4], other[0:1]]), 3)
    whole.set_tile_mapping(other[1:4], 1)
    begin, end, tile = whole.tile_mapping(concat([one, other]))
    assert list(zip(begin.tolist(), end.tolist(), tile.tolist(), strict=True)) == [
        (0, 2, -1),
        (2, 5, 3),
        (5, 8, 1),
    ]
