"""The sliding-window vertex (SLIC): one row of four kernel positions over four channels in the matrix engine.

Half precision (or fp8 with eight channels) only. Convolutions with few channels per group and small kernels use
it. Formulas: PopLibs PerformanceEstimation.hpp; groupings: ConvVertexType.cpp.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tremula.hardware.chip import Chip
from tremula.plan.vertices.arrays import Array, Numbers, array, ceil_div, scalar_or_array, slowest_worker
from tremula.plan.vertices.kind import Loops, Points, VertexKind

#: kernel positions that the window holds
WINDOW = 4


def _loop_branches(times: Array) -> Array:
    """A supervisor's loop branch stalls for six cycles on all iterations but the last."""
    return 6 * (times - 1) + 1


@dataclass(frozen=True)
class Slic(VertexKind):
    """The window with `chains` chains of units: four take a point in one pass, two need two."""

    chains: int = 2

    name = "SLIC"
    code_bytes = 1800

    @property
    def macs_per_cycle(self) -> float:
        passes = 1 if self.chains == 4 and self.dtype != "fp8" else 2
        return min(self.conv_groups, 4) * self.in_channels * self.out_channels * WINDOW / passes

    @property
    def _merging(self) -> bool:
        """Half partials on two chains leave two outputs that must be merged."""
        return self.chains == 2 and self.partials == "fp16" and self.dtype != "fp8"

    def _row(self, points: Array, zeroing: bool, stride: int) -> Array:
        """Cycles of one pass over a piece of a row."""
        if self.dtype == "fp8":
            return self._row_fp8(points, zeroing, stride)
        if stride == 1:
            if zeroing:
                short = 13 + np.where(points > 1, points, 0.0)
                long = 15 + (points - 5)
            else:
                # a few points: the window is filled and drained by hand, which takes the same for 2 to 4
                short = np.where(
                    points == 1, 13.0, 7 + 1 + (points - 1) + 2 + (4 - points) + 2 + (points - 1) + 3
                )
                long = 15 + (points - 5) + (3 if self._merging else 0)
            cycles = np.where(points < (6 if self._merging else 5), short, long)
        else:
            short = 10 + np.where(points == 1, 3.0, 5.0)
            cycles = np.where(points < 3, short, 15 + 2 * (points - 3))
        return cycles - (1 if self.partials == "fp32" else 0)

    @staticmethod
    def _row_fp8(points: Array, zeroing: bool, stride: int) -> Array:
        if stride == 2:
            return np.where(points < 3, 6 + np.where(points == 1, 3.0, 6.0), 13 + 2 * (points - 3))
        few = np.clip(points, 0, 4).astype(int)
        if zeroing:
            return np.where(points < 5, 8 + np.array([0, 3, 5, 9, 10.0])[few], 14 + (points - 5))
        return 18 + np.where(points < 5, 2 + np.array([0, 8, 10, 13, 13.0])[few], 12 + (points - 5))

    def field(self, points: Points) -> tuple[Array, ...]:
        workers = self.chip.worker_contexts
        result = []
        for zeroing in (True, False):
            if self.dtype == "fp8":
                start, per_row, passes = 20.0, 24.0, 2
            else:
                start = 17.0 + (4 if self.conv_groups > 4 else 0) + (2 if self._merging else 0)
                per_row = (9.0 if self._merging else 10.0) + zeroing + (3 if self.partials == "fp32" else 0)
                passes = 1 if self.chains == 4 else 2

            def piece(
                length: Array, zeroing: bool = zeroing, per_row: float = per_row, passes: int = passes
            ) -> Array:
                return per_row + passes * self._row(length, zeroing, points.stride)

            most, _ = slowest_worker(points.rows, points.width, workers, piece, start)
            merge = 2 + 2 * points.rows * points.width if self._merging and zeroing else 0.0
            result.append(workers * most + merge)
        return tuple(result)

    def _weight_load(self) -> float:
        """Loading the window; with one or two channels per group workers first spread the weights."""
        if self.dtype == "fp8":
            return 38.0
        if self.in_channels == 4:
            return 34.0
        spreading = (12 if self.conv_groups == 2 else 10) + (self.conv_groups > 4)
        return 37.0 + spreading * self.chip.worker_contexts

    def cycles(self, field: tuple[Array, ...], loops: Loops) -> Array:
        first, later = field
        groups = array(loops.conv_groups)
        windows = loops.kernel_outer * ceil_div(loops.kernel_inner, WINDOW)
        load = self._weight_load()
        workers = self.chip.worker_contexts
        if self.dtype == "fp8":
            opening = 6 * workers + load + 6 * workers + 12 + first
            following = 6 * workers + load + 5 * workers + 8 + later
            return 43 + groups * (13 * workers + 15 + opening + (windows - 1) * following)
        start = 25 if self._merging else 28
        group_body = 12 if self._merging else 15
        if self.conv_groups <= 4:
            window_body = load + (16 if self._merging else 20)
        else:
            strides = self.conv_groups // 4
            window_body = (load + 21) * strides + 6 * (strides - 1) + 1 + 15
            group_body += 8
            # the vendor's estimate leaves the first pass out here, which would be above the engine's peak
            first, later = first * strides, later * strides
        return (
            start
            + group_body * groups
            + _loop_branches(groups)
            + window_body * windows
            + _loop_branches(windows)
            + groups * (first + (windows - 1) * later)
        )

    def buffer_bytes(self, partial_bytes: Array, conv_group_grains: Array) -> Numbers:
        return ceil_div(partial_bytes, conv_group_grains) + 200


def slic_kinds(chip: Chip, dtype: str, partials: str) -> list[Slic]:
    """All groupings of the window that exist on the chip for these types."""
    if dtype == "fp8" and chip.conv_units("fp8", partials):
        return [Slic(chip, dtype, partials, 1, 8, 8, chains=4)]
    if dtype != "fp16":
        return []
    chains = [2] if partials == "fp32" else ([4, 2] if chip.conv_units_half_half == 16 else [2])
    groupings = [(1, 4), (2, 2), (4, 1)]
    if partials == "fp16" and chip.conv_units_half_half == 16:
        groupings += [(8, 1), (16, 1)]
    return [
        Slic(chip, dtype, partials, groups, channels, channels, chains=count)
        for count in chains
        for groups, channels in groupings
    ]


def slic_cycles(
    rows: Numbers,
    width: Numbers,
    chip: Chip,
    *,
    kernel_rows: Numbers = 3,
    kernel_columns: int = 3,
    conv_groups: Numbers = 1,
    group: int = 1,
    channels: int = 4,
    chains: int = 2,
    stride: int = 1,
    dtype: str = "fp16",
    partials: str = "fp16",
) -> Numbers:
    """Cycles of one call on a tile that computes `rows` x `width` points for `conv_groups` groups of groups."""
    kind = Slic(chip, dtype, partials, group, channels, channels, chains=chains)
    points = Points(array(rows), array(width), array(rows) * array(width), kernel_columns, stride)
    loops = Loops(
        array(kernel_rows), array(float(kernel_columns)), array(conv_groups), array(1.0), array(1.0)
    )
    return scalar_or_array(kind.cycles(kind.field(points), loops), rows, width, kernel_rows, conv_groups)
