"""Generates universes that a network can learn from: log-normal fields whose spectrum depends on four parameters.

One Gaussian field is drawn in Fourier space. Its power rises with the wave number up to a turnover and falls behind
it with a tilt; its variance is the amplitude. It is the logarithm of the density. The four channels are that same
universe at four redshifts: fluctuations grow from the first to the last. Particles are counted: a Poisson number in
each voxel. This is not an N-body simulation; it has its size, its type, its skewness and its symmetry.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from cosmoflow.data.layout import Parameters
from cosmoflow.data.reader import Sample
from cosmoflow.network import CHANNELS, TARGETS

#: What -1 and 1 stand for: turnover as a share of the Nyquist wave number, standard deviation of the logarithm of the
#: density today, slope of the power behind the turnover, growth from the first redshift to today.
PARAMETERS = Parameters(
    names=("turnover", "amplitude", "tilt", "growth"),
    low=(0.08, 0.6, -4.0, 0.30),
    high=(0.50, 1.5, -1.5, 0.90),
)


class GeneratedSamples:
    """Samples that are made when they are read: number i of a seed is always the same one.

    Args:
        count: how many there are.
        size: side in voxels.
        seed: which universes.
        density: mean count of a voxel; the more, the less noise of counting.
        first: number of the first one, for parts that do not overlap.
    """

    parameters = PARAMETERS

    def __init__(self, count: int, size: int, seed: int = 0, *, density: float = 4.0, first: int = 0) -> None:
        if count < 1 or size < 2 or seed < 0 or first < 0 or not 0 < density <= 1000:
            raise ValueError(
                f"count={count} must be 1 or more, size={size} 2 or more, seed={seed} and first={first} 0 or more, "
                f"density={density} above 0 and at most 1000."
            )
        self.count, self.size, self.seed, self.density, self.first = count, size, seed, density, first

    def __len__(self) -> int:
        return self.count

    @property
    def bytes_of_sample(self) -> int:
        """Bytes of the counts and targets of one sample."""
        return self.size**3 * CHANNELS * 2 + 16

    def read(self, sample: int) -> Sample:
        """Counts [D, D, D, 4] and targets [4] of one sample."""
        if not 0 <= sample < self.count:
            raise IndexError(f"There is no sample {sample}; the file has {self.count}.")
        random = np.random.default_rng([self.seed, self.first + sample])
        targets = random.uniform(-1, 1, TARGETS).astype(np.float32)
        return counts_of(targets, self.size, random, self.density), targets

    def __iter__(self) -> Iterator[Sample]:
        return (self.read(sample) for sample in range(self.count))


def physical(targets: NDArray[np.floating], parameters: Parameters = PARAMETERS) -> NDArray[np.float64]:
    """Targets in their units."""
    low, high = np.array(parameters.low), np.array(parameters.high)
    return low + (high - low) * (np.asarray(targets, np.float64) + 1) / 2


def counts_of(
    targets: NDArray[np.floating], size: int, random: np.random.Generator, density: float = 4.0
) -> NDArray[np.int16]:
    """Draw a universe with these parameters: counts [D, D, D, 4]."""
    turnover, amplitude, tilt, growth = physical(targets)
    field = _gaussian_field(size, turnover, tilt, random)
    # the same fluctuations, smaller the earlier; a log-normal density of mean 1 at any time
    sigmas = (amplitude * np.linspace(growth, 1, CHANNELS)).astype(np.float32)
    mean = np.exp(field[..., None] * sigmas - sigmas**2 / 2)
    mean *= np.float32(density)
    return _poisson(mean, random)


def _gaussian_field(
    size: int, turnover: float, tilt: float, random: np.random.Generator
) -> NDArray[np.float32]:
    share = _wave_numbers(size) / np.float32(turnover)
    # power: proportional to k below the turnover, to k^tilt above it
    power = share / np.sqrt(1 + share ** np.float32(2 * (1 - tilt)))
    white = np.fft.rfftn(random.standard_normal((size,) * 3, np.float32))
    white *= np.sqrt(power)
    white[0, 0, 0] = 0
    field = np.fft.irfftn(white, (size,) * 3, (0, 1, 2)).astype(np.float32)
    # the variance that is expected, not the one of this draw: a small universe may be an unusual one
    expected = (power * _weights(size)).sum() / size**3
    return field / np.float32(np.sqrt(expected))


@functools.lru_cache(4)
def _wave_numbers(size: int) -> NDArray[np.float32]:
    """Wave numbers of a real transform as shares of the Nyquist number; that of the mean is 1 to be divisible."""
    axis, last = np.fft.fftfreq(size) * 2, np.fft.rfftfreq(size) * 2
    found = np.sqrt(axis[:, None, None] ** 2 + axis[:, None] ** 2 + last**2).astype(np.float32)
    found[0, 0, 0] = 1
    return found


@functools.lru_cache(4)
def _weights(size: int) -> NDArray[np.float32]:
    """How often each mode of a real transform counts in the full one."""
    found = np.full((size, size, size // 2 + 1), 2, np.float32)
    found[..., 0] = 1
    if size % 2 == 0:
        found[..., -1] = 1
    found[0, 0, 0] = 0
    return found


def _poisson(mean: NDArray[np.float32], random: np.random.Generator) -> NDArray[np.int16]:
    return np.minimum(random.poisson(mean), np.iinfo(np.int16).max).astype(np.int16)
