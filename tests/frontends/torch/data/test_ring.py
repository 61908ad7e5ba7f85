"""Slots hold what was written, and refuse what would be changed by copying."""

from __future__ import annotations

import pytest
import torch

from tremula.errors import Error
from tremula.frontends.torch.data.item_structure import TensorSpec
from tremula.frontends.torch.data.ring import SlotRing


@pytest.fixture
def ring() -> SlotRing:
    return SlotRing.allocate([TensorSpec((2, 3), torch.float32), TensorSpec((2,), torch.int64)], slots=3)


def test_memory_is_shared_and_slots_are_free_at_first(ring: SlotRing) -> None:
    assert ring.indices_mem.is_shared()
    assert all(buffer.is_shared() for buffer in ring.buffers)
    assert len(ring) == 3
    assert all(ring.is_free(slot) for slot in range(3))


def test_slots_are_independent(ring: SlotRing) -> None:
    for slot in range(3):
        ring.write(slot, [torch.full((2, 3), float(slot)), torch.tensor([slot, slot])])
        ring.mark_ready(slot)
    ring.mark_free(1)
    assert ring.indices_mem.tolist() == [True, False, True]
    for slot in range(3):
        values, labels = ring.view(slot)
        assert values.unique().tolist() == [float(slot)]
        assert labels.tolist() == [slot, slot]


def test_rows_are_written_and_read_in_part(ring: SlotRing) -> None:
    ring.write(0, [torch.ones(1, 3), torch.tensor([7])], at=1)
    assert ring.view(0)[1].tolist() == [0, 7]
    assert ring.view(0, rows=1)[0].shape == (1, 3)


def test_zero_sized_tensors_and_gradients_are_fine() -> None:
    ring = SlotRing.allocate([TensorSpec((0, 4), torch.float16), TensorSpec((), torch.float32)], slots=2)
    ring.write(1, [torch.empty(0, 4, dtype=torch.float16), torch.tensor(2.0, requires_grad=True)])
    assert ring.view(1)[1].item() == 2.0


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ([torch.ones(1, 3), torch.zeros(2, dtype=torch.int64)], r"Tensor 0 .* shape \(1, 3\)"),
        ([torch.ones(2, 3), torch.zeros(2)], r"Tensor 1 .* type torch.float32"),
    ],
    ids=["would be broadcast", "would be rounded"],
)
def test_what_a_copy_would_change_is_refused(
    ring: SlotRing, tensors: list[torch.Tensor], message: str
) -> None:
    with pytest.raises(Error, match=message):
        ring.write(0, tensors)


def test_rows_of_another_shape_are_refused(ring: SlotRing) -> None:
    with pytest.raises(Error, match=r"rows of shape \(1,\)"):
        ring.write(0, [torch.ones(2, 1), torch.zeros(2, dtype=torch.int64)], at=0)


def test_integers_may_become_floats() -> None:
    ring = SlotRing.allocate([TensorSpec((2,), torch.float32)], slots=1)
    ring.write(0, [torch.tensor([1, 2])])
    assert ring.view(0)[0].tolist() == [1.0, 2.0]


def test_a_place_is_memory_of_the_slot_and_exactly_what_was_asked_for() -> None:
    ring = SlotRing.allocate([TensorSpec((4, 2), torch.float32)], 2)
    whole = ring.place(1, 0, (4, 2), torch.float32)
    assert whole is not None
    whole.fill_(3)
    assert ring.view(1)[0].eq(3).all()
    assert ring.view(0)[0].eq(0).all()
    rows = ring.place(0, 0, (2, 2), torch.float32, at=1)
    assert rows is not None
    rows.fill_(5)
    assert ring.view(0)[0][:, 0].tolist() == [0, 5, 5, 0]
    assert ring.place(0, 0, (4, 2), torch.float32, at=0) is not None
    for position, shape, dtype, at in [
        (1, (4, 2), torch.float32, None),
        (0, (4, 3), torch.float32, None),
        (0, (3, 2), torch.float32, None),
        (0, (4, 2), torch.float64, None),
        (0, (4, 2), torch.float32, 1),
        (0, (2, 2), torch.float32, 3),
    ]:
        assert ring.place(0, position, shape, dtype, at) is None


def test_marks_say_what_a_slot_holds_and_which_epoch_is_over() -> None:
    ring = SlotRing.allocate([TensorSpec((4,), torch.int64)], 2)
    other = SlotRing(*ring.parts)  # as the other process has it
    assert other.ended_epoch == -1
    ring.mark_ready(1, epoch=7, rows=3)
    assert not other.is_free(1)
    assert other.epoch(1) == 7
    assert other.item(1)[0].shape == (3,)
    ring.mark_ready(0, epoch=8)
    assert other.item(0)[0].shape == (4,)
    ring.mark_ended(8)
    assert other.ended_epoch == 8
