"""Items survive being taken apart and put together."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from tremula.errors import Error
from tremula.frontends.torch.data.item_structure import ItemLayout, TensorSpec
from tremula.frontends.torch.structure import register_parser


class Pair:
    def __init__(self, left: torch.Tensor, right: torch.Tensor, name: str = "") -> None:
        self.left, self.right, self.name = left, right, name


class PairParser:
    def yieldTensors(self, struct: Pair) -> Iterator[torch.Tensor]:
        yield struct.left
        yield struct.right

    def reconstruct(self, original_structure: Pair, tensor_iterator: Iterator[torch.Tensor]) -> Pair:
        return Pair(next(tensor_iterator), next(tensor_iterator), original_structure.name)


@pytest.fixture
def pair_parser() -> Iterator[None]:
    register_parser(Pair, PairParser())
    yield
    register_parser(Pair, None)


A, B = torch.tensor([1.0, 2.0]), torch.tensor(3)


def test_a_tensor_comes_back_as_itself() -> None:
    layout = ItemLayout.of(A)
    assert layout.specs == (TensorSpec((2,), torch.float32),)
    assert layout.rebuild(layout.flatten(A)) is A


@pytest.mark.parametrize("item", [(A, B), [A, B]])
def test_sequences_come_back_as_lists(item: object) -> None:
    layout = ItemLayout.of(item)
    assert layout.rebuild(layout.flatten(item)) == [A, B]


def test_dictionaries_keep_the_keys_of_the_first_item() -> None:
    layout = ItemLayout.of({"a": A, 3: B})
    assert layout.flatten({3: B, "a": A}) == [A, B]
    assert layout.rebuild([A, B]) == {"a": A, 3: B}
    with pytest.raises(Error, match="same keys"):
        layout.flatten({"a": A, "b": B})


@pytest.mark.usefixtures("pair_parser")
def test_own_types_keep_their_other_attributes_but_send_no_data() -> None:
    layout = ItemLayout.of(Pair(torch.ones(1000, 1000), B, "named"))
    assert layout.template.left.numel() == 0
    rebuilt = layout.rebuild([A, B])
    assert isinstance(rebuilt, Pair)
    assert (rebuilt.left, rebuilt.right, rebuilt.name) == (A, B, "named")


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (5, "type int"),
        ([A, 5], "Element 1 of the item is a int"),
        ({"x": [A]}, "Element 'x' of the item is a list"),
        (A.to_sparse(), "only dense tensors"),
    ],
)
def test_other_items_are_refused(item: object, message: str) -> None:
    with pytest.raises(Error, match=message):
        ItemLayout.of(item)


def test_later_items_must_be_alike() -> None:
    layout = ItemLayout.of([A, B])
    with pytest.raises(Error, match="a tensor, but its first item was a list"):
        layout.flatten(A)
    with pytest.raises(Error, match="returned 3 tensors"):
        layout.flatten([A, B, B])
