"""Batches travel through slots: they arrive unchanged, and a slot is free again when nobody sees it any more."""

from __future__ import annotations

import gc
import os
import pickle
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.utils.rnn

from tremula.frontends.torch.data.arena import Arenas, Parcel, _Writer

SLOTS = 3


class Line:
    """Both ends of the line between a worker process and its receiver, in one process."""

    def __init__(self) -> None:
        self.arenas = Arenas(workers=1, slots=SLOTS)
        self.writer = _Writer(self.arenas.files[0], SLOTS, (self.arenas.key, 0))

    def send(self, batch: Any) -> Any:
        return pickle.loads(pickle.dumps(self.writer.pack(batch)))  # noqa: S301  what a worker sends


@pytest.fixture
def line() -> Line:
    return Line()


@pytest.mark.parametrize(
    "batch",
    [
        torch.arange(12.0).reshape(3, 4),
        [torch.arange(5), torch.ones(2, 2, dtype=torch.bfloat16), torch.tensor([True, False])],
        {"a": torch.tensor(3), "b": [("text", 1, torch.randn(3, dtype=torch.complex64))]},
        torch.nn.utils.rnn.pack_sequence([torch.ones(3), torch.ones(2)]),
    ],
    ids=["tensor", "list", "nested", "object"],
)
def test_a_batch_arrives_as_it_was(line: Line, batch: Any) -> None:
    for _ in range(2 * SLOTS):
        parcel = line.send(batch)
        assert type(parcel) is Parcel
        received = parcel.unpack()
        assert type(received) is type(batch)
        assert repr(received) == repr(batch)
        if isinstance(batch, torch.Tensor):
            assert torch.equal(received, batch)
        # each tensor has memory of its own, as those of torch's loaders have
        for tensor in [received] if isinstance(received, torch.Tensor) else []:
            assert tensor.untyped_storage().nbytes() == batch.nbytes
        del received, parcel


def test_a_slot_is_taken_until_its_last_tensor_is_gone(line: Line) -> None:
    batch = [torch.arange(4), torch.arange(3)]
    held = [line.send(batch).unpack() for _ in range(SLOTS)]
    assert isinstance(line.send(batch), list), "no slot is free, so the batch is sent in torch's way"
    part = held[1][0][1:3]  # a view
    del held
    later = [line.send([*batch, torch.zeros(4)]).unpack()[2].fill_(7) for _ in range(SLOTS - 1)]
    assert isinstance(line.send(batch), list)
    assert part.tolist() == [1, 2]
    del part
    assert type(line.send(batch)) is Parcel
    del later


def test_a_parcel_that_nobody_opens_frees_its_slot(line: Line) -> None:
    for _ in range(3 * SLOTS):
        assert type(line.send(torch.ones(4))) is Parcel


@pytest.mark.parametrize(
    "batch",
    [
        torch.ones(1 << 16),
        torch.ones(4, 4).t(),
        torch.ones(2, requires_grad=True),
        torch.nn.Parameter(torch.ones(2)),
        torch.ones(3).to_sparse(),
        [torch.ones(2), torch.empty(0)],
        "no tensor",
    ],
    ids=["larger than a slot", "not contiguous", "gradient", "parameter", "sparse", "empty", "text"],
)
def test_what_does_not_fit_is_left_to_torch_and_takes_no_slot(line: Line, batch: Any) -> None:
    line.send([torch.ones(100)])
    for _ in range(SLOTS + 1):
        assert line.writer.pack(batch) is batch
    assert type(line.send(torch.ones(100))) is Parcel


def test_a_tensor_that_is_there_twice_is_sent_once(line: Line) -> None:
    tensor = torch.zeros(1000)
    one, other = line.send([tensor, tensor]).unpack()
    one[0] = 1
    assert other[0] == 1


def test_a_larger_batch_than_the_first_has_room_up_to_twice_its_size(line: Line) -> None:
    line.send(torch.ones(10_000))
    assert type(line.send(torch.ones(20_000))) is Parcel
    assert isinstance(line.send(torch.ones(30_000)), torch.Tensor)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc to count descriptors")
def test_nothing_stays_open() -> None:
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    line = Line()
    held = line.send(torch.arange(3)).unpack()
    del line
    gc.collect()
    assert held.tolist() == [0, 1, 2]
    del held
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == before
