"""Which event comes when, and where: order of an epoch, shares of ranks, and the split of a data set.

The order of an epoch is one list for all ranks, drawn from the seed and the epoch. Rank r of R takes entries
r, r+R, r+2R ...: after k events each, exactly the first k*R of the list are done, so a run can be continued
in the middle of an epoch, also with another number of ranks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch.utils.data
from numpy.typing import NDArray

# what keeps the orders of epochs and the split apart, should their seeds be the same
_ORDER, _SPLIT = 0, 1


def epoch_order(events: int, seed: int, epoch: int, shuffle: bool = True) -> NDArray[np.int64]:
    """The order in which all ranks together go over the events in an epoch."""
    if not shuffle:
        return np.arange(events)
    return np.random.default_rng([_ORDER, seed, epoch]).permutation(events)


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

    def set_epoch(self, epoch: int, done: int = 0) -> None:
        """Go on with another epoch. A loader that runs in another process does not see this: make it anew."""
        if epoch < 0 or not 0 <= done <= self.events:
            raise ValueError(f"epoch={epoch} must be 0 or more, done={done} from 0 to {self.events}.")
        self._epoch, self._done = epoch, done

    def indices(self, epoch: int, done: int = 0) -> NDArray[np.int64]:
        """The positions of this rank in an epoch, of which `done` events are over."""
        order = epoch_order(self.events, self.seed, epoch, self.shuffle)[done:]
        each = self.ranks * self.multiple
        if self.remainder == "drop":
            order = order[: len(order) - len(order) % each]
        elif len(order):
            order = np.resize(order, -(-len(order) // each) * each)
        return order[self.rank :: self.ranks]

    def __iter__(self) -> Iterator[int]:
        # a generator: loaders ask for iterators that they then do not use, and those are no epochs
        epoch, done = self._epoch, self._done
        self._epoch, self._done = epoch + 1, 0
        yield from self.indices(epoch, done).tolist()

    def __len__(self) -> int:
        """Events of this rank in the next pass."""
        each = self.ranks * self.multiple
        left = self.events - self._done
        blocks = left // each if self.remainder == "drop" else -(-left // each)
        return blocks * self.multiple


def split(events: int, fractions: Sequence[float], seed: int = 0) -> tuple[NDArray[np.int64], ...]:
    """Share out events at random, for training, validation and test.

    Args:
        events: how many there are.
        fractions: the share of each part. If they make 1, every event is in one part.
        seed: which split; the same seed gives the same parts.

    Returns:
        The positions of each part, in ascending order. No event is in two parts.

    Raises:
        ValueError: the fractions are not possible, or a part would be empty.
    """
    total = sum(fractions)
    if not fractions or any(part <= 0 for part in fractions) or total > 1 + 1e-9:
        raise ValueError(f"Fractions {tuple(fractions)} must be greater than 0 and make 1 at most.")
    ends = np.rint(np.cumsum(fractions) * events).astype(np.int64)
    sizes = np.diff(np.r_[0, ends])
    if (sizes < 1).any():
        raise ValueError(
            f"Fractions {tuple(fractions)} of {events} events leave a part empty: {sizes.tolist()}."
        )
    order = np.random.default_rng([_SPLIT, seed]).permutation(events)
    return tuple(np.sort(part) for part in np.split(order[: ends[-1]], ends[:-1]))
