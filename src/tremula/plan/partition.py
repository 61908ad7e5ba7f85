"""Cutting extents into parts: the splits that are worth trying, and their products over all axes.

A split is worth trying if no smaller number of parts gives parts of the same size, which leaves about twice the
square root of the extent. Parts cover an extent exactly: parts x size >= extent > (parts - 1) x size.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tremula.plan.reduce_stages import stage_table
from tremula.plan.vertices.arrays import Array

Integers = NDArray[np.int64]


@functools.lru_cache(maxsize=4096)
def splits(extent: int, limit: int) -> Integers:
    """Numbers of parts worth trying, at most `limit`, in growing order."""
    parts = np.arange(1, min(extent, limit) + 1, dtype=np.int64)
    size = -(-extent // parts)
    chosen: Integers = parts[-(-extent // size) == parts]
    chosen.flags.writeable = False
    return chosen


def part_size(extent: int, parts: Integers) -> Integers:
    """Size of the largest part."""
    return -(-extent // parts)


def product(axes: Sequence[Integers], limit: int) -> list[Integers]:
    """All combinations of splits, one per axis, whose product is at most `limit`; one array per axis."""
    combined: list[Integers] = []
    total = np.ones(1, dtype=np.int64)
    for axis in axes:
        keep_old, keep_new = np.nonzero(total[:, None] * axis[None, :] <= limit)
        combined = [earlier[keep_old] for earlier in combined]
        combined.append(axis[keep_new])
        total = total[keep_old] * axis[keep_new]
    return combined


def parallel_and_serial(extent: int, limit: int, most_times: int) -> tuple[Integers, Integers]:
    """Splits over tiles and over time (at most `most_times`) whose product is worth trying as a split."""
    if most_times <= 1:
        parts = splits(extent, limit)
        return parts, np.ones_like(parts)
    pairs = [
        (total // times, times)
        for total in splits(extent, extent).tolist()
        for times in _divisors(total)
        if total // times <= limit and times <= most_times
    ]
    together = np.array(pairs, dtype=np.int64)
    return together[:, 0], together[:, 1]


@functools.lru_cache(maxsize=4096)
def _divisors(number: int) -> tuple[int, ...]:
    small = [d for d in range(1, int(number**0.5) + 1) if number % d == 0]
    return tuple(sorted({*small, *(number // d for d in small)}))


@dataclass(frozen=True)
class FieldSplits:
    """Splits of batch and field: one row per combination, in the order of the tiles that they use."""

    batch: Integers
    #: parts of each dimension
    field: tuple[Integers, ...]
    tiles: Integers

    @staticmethod
    def of(batch: int, extents: Sequence[int], limit: int) -> FieldSplits:
        """All that use at most `limit` tiles."""
        axes = product([splits(batch, limit), *(splits(e, limit) for e in extents)], limit)
        tiles = np.prod(axes, axis=0)
        order = np.argsort(tiles, kind="stable")
        return FieldSplits(axes[0][order], tuple(axis[order] for axis in axes[1:]), tiles[order])


@dataclass(frozen=True)
class ChannelSplits:
    """Splits of groups, kernel and channels: one row per combination."""

    groups: Integers
    #: parts of each kernel dimension; the innermost is never cut
    kernel: tuple[Integers, ...]
    ins: Integers
    ins_serial: Integers
    outs: Integers
    outs_serial: Integers
    tiles: Integers

    @functools.cached_property
    def depth(self) -> Integers:
        """Tiles that compute parts of the same outputs."""
        result: Integers = self.ins * np.prod(self.kernel, axis=0)
        return result

    @functools.cached_property
    def stages(self) -> Array:
        """How many of them each stage of a reduction adds up: three rows, 1 where there is no stage."""
        return stage_table(self.depth)

    @staticmethod
    def of(
        groups: int, kernel: Sequence[int], ins: int, outs: int, limit: int, times: tuple[int, int] = (1, 1)
    ) -> ChannelSplits:
        """All that use at most `limit` tiles.

        With `times`, the most parts of inputs and of outputs over time, only those that have any.
        """
        in_parts, in_times = parallel_and_serial(ins, limit, times[0])
        out_parts, out_times = parallel_and_serial(outs, limit, times[1])
        cut = [splits(extent, limit) for extent in kernel[:-1]]
        others = product([splits(groups, limit), *cut], limit)
        tiles = np.prod(others, axis=0)
        # one kind of serial split at a time
        i, o = np.nonzero((in_times[:, None] == 1) | (out_times[None, :] == 1))
        if max(times) > 1:
            taken = (in_times[i] > 1) | (out_times[o] > 1)
            i, o = i[taken], o[taken]
        a, b = np.nonzero(tiles[:, None] * (in_parts[i] * out_parts[o])[None, :] <= limit)
        i, o = i[b], o[b]
        chosen = [axis[a] for axis in others]
        one = np.ones(len(a), dtype=np.int64)
        return ChannelSplits(
            chosen[0], (*chosen[1:], one), in_parts[i], in_times[i], out_parts[o], out_times[o],
            tiles[a] * in_parts[i] * out_parts[o],
        )  # fmt: skip


def pairs(tiles: Integers, least: Array, most: Integers) -> tuple[Integers, Integers]:
    """Indices of pairs: of `tiles`, which grow, those between `least` and `most`, for each of these.

    Returns the indices into `tiles` and those into `least`.
    """
    begin = np.searchsorted(tiles, least, side="left")
    count = np.maximum(np.searchsorted(tiles, most, side="right") - begin, 0)
    second = np.repeat(np.arange(len(count)), count)
    start = np.cumsum(count) - count
    first = np.arange(len(second)) - np.repeat(start - begin, count)
    return first, second
