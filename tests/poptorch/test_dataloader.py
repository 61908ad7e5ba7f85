"""Loaders hand out combined batches, in all modes, and say what they do with the rest."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.poptorch.loaders import (
    ALL_MODES,
    Batches,
    Numbers,
    Stream,
    UnsizedBatches,
    epoch,
    make,
    opts,
)

from poptorch._dataloader import DataLoader
from poptorch.enums import DataLoaderMode
from poptorch.options import Options
from tremula.errors import Error
from tremula.frontends.torch.structure import register_parser

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


@pytest.mark.parametrize("mode", ALL_MODES)
@pytest.mark.parametrize("drop_last", [True, False])
def test_batches_are_combined_over_iterations_accumulation_and_replicas(
    mode: DataLoaderMode, drop_last: bool
) -> None:
    loader = make(opts(2, 3, 2), Numbers(55), mode, batch_size=2, drop_last=drop_last)
    assert loader.combinedBatchSize == 24
    expected = [list(range(24)), list(range(24, 48))] + ([] if drop_last else [list(range(48, 55))])
    assert len(loader) == len(expected)
    for _ in range(2):
        assert epoch(loader) == expected


def test_replicas_that_share_inputs_count_once() -> None:
    from poptorch.enums import CommGroupType

    options = opts(replicas=4)
    options.inputReplicaGrouping(2, CommGroupType.Consecutive)
    assert make(options, Numbers(10)).combinedBatchSize == 2


@settings(max_examples=15)
@given(st.integers(1, 40), st.integers(2, 9), st.booleans(), st.data())
def test_rebatching_gives_what_plain_loading_gives(n: int, batch: int, drop_last: bool, data: Any) -> None:
    size = data.draw(st.integers(1, batch))
    if n < batch and drop_last:
        drop_last = False
    plain = make(opts(), Numbers(n), batch_size=batch, drop_last=drop_last)
    other = make(
        opts(),
        Numbers(n),
        DataLoaderMode.AsyncRebatched,
        batch_size=batch,
        drop_last=drop_last,
        rebatched_worker_size=size,
    )
    assert epoch(other) == epoch(plain)
    assert len(other) == len(plain)
    other.terminate()


def test_options_are_frozen_and_kept() -> None:
    options = opts()
    loader = make(options, Numbers(4))
    assert loader.options is options
    with pytest.raises(AttributeError, match="Can't modify frozen Options"):
        options.deviceIterations(2)
    with pytest.raises(AssertionError, match=r"poptorch\.Options"):
        make(None, Numbers(4))  # type: ignore[arg-type]


@pytest.mark.parametrize("mode", [DataLoaderMode.Sync, DataLoaderMode.Async])
def test_batch_size_none_hands_out_elements(mode: DataLoaderMode) -> None:
    loader = make(opts(5), Numbers(3), mode, batch_size=None, drop_last=False)
    assert loader.combinedBatchSize is None
    assert epoch(loader) == [0, 1, 2]
    assert len(loader) == 3


@pytest.mark.parametrize("mode", ALL_MODES)
def test_streams(mode: DataLoaderMode) -> None:
    loader = make(opts(), Stream(7), mode, batch_size=3)
    assert epoch(loader) == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(TypeError, match="'Stream' has no len"):
        len(loader)


def test_the_default_strategy_sends_the_loader_and_its_parts() -> None:
    dataset = torch.utils.data.TensorDataset(torch.arange(8.0).reshape(4, 2), torch.arange(4))
    loader = DataLoader(opts(2), dataset, mode=DataLoaderMode.Async)
    batches = [(x.tolist(), y.tolist()) for x, y in loader]
    loader.terminate()
    assert batches == [([[0, 1], [2, 3]], [0, 1]), ([[4, 5], [6, 7]], [2, 3])]


def test_shuffling_follows_the_seed_of_the_program() -> None:
    def order(seed: int) -> list[int]:
        torch.manual_seed(seed)
        dataset = torch.utils.data.TensorDataset(torch.arange(30))
        loader = DataLoader(opts(), dataset, shuffle=True, mode=DataLoaderMode.Async)
        values = [int(x) for (x,) in loader]
        loader.terminate()
        assert sorted(values) == list(range(30))
        return values

    assert order(1) == order(1) != order(2)


# Remainders


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ({"batch_size": 4}, ["(10)", "(8)", "left over: 2", "drop_last=True"]),
        ({"batch_sampler": Batches([3, 3, 4], 4)}, ["(3)", "(2)", "left over: 1", "is 8", "drop_last=True"]),
        ({"batch_sampler": UnsizedBatches([3, 7], 7)}, ["no length", "2 micro-batches", "drop_last=True"]),
    ],
)
def test_a_remainder_is_announced(arguments: Any, parts: list[str], caplog: Any) -> None:
    with caplog.at_level(logging.WARNING, "poptorch::python"):
        make(opts(2), Numbers(10), drop_last=False, **arguments)
    (record,) = caplog.records
    for part in parts:
        assert part in record.getMessage()


def test_the_remainder_of_a_distributed_run_is_that_of_this_process(caplog: Any) -> None:
    options = opts()
    options.Distributed.configureProcessId(1, 2)
    make(options, Numbers(11), batch_size=3, drop_last=False)
    assert "samples (5)" in caplog.text
    assert "left over: 2" in caplog.text


def test_nothing_is_said_when_nothing_is_left(caplog: Any) -> None:
    make(opts(2), Numbers(8), batch_size=4, drop_last=False)
    make(opts(2), Numbers(9), batch_size=4)
    assert caplog.records == []


def combined_of_24() -> Options:
    options = Options()
    options.deviceIterations(3)
    options.Training.gradientAccumulation(2)
    return options


def test_too_few_samples_for_a_combined_batch_are_an_error_before_a_process_is_started() -> None:
    numbers = r"10 samples.*takes 24 samples; batch_size\(4\) \* Options.deviceIterations\(3\)"
    with pytest.raises(Error, match=numbers):
        DataLoader(combined_of_24(), Numbers(10), batch_size=4, mode=DataLoaderMode.Async)


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ({"batch_size": 4}, ["10 samples", "24 samples", "gradientAccumulation(2)", "empty"]),
        ({"batch_sampler": Batches([4, 4, 2], 4)}, ["3 micro-batches", "takes 6 micro-batches", "empty"]),
    ],
)
def test_a_loader_without_a_single_combined_batch_says_so(
    arguments: Any, parts: list[str], caplog: Any
) -> None:
    with caplog.at_level(logging.WARNING, "poptorch::python"):
        loader = DataLoader(combined_of_24(), Numbers(10), **arguments)
    assert list(loader) == []
    (record,) = caplog.records
    assert [part for part in parts if part not in record.getMessage()] == []


def test_nothing_is_said_about_a_loader_with_one_combined_batch(caplog: Any) -> None:
    loader = DataLoader(combined_of_24(), Numbers(24), batch_size=4)
    assert len(loader) == 1
    assert caplog.records == []


def test_options_without_effect_are_announced(caplog: Any) -> None:
    make(opts(), Numbers(8), async_options={"buffer_size": 4})
    make(opts(), Numbers(8), rebatched_worker_size=1)
    assert [record.getMessage().split()[0] for record in caplog.records] == [
        "async_options",
        "rebatched_worker_size",
    ]


def test_streams_read_by_several_workers_are_announced(caplog: Any) -> None:
    make(opts(), Stream(8), num_workers=2)
    assert "2 times" in caplog.text
    caplog.clear()
    make(opts(), Stream(8), num_workers=2, worker_init_fn=print)
    assert caplog.records == []


# Batch samplers


@pytest.mark.parametrize("mode", ALL_MODES)
@pytest.mark.parametrize("drop_last", [True, False])
def test_batches_of_a_sampler_are_joined(mode: DataLoaderMode, drop_last: bool) -> None:
    loader = make(opts(2), Numbers(10), mode, batch_sampler=Batches([2] * 5, 2), drop_last=drop_last)
    expected = [[0, 1, 2, 3], [4, 5, 6, 7]] + ([] if drop_last else [[8, 9]])
    assert epoch(loader) == epoch(loader) == expected
    assert len(loader) == len(expected)


class Point:
    def __init__(self, x: torch.Tensor) -> None:
        self.x = x


class PointParser:
    def yieldTensors(self, struct: Point) -> Iterator[torch.Tensor]:
        yield struct.x

    def reconstruct(self, original_structure: Point, tensor_iterator: Iterator[torch.Tensor]) -> Point:
        return Point(next(tensor_iterator))


@pytest.mark.parametrize("mode", ALL_MODES)
def test_types_with_a_parser_travel(mode: DataLoaderMode) -> None:
    register_parser(Point, PointParser())
    try:
        loader = make(
            opts(2),
            Numbers(8),
            mode,
            batch_sampler=Batches([2] * 4, 2),
            collate_fn=lambda elements: Point(torch.stack(elements)),
        )
        assert [point.x.tolist() for point in loader] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    finally:
        register_parser(Point, None)


def test_a_sampler_excludes_what_it_replaces() -> None:
    sampler = Batches([2], 2)
    with pytest.raises(Error, match="mutually exclusive with batch_size, shuffle"):
        make(opts(), Numbers(4), batch_sampler=sampler, batch_size=2)
    with pytest.raises(Error, match="mutually exclusive with batch_size, shuffle"):
        make(opts(), Numbers(4), batch_sampler=sampler, shuffle=True)
    options = opts()
    options.Distributed.configureProcessId(0, 2)
    with pytest.raises(Error, match="auto_distributed_partitioning"):
        make(options, Numbers(4), batch_sampler=sampler)
    make(options, Numbers(4), batch_sampler=sampler, auto_distributed_partitioning=False)


# Distributed runs


def distributed(mode: DataLoaderMode, shuffle: bool, **arguments: Any) -> list[DataLoader]:
    loaders = []
    for process in range(3):
        options = opts(2)
        options.randomSeed(42)
        options.Distributed.configureProcessId(process, 3)
        loaders.append(make(options, Numbers(40), mode, batch_size=2, shuffle=shuffle, **arguments))
    return loaders


@pytest.mark.parametrize("mode", ALL_MODES)
def test_each_process_gets_its_block(mode: DataLoaderMode) -> None:
    loaders = distributed(mode, shuffle=False)
    assert [len(loader) for loader in loaders] == [3] * 3
    values = [value for loader in loaders for batch in epoch(loader) for value in batch]
    assert values == list(range(36))


@pytest.mark.parametrize("mode", [DataLoaderMode.Sync, DataLoaderMode.Async])
@pytest.mark.parametrize("workers", [0, 2])
def test_shuffled_blocks_are_disjoint_in_every_epoch(mode: DataLoaderMode, workers: int) -> None:
    loaders = distributed(mode, shuffle=True, num_workers=workers)
    seen = []
    for _ in range(3):
        values = [value for loader in loaders for batch in epoch(loader) for value in batch]
        assert len(set(values)) == len(values) == 36
        seen.append(values)
    assert seen[0] != seen[1] != seen[2]


def test_what_a_distributed_run_needs() -> None:
    options = opts()
    options.Distributed.configureProcessId(0, 2)
    with pytest.raises(AssertionError, match="randomSeed"):
        make(options, Numbers(4), shuffle=True)
    with pytest.raises(AssertionError, match="batch_size=None not allowed"):
        make(options, Numbers(4), batch_size=None, drop_last=False)
    with pytest.raises(AssertionError, match="IterableDataset"):
        make(options, Stream(4))
    assert epoch(make(options, Stream(2), auto_distributed_partitioning=False)) == [[0], [1]]
