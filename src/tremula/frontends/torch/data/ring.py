"""The ring of slots in shared memory that a worker process fills and the consumer empties.

Each slot holds the tensors of one item. A flag per slot, in shared memory too, says whether it holds data
that was not given back yet; beside it stand the epoch of the item and how many of its rows count. Both sides
go round in order: the worker writes a slot when its flag is down, the consumer reads it when the flag is up
and lowers it when the user is done. No message is needed for that: to wake a process takes longer than to load
a small batch. The memory has no name in the file system (torch passes descriptors), so that nothing is left
behind whoever dies first.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

import torch

from tremula.errors import Error
from tremula.frontends.torch.data.item_structure import TensorSpec

_ALL_ROWS = -1
_NO_EPOCH = -1


class SlotRing:
    """`slots` places for an item, in memory that two processes see.

    Args:
        buffers: one tensor per element of an item; the first dimension is the slot.
        indices_mem: one flag per slot: True while it holds data that is not given back.
        marks: for each slot the epoch and the rows of its item, then the last epoch that was loaded to its end.
    """

    def __init__(
        self, buffers: Sequence[torch.Tensor], indices_mem: torch.Tensor, marks: torch.Tensor
    ) -> None:
        self.buffers = list(buffers)
        self.indices_mem = indices_mem
        self._marks_mem = marks
        # The same memory, but a plain number takes a tenth of the time that an element of a tensor takes.
        self._flags = memoryview(indices_mem.view(torch.uint8).numpy().data)
        self._marks = memoryview(marks.numpy().data)
        # Views are made once: this is on the path of every item.
        self._views = [[buffer[slot] for buffer in self.buffers] for slot in range(len(indices_mem))]

    @classmethod
    def allocate(cls, specs: Sequence[TensorSpec], slots: int) -> SlotRing:
        """A new, empty ring in shared memory."""
        buffers = [shared_zeros((slots, *spec.shape), spec.dtype) for spec in specs]
        marks = shared_zeros((2 * slots + 1,), torch.int64).fill_(_NO_EPOCH)
        return cls(buffers, shared_zeros((slots,), torch.bool), marks)

    @property
    def parts(self) -> tuple[list[torch.Tensor], torch.Tensor, torch.Tensor]:
        """What to make the same ring of in another process."""
        return self.buffers, self.indices_mem, self._marks_mem

    def __len__(self) -> int:
        return len(self._views)

    def is_free(self, slot: int) -> bool:
        """Whether the worker may write the slot."""
        return not self._flags[slot]

    def mark_ready(self, slot: int, epoch: int = 0, rows: int | None = None) -> None:
        """Give the slot to the consumer: it holds an item of an epoch (only its first `rows` rows, if given)."""
        self._marks[2 * slot] = epoch
        self._marks[2 * slot + 1] = _ALL_ROWS if rows is None else rows
        _fence()  # the data is there before it is announced
        self._flags[slot] = 1

    def mark_free(self, slot: int) -> None:
        """Give the slot to the worker."""
        _fence()
        self._flags[slot] = 0

    def mark_ended(self, epoch: int) -> None:
        """Say that all items of the epoch were announced."""
        _fence()
        self._marks[-1] = epoch

    @property
    def ended_epoch(self) -> int:
        """The last epoch that was loaded to its end; -1 if none was."""
        return int(self._marks[-1])

    def epoch(self, slot: int) -> int:
        """The epoch of the item in a slot that is ready."""
        return int(self._marks[2 * slot])

    def item(self, slot: int) -> list[torch.Tensor]:
        """The tensors of the item in a slot that is ready; they share its memory."""
        rows = self._marks[2 * slot + 1]
        return self.view(slot, None if rows == _ALL_ROWS else int(rows))

    def view(self, slot: int, rows: int | None = None) -> list[torch.Tensor]:
        """The tensors of a slot, or their first `rows` rows; they share the memory of the slot."""
        tensors = self._views[slot]
        if rows is None:
            return list(tensors)
        return [tensor.narrow(0, 0, rows) for tensor in tensors]

    def place(
        self, slot: int, position: int, shape: tuple[int, ...], dtype: torch.dtype, at: int | None = None
    ) -> torch.Tensor | None:
        """The memory for one tensor of an item, or for rows of it from row `at` on; None if it does not fit."""
        if position >= len(self.buffers):
            return None
        target = self._views[slot][position]
        if at is not None and (at or shape != target.shape):
            if at + shape[0] > len(target):
                return None
            target = target.narrow(0, at, shape[0])
        return target if target.dtype == dtype and target.shape == shape else None

    def write(self, slot: int, tensors: Sequence[torch.Tensor], at: int | None = None) -> None:
        """Copy an item into a slot: the whole of it, or rows of it from row `at` on.

        Raises Error if a tensor does not have the shape and type of the slot. (A plain copy would broadcast or round.)
        """
        for index, (target, source) in enumerate(zip(self._views[slot], tensors, strict=True)):
            if at is not None:
                if source.shape[1:] != target.shape[1:]:
                    raise _mismatch(index, "rows of shape", tuple(source.shape[1:]), tuple(target.shape[1:]))
                target = target.narrow(0, at, len(source))
            elif source.shape != target.shape:
                raise _mismatch(index, "shape", tuple(source.shape), tuple(target.shape))
            if source.dtype != target.dtype and not torch.can_cast(source.dtype, target.dtype):
                raise _mismatch(index, "type", source.dtype, target.dtype)
            # A batch may have been made in its slot.
            if source.data_ptr() != target.data_ptr():
                target.copy_(source.detach())


def _mismatch(index: int, what: str, found: object, expected: object) -> Error:
    return Error(
        f"Tensor {index} of an item has {what} {found}, but in the first item it was {expected}. All items "
        "of an asynchronous loader must be alike: pad them in the collate function; for an incomplete last "
        "batch use drop_last=True or rebatched_size."
    )


_lock = threading.Lock()


def _fence() -> None:
    """Let no write to memory move across, on processors that reorder them: a lock given up, a lock taken."""
    with _lock:
        pass
    with _lock:
        pass


def shared_zeros(shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    """Zeros in memory that processes share."""
    tensor = torch.zeros(tuple(shape), dtype=dtype)
    tensor.share_memory_()  # type: ignore[no-untyped-call]
    return tensor
