"""Processes of a distributed run get disjoint parts, equal where they have to be."""

from __future__ import annotations

import copy
import itertools

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from tremula.errors import Error
from tremula.frontends.torch.data.partition import PartitionedDataset, block_of

COUNTS = st.integers(1, 300)
PROCESSES = st.integers(1, 6)


@given(COUNTS, PROCESSES, st.integers(1, 20))
def test_dropping_gives_every_process_the_same_whole_number_of_steps(
    n: int, processes: int, step: int
) -> None:
    assume(n >= processes * step)
    blocks = [block_of(process, processes, n, step, drop_last=True) for process in range(processes)]
    assert len({block.length for block in blocks}) == 1
    assert blocks[0].length % step == 0
    assert n - processes * blocks[0].length < processes * step
    for before, after in itertools.pairwise(blocks):
        assert before.offset + before.length == after.offset
    assert blocks[-1].offset + blocks[-1].leftover + blocks[-1].length <= n


@given(COUNTS, PROCESSES, st.integers(1, 20))
def test_keeping_deals_out_every_element_once(n: int, processes: int, step: int) -> None:
    blocks = [block_of(process, processes, n, step, drop_last=False) for process in range(processes)]
    used = [index for block in blocks for index in range(block.offset, block.offset + block.length)]
    assert used == list(range(n))
    assert max(b.length for b in blocks) - min(b.length for b in blocks) <= 1


def test_too_few_elements_for_a_step_is_an_error() -> None:
    with pytest.raises(Error, match="has 7 elements, but one step of all 2 processes takes 8"):
        block_of(0, 2, 7, 4, drop_last=True)


def test_unknown_process_is_an_error() -> None:
    with pytest.raises(Error, match="no process 2: the 2 processes"):
        block_of(2, 2, 10, 1, drop_last=True)


def partition(process: int, processes: int, n: int, step: int, seed: int | None) -> PartitionedDataset:
    return PartitionedDataset(range(n), block_of(process, processes, n, step, drop_last=True), seed)


def elements(dataset: PartitionedDataset) -> list[int]:
    return [dataset[index] for index in range(len(dataset))]


def test_unshuffled_parts_are_in_order_and_iteration_ends() -> None:
    parts = [partition(process, 3, 100, 4, None) for process in range(3)]
    for part in parts:
        part.begin_epoch()
    assert [value for part in parts for value in elements(part)] == list(range(96))
    assert len(list(iter(parts[2]))) == 32


@given(st.integers(2, 5), st.integers(0, 2**31))
def test_shuffled_parts_are_disjoint_and_change_from_epoch_to_epoch(processes: int, seed: int) -> None:
    parts = [partition(process, processes, 100, 16, seed) for process in range(processes)]
    orders = []
    for _ in range(3):
        for part in parts:
            part.begin_epoch()
        order = [value for part in parts for value in elements(part)]
        assert len(set(order)) == len(order)
        orders.append(order)
    assert orders[0] != orders[1] != orders[2]


def test_the_left_over_elements_are_drawn_from_on_every_other_epoch() -> None:
    # The order of an epoch is that of torch.randperm with the shared seed: 10 elements, 2 processes of 4.
    generator = torch.Generator().manual_seed(3)
    first, second = (torch.randperm(10, generator=generator).tolist() for _ in range(2))
    part = partition(1, 2, 10, 4, seed=3)
    part.begin_epoch()
    assert elements(part) == first[6:10]
    part.begin_epoch()
    assert elements(part) == second[4:8]


def test_a_copy_that_shares_the_memory_sees_the_next_order() -> None:
    part = partition(0, 2, 40, 4, seed=1)
    part.begin_epoch()
    worker_copy = copy.copy(part)  # what a loader process that lives on has
    before = elements(worker_copy)
    part.begin_epoch()
    assert elements(worker_copy) == elements(part) != before
