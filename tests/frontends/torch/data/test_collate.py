"""Batches are those of torch's `default_collate`, wherever they are written."""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Hashable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import Subset, TensorDataset, default_collate
from torch.utils.data._utils.collate import default_collate_fn_map

from tremula.frontends.torch.data.collate import BatchCollate, Rows, WholeBatches
from tremula.frontends.torch.data.partition import Block, PartitionedDataset

Point = namedtuple("Point", "x y")


class Places:
    """Gives out memory of a flat buffer, and remembers for what."""

    def __init__(self) -> None:
        self.given: dict[Hashable, torch.Tensor] = {}

    def __call__(self, key: Hashable, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        buffer = torch.full((math.prod(shape) * dtype.itemsize,), 0xAB, dtype=torch.uint8)
        self.given[key] = buffer.view(dtype).view(shape)
        return self.given[key]


def assert_same(found: Any, expected: Any) -> None:
    assert type(found) is type(expected)
    if isinstance(expected, torch.Tensor):
        assert found.dtype == expected.dtype
        assert found.stride() == expected.stride()
        assert torch.equal(found, expected)
    elif isinstance(expected, dict):
        assert list(found) == list(expected)
        for key, value in expected.items():
            assert_same(found[key], value)
    elif isinstance(expected, (list, tuple)):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other)
    else:
        assert found == expected


def make_leaf(kind: str, index: int) -> Any:
    return {
        "tensor": torch.arange(6.0).reshape(2, 3) + index,
        "label": torch.tensor(index),
        "transposed": (torch.arange(6).reshape(2, 3) + index).t(),
        "bfloat16": torch.full((2,), index, dtype=torch.bfloat16),
        "array": np.arange(4, dtype=np.float32) + index,
        "array0": np.array(index),
        "scalar": np.float32(index),
        "int": index,
        "float": index / 3,
        "bool": index % 2 == 0,
        "text": f"sample {index}",
        "nested": [torch.tensor(index), (index, float(index))],
        "point": Point(index, torch.tensor([index])),
    }[kind]


KINDS = [
    "tensor",
    "label",
    "transposed",
    "bfloat16",
    "array",
    "array0",
    "scalar",
    "int",
    "float",
    "bool",
    "text",
    "nested",
    "point",
]


@given(
    st.lists(st.sampled_from(KINDS), min_size=1, max_size=4),
    st.sampled_from(["tuple", "list", "dict", "bare"]),
    st.integers(1, 5),
)
def test_any_structure_gives_what_torch_gives(kinds: list[str], container: str, count: int) -> None:
    def sample(index: int) -> Any:
        parts = [make_leaf(kind, index) for kind in kinds]
        if container == "dict":
            return {f"part {position}": part for position, part in enumerate(parts)}
        if container == "bare":
            return parts[0]
        return tuple(parts) if container == "tuple" else parts

    samples = [sample(index) for index in range(count)]
    expected = default_collate(samples)
    collate = BatchCollate()
    assert_same(collate(samples), expected)
    collate.allocate = Places()
    assert_same(collate(samples), expected)


def test_tensors_arrays_and_numbers_are_written_where_the_caller_says() -> None:
    collate = BatchCollate()
    collate.allocate = places = Places()
    samples = [(torch.ones(3) * index, np.ones(2) * index, index, 0.5 * index) for index in range(4)]
    batch = collate(samples)
    assert [part is places.given[position] for position, part in enumerate(batch)] == [True] * 4
    batch = collate([{"a": torch.tensor(1)}, {"a": torch.tensor(2)}])
    assert batch["a"] is places.given["a"]


@pytest.mark.parametrize(
    "column",
    [
        [torch.tensor([1.0]), torch.tensor([2.5], dtype=torch.float64)],
        [torch.tensor([1.0], requires_grad=True), torch.tensor([2.0])],
    ],
    ids=["types differ", "gradients"],
)
def test_what_has_no_place_is_made_as_torch_does(column: list[torch.Tensor]) -> None:
    collate = BatchCollate()
    collate.allocate = Places()
    assert_same(collate(column), default_collate(column))


@pytest.mark.parametrize(
    "samples",
    [[torch.zeros(2), torch.zeros(3)], [(1, 2), (1,)], [object(), object()], [{"a": 1}, {"b": 1}], []],
)
def test_errors_are_torchs(samples: list[Any]) -> None:
    with pytest.raises(Exception) as expected:  # noqa: PT011  whatever torch raises
        default_collate(samples)
    collate = BatchCollate()
    for allocate in (None, Places()):
        collate.allocate = allocate
        with pytest.raises(type(expected.value)):
            collate(samples)


def test_what_a_program_taught_torch_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        default_collate_fn_map, torch.Tensor, lambda batch, *, collate_fn_map: torch.cat(batch)
    )
    assert BatchCollate()([torch.ones(2), torch.ones(2)]).shape == (4,)


# Whole batches


def tensors() -> TensorDataset:
    return TensorDataset(torch.randn(20, 2, 3), torch.arange(20), torch.arange(20.0).to(torch.bfloat16))


def shuffled_partition() -> PartitionedDataset:
    partition = PartitionedDataset(tensors(), Block(5, 10, 2), seed=3)
    partition.begin_epoch()
    return partition


@pytest.mark.parametrize(
    "dataset",
    [
        tensors(),
        Subset(tensors(), [3, 1, 4, 1, 5, 9, 2, 6, 5, 3]),
        PartitionedDataset(tensors(), Block(4, 12)),
        shuffled_partition(),
        Subset(shuffled_partition(), range(9, -1, -1)),
    ],
    ids=["plain", "subset", "partition", "shuffled partition", "subset of a partition"],
)
@pytest.mark.parametrize("allocate", [None, Places()])
@pytest.mark.parametrize("indices", [[0, 1, 2, 3], [7], [3, 2, 1], [0, 2, 4, 4], [9, 0]])
def test_rows_read_together_are_those_read_one_by_one(
    dataset: Any, allocate: Any, indices: list[int]
) -> None:
    rows = WholeBatches.of(dataset).__getitems__(indices)
    assert type(rows) is Rows
    collate = BatchCollate()
    collate.allocate = allocate
    batch = collate(rows)
    assert_same(batch, default_collate([dataset[index] for index in indices]))
    batch[0].zero_()
    assert dataset[indices[0]][0].any(), "the batch is a view of the data set"


@pytest.mark.parametrize("indices", [[-1, 2], [torch.tensor(1), torch.tensor(0)], [np.int64(3)], [True]])
def test_unusual_indices_are_left_to_the_data_set(indices: list[Any]) -> None:
    dataset = tensors()
    samples = WholeBatches.of(dataset).__getitems__(indices)
    assert type(samples) is list
    assert_same(default_collate(samples), default_collate([dataset[index] for index in indices]))
    with pytest.raises(IndexError):
        WholeBatches.of(dataset).__getitems__([20])


class Derived(TensorDataset):
    def __getitem__(self, index: int) -> Any:
        return index


@pytest.mark.parametrize(
    "dataset",
    [
        Derived(torch.ones(3)),
        TensorDataset(torch.ones(3, requires_grad=True)),
        TensorDataset(torch.ones(3, 2).t()),
        TensorDataset(torch.nn.Parameter(torch.ones(3), requires_grad=False)),
        [1, 2, 3],
    ],
)
def test_other_data_sets_stay_as_they_are(dataset: Any) -> None:
    assert WholeBatches.of(dataset) is dataset
