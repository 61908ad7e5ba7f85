"""The ring of slots in shared memory that a worker process fills and the consumer empties.

Each slot holds the tensors of one item. A flag per slot, in shared memory too, says whether it holds data
that was not given back yet. The worker writes the slots in order and only where the flag is down; the
consumer lowers the flag when the user is done with the item. The memory has no name in the file system
(torch passes descriptors), so that nothing is left behind whoever dies first.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from tremula.data.layout import TensorSpec
from tremula.errors import Error


class SlotRing:
    """`slots` places for an item, in memory that two processes see."""

    def __init__(self, buffers: Sequence[torch.Tensor], indices_mem: torch.Tensor) -> None:
        #: one tensor per element of an item, the first dimension is the slot
        self.buffers = list(buffers)
        #: one flag per slot: True while it holds data that is not given back
        self.indices_mem = indices_mem
        # Views are made once: this is on the path of every item.
        self._views = [[buffer[slot] for buffer in self.buffers] for slot in range(len(indices_mem))]

    @classmethod
    def allocate(cls, specs: Sequence[TensorSpec], slots: int) -> SlotRing:
        """A new, empty ring in shared memory."""
        buffers = [shared_zeros((slots, *spec.shape), spec.dtype) for spec in specs]
        return cls(buffers, shared_zeros((slots,), torch.bool))

    def __len__(self) -> int:
        return len(self._views)

    def is_free(self, slot: int) -> bool:
        """Whether the worker may write the slot."""
        return not bool(self.indices_mem[slot])

    def mark_ready(self, slot: int) -> None:
        self.indices_mem[slot] = True

    def mark_free(self, slot: int) -> None:
        self.indices_mem[slot] = False

    def view(self, slot: int, rows: int | None = None) -> list[torch.Tensor]:
        """The tensors of a slot, or their first `rows` rows; they share the memory of the slot."""
        tensors = self._views[slot]
        if rows is None:
            return list(tensors)
        return [tensor.narrow(0, 0, rows) for tensor in tensors]

    def write(self, slot: int, tensors: Sequence[torch.Tensor], at: int | None = None) -> None:
        """Copy an item into a slot: the whole of it, or rows of it from row `at` on.

        Raises:
            Error: a tensor does not have the shape or the type of the slot. (A plain copy would broadcast
                or round, and hand out numbers that are not in the data set.)
        """
        for index, (target, source) in enumerate(zip(self._views[slot], tensors, strict=True)):
            source = source.detach()
            if at is not None:
                if source.shape[1:] != target.shape[1:]:
                    raise _mismatch(index, "rows of shape", tuple(source.shape[1:]), tuple(target.shape[1:]))
                target = target.narrow(0, at, len(source))
            elif source.shape != target.shape:
                raise _mismatch(index, "shape", tuple(source.shape), tuple(target.shape))
            if source.dtype != target.dtype and not torch.can_cast(source.dtype, target.dtype):
                raise _mismatch(index, "type", source.dtype, target.dtype)
            target.copy_(source)


def _mismatch(index: int, what: str, found: object, expected: object) -> Error:
    return Error(
        f"Tensor {index} of an item has {what} {found}, but in the first item it was {expected}. All items "
        "of an asynchronous loader must be alike: pad them in the collate function; for an incomplete last "
        "batch use drop_last=True or rebatched_size."
    )


def shared_zeros(shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    """Zeros in memory that processes share."""
    tensor = torch.zeros(tuple(shape), dtype=dtype)
    tensor.share_memory_()  # type: ignore[no-untyped-call]
    return tensor
