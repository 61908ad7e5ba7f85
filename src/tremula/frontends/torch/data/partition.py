"""Which elements of a data set each process of a distributed run uses.

Every process gets one contiguous block of the (possibly shuffled) global order, process 0 first. All
processes shuffle with the same seed, so that no communication is needed for the blocks to be disjoint.
"""

from __future__ import annotations

from collections.abc import Sequence, Sized
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from tremula.errors import Error
from tremula.frontends.torch.data.ring import shared_zeros


class MapDataset(Sized, Protocol):
    """A data set with a length and access by index."""

    def __getitem__(self, index: int, /) -> Any: ...


@dataclass(frozen=True)
class Block:
    """The part of the global order that one process uses.

    Attributes:
        leftover: by how much the block moves on every other shuffled epoch, so that the elements at the end of the
            order, which fill no batch, are drawn from too
    """

    offset: int  #: first position
    length: int  #: number of elements
    leftover: int = 0


def block_of(process: int, processes: int, elements: int, step: int, drop_last: bool) -> Block:
    """The block of one of `processes`, which uses `step` elements per step (its combined batch size).

    With `drop_last` all get the same whole number of steps, which they must, as they wait for each other. Without it
    the elements are dealt out as evenly as possible.
    """
    if not 0 <= process < processes:
        raise Error(f"There is no process {process}: the {processes} processes are numbered from 0.")
    if drop_last:
        length = elements // (step * processes) * step
        if length == 0:
            raise Error(
                f"The data set has {elements} elements, but one step of all {processes} processes takes "
                f"{step * processes} ({step} each), so no process would have a batch. "
                "Use a smaller batch size, fewer processes or drop_last=False."
            )
        return Block(process * length, length, elements % length)
    share, extra = divmod(elements, processes)
    return Block(process * share + min(process, extra), share + (process < extra))


class PartitionedDataset(torch.utils.data.Dataset[Any]):
    """One process's block of a data set; a `seed`, the same in all processes, shuffles it."""

    def __init__(self, dataset: MapDataset, block: Block, seed: int | None = None) -> None:
        self.dataset = dataset
        self._block = block
        self._order: torch.Tensor | None = None
        self._generator_state: torch.Tensor | None = None
        self._moved = False
        if seed is not None:
            self._generator_state = torch.Generator().manual_seed(seed).get_state()

    def begin_epoch(self) -> None:
        """Draw the order of the next epoch. No effect on a partition that is not shuffled."""
        if self._generator_state is None:
            return
        generator = torch.Generator()
        generator.set_state(self._generator_state)
        order = torch.randperm(len(self.dataset), generator=generator)
        self._generator_state = generator.get_state()
        self._moved = not self._moved
        start = self._block.offset + (self._block.leftover if self._moved else 0)
        order = order[start : start + self._block.length]
        # Loader processes that live on from epoch to epoch hold a copy of this object: they see the new
        # order because it is written into the same shared memory.
        if self._order is None:
            self._order = shared_zeros(order.shape, order.dtype)
        self._order.copy_(order)

    def __len__(self) -> int:
        return self._block.length

    def __getitem__(self, index: int) -> Any:
        return self.dataset[self._position(index)]

    def __getitems__(self, indices: Sequence[int]) -> Any:
        """A batch of elements, at once if the data set can do that."""
        positions = self.positions(indices)
        together = getattr(self.dataset, "__getitems__", None)
        return together(positions) if together else [self.dataset[position] for position in positions]

    def positions(self, indices: Sequence[int]) -> list[int]:
        """Where in the whole data set these elements of the block are, in this epoch."""
        return [self._position(index) for index in indices]

    def _position(self, index: int) -> int:
        if not 0 <= index < self._block.length:
            raise IndexError(f"index {index} is outside of the {self._block.length} elements of this process")
        return self._block.offset + index if self._order is None else int(self._order[index])
