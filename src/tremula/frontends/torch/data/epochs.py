"""Which event of a data set comes when, and in which process: order of an epoch, shares of ranks, going on midway.

The order of an epoch is one list for all ranks, drawn from the seed and the epoch. Rank r of R takes entries r, r+R,
r+2R ...: after k events each, exactly the first k*R of the list are done, so that a run can go on in the middle of an
epoch, also with another number of ranks, and N ranks with batch b see in each step what one with batch N*b sees.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch.utils.data
from numpy.typing import NDArray

#: keeps these draws apart from others that are made from the same seed
_ORDER = 0


class EpochSampler(torch.utils.data.Sampler[int]):
    """The positions that one rank reads, epoch by epoch, for torch's and PopTorch's loaders.

    Each pass over the sampler is the next epoch, in whatever process the loader runs. Every event comes once
    per epoch over all ranks. What cannot be shared evenly is left out ("drop"; with shuffling that is another
    part in each epoch) or made up by events from the beginning of the order ("repeat"; the indices that a data
    set returns tell which came twice). Worker processes do not change the order.

    Args:
        events: number of events of the data set.
        seed: which orders; the same on all ranks.
        rank: number of this process.
        ranks: number of processes.
        shuffle: draw an order for each epoch; else that of the data set.
        multiple: each rank gets a multiple of this many events: the combined batch size.
        remainder: "drop" or "repeat".
        epoch: the first epoch to give.
        done: events of that first epoch that all ranks together have had already.
    """

    def __init__(
        self,
        events: int,
        seed: int = 0,
        *,
        rank: int = 0,
        ranks: int = 1,
        shuffle: bool = True,
        multiple: int = 1,
        remainder: str = "drop",
        epoch: int = 0,
        done: int = 0,
    ) -> None:
        if events < 1 or multiple < 1 or seed < 0:
            raise ValueError("events and multiple must be 1 or more, the seed 0 or more.")
        if not 0 <= rank < ranks:
            raise ValueError(f"rank={rank} of ranks={ranks}: it must be 0 to ranks-1.")
        if remainder not in ("drop", "repeat"):
            raise ValueError(f"remainder={remainder!r} must be 'drop' or 'repeat'.")
        if epoch < 0 or not 0 <= done <= events:
            raise ValueError(
                f"epoch={epoch} must be 0 or more, done={done} from 0 to the number of events ({events})."
            )
        self.events, self.seed, self.rank, self.ranks = events, seed, rank, ranks
        self.shuffle, self.multiple, self.remainder = shuffle, multiple, remainder
        self._epoch, self._done = epoch, done

    @property
    def epoch(self) -> int:
        """The epoch that the next pass gives (in this process)."""
        return self._epoch

    def order(self, epoch: int) -> NDArray[np.int64]:
        """The order in which all ranks together go over the events in an epoch."""
        if not self.shuffle:
            return np.arange(self.events)
        return np.random.default_rng([_ORDER, self.seed, epoch]).permutation(self.events)

    def indices(self, epoch: int, done: int = 0) -> NDArray[np.int64]:
        """The positions of this rank in an epoch, of which `done` events are over."""
        order = self.order(epoch)[done:]
        each = self.ranks * self.multiple
        if self.remainder == "drop":
            order = order[: len(order) - len(order) % each]
        elif len(order):
            order = np.resize(order, -(-len(order) // each) * each)
        return order[self.rank :: self.ranks]

    def __iter__(self) -> Iterator[int]:
        # a generator: loaders ask for iterators that they then do not use, and those are not epochs
        epoch, done = self._epoch, self._done
        self._epoch, self._done = epoch + 1, 0
        yield from self.indices(epoch, done).tolist()

    def __len__(self) -> int:
        """Events of this rank in the next pass."""
        each = self.ranks * self.multiple
        left = self.events - self._done
        blocks = left // each if self.remainder == "drop" else -(-left // each)
        return blocks * self.multiple
