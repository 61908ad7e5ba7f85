"""From samples to what a model is fed: symmetries of the cube, the order of an epoch, loaders."""

from __future__ import annotations

from itertools import permutations
from typing import Any, Protocol

import numpy as np
import poptorch
import torch
from numpy.typing import NDArray

from tremula.frontends.torch.data.epochs import EpochSampler

from cosmoflow.data.layout import Parameters
from cosmoflow.data.reader import Sample
from cosmoflow.network import CHANNELS, TARGETS

#: keeps draws of symmetries apart from those of orders, which are made from the same seed
_SYMMETRY = 1
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

    An index may carry a symmetry: position + symmetry * number of samples, which is what `VolumeSampler` gives.
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


class VolumeSampler(EpochSampler):
    """The indices that one rank reads, which may carry a symmetry; the rest is as `EpochSampler` says.

    Args:
        samples: number of samples of the data set.
        seed: which orders and symmetries; the same on all ranks.
        augment: turn and mirror each volume at random, anew in each epoch.
        arguments: those of `EpochSampler`.
    """

    def __init__(self, samples: int, seed: int = 0, *, augment: bool = False, **arguments: Any) -> None:
        super().__init__(samples, seed, **arguments)
        self.augment = augment

    def order(self, epoch: int) -> NDArray[np.int64]:
        """The order in which all ranks together go over the samples in an epoch."""
        order = super().order(epoch)
        if not self.augment:
            return order
        drawn = np.random.default_rng([_SYMMETRY, self.seed, epoch]).integers(SYMMETRIES, size=self.events)
        return order + drawn * self.events


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
    sampler = VolumeSampler(len(source), multiple=combined_batch(options, batch_size), **order)
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
