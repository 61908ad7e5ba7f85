"""Tensors in and out of nested containers."""

from __future__ import annotations

from collections import OrderedDict, namedtuple

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tremula.frontends.torch.structure import (
    custom_parsers,
    flattenTensorStructure,
    parser_of,
    rebuilder,
    reconstructTensorStructure,
    register_parser,
)

Pair = namedtuple("Pair", ["left", "right"])

leaves = st.one_of(
    st.none(), st.integers(), st.booleans(), st.text(max_size=3), st.builds(torch.zeros, st.just(1))
)
structures = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.text(max_size=3), inner, max_size=3),
        st.builds(Pair, inner, inner),
    ),
    max_leaves=12,
)


class Box:
    def __init__(self, tensor: torch.Tensor, note: str) -> None:
        self.tensor = tensor
        self.note = note


class BoxParser:
    def yieldTensors(self, struct):
        yield struct.tensor

    def reconstruct(self, original_structure, tensor_iterator):
        return type(original_structure)(next(tensor_iterator), original_structure.note)


@pytest.fixture
def box_parser():
    parser = BoxParser()
    register_parser(Box, parser)
    yield parser
    register_parser(Box, None)


def shape(structure):
    """The structure with every tensor blotted out."""
    if isinstance(structure, torch.Tensor):
        return torch.Tensor
    if isinstance(structure, dict):
        return (type(structure), {key: shape(value) for key, value in structure.items()})
    if isinstance(structure, (list, tuple)):
        return (type(structure), [shape(value) for value in structure])
    return structure


@given(structures)
def test_taking_out_and_putting_back_gives_the_same(structure):
    tensors = flattenTensorStructure(structure)
    again = reconstructTensorStructure(structure, tensors)
    assert shape(again) == shape(structure)
    assert all(a is b for a, b in zip(flattenTensorStructure(again), tensors, strict=True))


@given(structures)
def test_replacements_land_in_the_order_of_flattening(structure):
    count = len(flattenTensorStructure(structure))
    fresh = [torch.zeros(index + 1) for index in range(count)]
    landed = flattenTensorStructure(reconstructTensorStructure(structure, iter(fresh)))
    assert all(a is b for a, b in zip(landed, fresh, strict=True))


def test_a_model_structure_decides_the_order_of_keys():
    a, b, c = torch.zeros(1), torch.zeros(2), torch.zeros(3)
    model = [{"x": a, "y": {"p": b, "q": c}}]
    given_ = [{"y": {"q": c, "p": b}, "x": a}]
    assert [t.numel() for t in flattenTensorStructure(given_)] == [3, 2, 1]
    assert [t.numel() for t in flattenTensorStructure(given_, model)] == [1, 2, 3]


def test_kinds_of_containers_are_kept():
    class Mine(OrderedDict):
        pass

    tensor = torch.zeros(1)
    parameter = torch.nn.Parameter(torch.zeros(2))
    result = torch.max(torch.zeros(2, 2), 0)
    structure = Mine(a=Pair(tensor, [parameter]), b=result)
    assert len(flattenTensorStructure(structure)) == 4
    again = reconstructTensorStructure(structure, [torch.ones(1)] * 2 + list(result))
    assert type(again) is Mine
    assert type(again["a"]) is Pair
    assert type(again["b"]) is type(result)


def test_a_filter_leaves_tensors_alone():
    kept, replaced = torch.zeros(1), torch.zeros(2)
    again = reconstructTensorStructure((kept, replaced), [torch.ones(2)], lambda t: t.numel() == 2)
    assert again[0] is kept
    assert again[1].sum() == 2


def test_registered_types(box_parser):
    class SmallBox(Box):
        pass

    box = SmallBox(torch.zeros(1), "note")
    assert parser_of(box) is box_parser
    assert flattenTensorStructure({"k": (1, box)})[0] is box.tensor
    again = reconstructTensorStructure([box], [torch.ones(1)])
    assert type(again[0]) is SmallBox
    assert again[0].note == "note"
    assert again[0].tensor.item() == 1


def test_a_parser_taken_away_is_forgotten(box_parser):
    box = Box(torch.zeros(1), "")
    assert flattenTensorStructure(box)
    register_parser(Box, None)
    assert not flattenTensorStructure(box)
    assert Box not in custom_parsers
    register_parser(Box, None)


@given(structures)
def test_a_rebuilder_does_what_reconstruction_does(structure):
    takes_part = lambda tensor: tensor.numel() == 1  # noqa: E731
    found = flattenTensorStructure(structure)
    values = [torch.full((1,), i) for i in range(len(found))]
    expected = reconstructTensorStructure(structure, values, takes_part)
    rebuild = rebuilder(structure, takes_part)
    for _ in range(2):
        again = rebuild(values)
        assert type(again) is type(expected)
        assert shape(again) == shape(expected)
        assert [id(t) for t in flattenTensorStructure(again)] == [id(v) for v in values]


def test_a_rebuilder_keeps_tensors_that_do_not_take_part_and_asks_later_parsers(request):
    kept = torch.zeros(2)
    takes_part = lambda tensor: tensor.numel() == 1  # noqa: E731
    assert rebuilder((kept, torch.zeros(1)), takes_part)(["new"]) == (kept, "new")
    assert rebuilder([], takes_part)([]) == []
    rebuild = rebuilder((torch.zeros(1),), takes_part)
    request.getfixturevalue("box_parser")
    assert rebuild(["new"]) == ("new",)
