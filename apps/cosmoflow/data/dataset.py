"""From samples to what a model is fed: order of an epoch, shares of ranks, symmetries of the cube, loaders.

The order of an epoch is one list for all ranks, drawn from the seed and the epoch. Rank r of R takes entries r, r+R,
r+2R ...: after k samples each, exactly the first k*R of the list are done, so that a run can go on in the middle of an
epoch, and N ranks with batch b see in each step what one rank with batch N*b sees.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from typing import Any, Protocol

import numpy as np
import poptorch
import torch
from numpy.typing import NDArray

from cosmoflow.data.layout import Parameters
from cosmoflow.data.reader import Sample
from cosmoflow.network import CHANNELS, TARGETS

#: what keeps draws of orders and of symmetries apart
_ORDER, _SYMMETRY = 0, 1
_AXES = tuple(permutations(range(3)))
#: rotations and reflections that map a cube to itself
SYMMETRIES = len(_AXES) * 8


class Source(Protocol):
    """Where samples come from."""

    size: int
    parameters: Parameters

    def __len__(self) -> int: ...

    def read(self, sample: int) -> Sample:
        """Counts [D, D, D, 4] and targets [4] of one sample."""

    @property
    def bytes_of_sample(self) -> int:
        """Bytes of one sample."""


class DummySamples:
    """One random sample, again and again: nothing to read and nothing to learn, for measuring the rest."""

    parameters = Parameters()

    def __init__(self, count: int, size: int, seed: int = 0) -> None:
        random = np.random.default_rng(seed)
        self.count, self.size = count, size
        self._sample = (
            random.integers(0, 64, (size, size, size, CHANNELS), np.int16),
            random.uniform(-1, 1, TARGETS).astype(np.float32),
        )

    def __len__(self) -> int:
        return self.count

    @property
    def bytes_of_sample(self) -> int:
        """Bytes of the counts and targets of one sample."""
        return self._sample[0].nbytes + self._sample[1].nbytes

    def read(self, sample: int) -> Sample:
        """The one sample."""
        return self._sample


def turned(counts: NDArray[np.int16], symmetry: int) -> NDArray[np.int16]:
    """A volume seen from another side; there are `SYMMETRIES`, and 0 leaves it as it is."""
    axes, mirrors = divmod(symmetry, 8)
    counts = counts.transpose(*_AXES[axes], 3)
    counts = counts[:: -1 if mirrors & 1 else 1, :: -1 if mirrors & 2 else 1, :: -1 if mirrors & 4 else 1]
    return np.ascontiguousarray(counts)


class VolumeDataset(torch.utils.data.Dataset[tuple[torch.Tensor, ...]]):
    """Samples as tensors: counts int16 [D, D, D, 4], targets float32 [4], number of the sample int32.

    An index may carry a symmetry: position + symmetry * number of samples, which is what `EpochSampler` gives.
    """

    def __init__(self, source: Source) -> None:
        self.source = source

    def __len__(self) -> int:
        return len(self.source)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, ...]:
        symmetry, position = divmod(index, len(self))
        counts, targets = self.source.read(position)
        if symmetry:
            counts = turned(counts, symmetry)
        return torch.from_numpy(counts), torch.from_numpy(targets), torch.tensor(position, dtype=torch.int32)


class EpochSampler(torch.utils.data.Sampler[int]):
    """The indices that one rank reads; each pass is the next epoch, in whatever process the loader runs.

    Every sample comes once per epoch over all ranks. What cannot be shared evenly is left out ("drop"; with shuffling
    that is another part in each epoch) or made up by samples from the beginning of the order ("repeat").

    Args:
        samples: number of samples of the data set.
        seed: which orders; the same on all ranks.
        rank: number of this process.
        ranks: number of processes.
        shuffle: draw an order for each epoch; else that of the data set.
        augment: turn and mirror each volume at random, anew in each epoch.
        multiple: each rank gets a multiple of this many samples: the combined batch size.
        remainder: "drop" or "repeat".
        epoch: the first epoch to give.
        done: samples of that first epoch that all ranks together have had already.
    """

    def __init__(
        self,
        samples: int,
        seed: int = 0,
        *,
        rank: int = 0,
        ranks: int = 1,
        shuffle: bool = True,
        augment: bool = False,
        multiple: int = 1,
        remainder: str = "drop",
        epoch: int = 0,
        done: int = 0,
    ) -> None:
        if samples < 1 or multiple < 1 or seed < 0 or epoch < 0 or not 0 <= done <= samples:
            raise ValueError(
                f"samples={samples} and multiple={multiple} must be 1 or more, seed={seed} and epoch={epoch} 0 or "
                f"more, done={done} from 0 to the number of samples."
            )
        if not 0 <= rank < ranks:
            raise ValueError(f"rank={rank} of ranks={ranks}: it must be 0 to ranks-1.")
        if remainder not in ("drop", "repeat"):
            raise ValueError(f"remainder={remainder!r} must be 'drop' or 'repeat'.")
        self.samples, self.seed, self.rank, self.ranks = samples, seed, rank, ranks
        self.shuffle, self.augment, self.multiple, self.remainder = shuffle, augment, multiple, remainder
        self._epoch, self._done = epoch, done

    def indices(self, epoch: int, done: int = 0) -> NDArray[np.int64]:
        """The indices of this rank in an epoch, of which `done` samples are over."""
        order = np.arange(self.samples)
        if self.shuffle:
            order = np.random.default_rng([_ORDER, self.seed, epoch]).permutation(order)
        if self.augment:
            drawn = np.random.default_rng([_SYMMETRY, self.seed, epoch]).integers(
                SYMMETRIES, size=self.samples
            )
            order = order + drawn * self.samples
        order = order[done:]
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
        """Samples of this rank in the next pass."""
        each = self.ranks * self.multiple
        left = self.samples - self._done
        return (left // each if self.remainder == "drop" else -(-left // each)) * self.multiple


def sample_loader(
    source: Source,
    options: poptorch.Options,
    batch_size: int,
    *,
    workers: int = 0,
    ahead: bool = False,
    **order: Any,
) -> poptorch.DataLoader:
    """A loader of combined batches, whose every pass is the next epoch.

    Args:
        source: where samples come from.
        options: those of the model.
        batch_size: micro-batch size.
        workers: processes that read.
        ahead: read in another process while the model computes.
        order: further arguments of `EpochSampler`.
    """
    dataset = VolumeDataset(source)
    sampler = EpochSampler(len(source), multiple=combined_batch(options, batch_size), **order)
    return poptorch.DataLoader(
        options,
        dataset,
        batch_size=batch_size,
        sampler=sampler,
        num_workers=workers,
        drop_last=True,
        auto_distributed_partitioning=False,
        mode=poptorch.DataLoaderMode.Async if ahead else poptorch.DataLoaderMode.Sync,
    )


def combined_batch(options: poptorch.Options, batch_size: int) -> int:
    """Samples that one call of a model with these options takes in one process."""
    nothing = torch.utils.data.TensorDataset(torch.zeros(1, 1))
    found = poptorch.DataLoader(options, nothing, batch_size=batch_size, auto_distributed_partitioning=False)
    return int(found.combinedBatchSize or batch_size)
