"""The matrix engine's vertices: 1x1 (points by channels) and nx1 (a column of n kernel rows at once).

Sixteen or eight accumulating units each hold 32 bytes of weights. The supervisor loads them, then six workers
stream points through. Formulas: PopLibs PerformanceEstimation.hpp; the 1x1 ones agree within 1.8 % with what
tessellate-ipu measured on Bow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tremula.hardware.chip import Chip
from tremula.plan.vertices.arrays import (
    Array,
    Numbers,
    array,
    ceil_div,
    floor_div,
    scalar_or_array,
    slowest_worker,
)
from tremula.plan.vertices.kind import Loops, Points, VertexKind, zero_cycles
from tremula.program.dtypes import item_bytes

#: bytes of weights that one unit holds
UNIT_WEIGHT_BYTES = 32
#: cycles that a worker needs per point when all units are busy
CORE_CYCLES = {"fp32": 8, "fp16": 4, "fp8": 4}
#: elements of input that the engine takes per cycle
INPUT_ELEMENTS = {"fp32": 2, "fp16": 4, "fp8": 8}
#: supervisor cycles to place weights for 1, 2 or 4 kernel rows
PLACING_CYCLES = {1: 15, 2: 46, 4: 60}


def weights_per_unit(dtype: str) -> int:
    """Weights that one unit holds."""
    return UNIT_WEIGHT_BYTES // item_bytes(dtype)


@dataclass(frozen=True)
class Amp(VertexKind):
    """The matrix engine with `units` units; 1x1 where a tile has one kernel position and one row of points."""

    units: int = 16
    #: whether batch, strides and padding allow the 1x1 vertex at all
    may_be_1x1: bool = True

    name = "AMP"
    code_bytes = 1600

    @property
    def filter_rows(self) -> int:
        """Kernel rows whose channels share the units."""
        return weights_per_unit(self.dtype) // self.in_channels

    @property
    def macs_per_cycle(self) -> float:
        return self.units * weights_per_unit(self.dtype) / CORE_CYCLES[self.dtype]

    @property
    def label(self) -> str:
        return f"AMP ({self.in_channels} in x {self.out_channels} out, {self.units} units)"

    @property
    def _load_cycles(self) -> float:
        return self.units * UNIT_WEIGHT_BYTES / self.chip.conv_weight_bytes_per_cycle

    @property
    def _passes(self) -> int:
        return max(1, self.out_channels // self.units)

    @property
    def _plain_path(self) -> bool:
        """Half inputs with half partials on eight units take a path of their own; all others share one."""
        return self.dtype == "fp32" or self.partials == "fp32" or self.units == 16

    def field(self, points: Points) -> tuple[Array, ...]:
        workers = self.chip.worker_contexts
        most, least = slowest_worker(
            points.rows, points.width, workers, self._column_piece, self._column_start
        )
        column = np.maximum(workers * most, workers * least + 9)
        zero = zero_cycles(points.total, self.out_channels, 1.0, workers)
        if not (self.may_be_1x1 and self.filter_rows == 1):
            return column, zero
        count = points.rows * points.width
        return column, zero, self._point_loop(count, True), self._point_loop(count, False), points.rows

    def cycles(self, field: tuple[Array, ...], loops: Loops) -> Array:
        column = self._column_cycles(field[0], field[1], loops)
        if len(field) == 2:
            return column
        single = (loops.kernel_outer * loops.kernel_inner == 1) & (field[4] == 1)
        return np.where(single, self._point_cycles(field[2], field[3], loops), column)

    def loop_cycles(self, loops: Loops) -> Numbers:
        sets = ceil_div(loops.kernel_outer, self.filter_rows) * loops.kernel_inner
        sets = sets * loops.conv_groups * loops.in_groups * loops.out_groups
        # fp8's estimate counts the loads of an nx1 kernel row once
        return sets * (0.0 if self.dtype == "fp8" else self._passes * self._load_cycles)

    # -- 1x1

    def _point_worker(self, points: Array, zeroing: bool) -> Array:
        """Cycles of a worker for `points` points: the first two are not yet pipelined."""
        steady = CORE_CYCLES[self.dtype] * (points - 3)
        zero = float(zeroing)
        if self.dtype == "fp8":
            saved = 5 * zero
            by_count: tuple[Numbers, Numbers, Numbers] = (18 - saved, 23 - saved, 27 - saved + steady)
            return 17 + np.where(points <= 1, by_count[0], np.where(points == 2, by_count[1], by_count[2]))
        if self.dtype == "fp32":
            clearing = zero * (2 + (8 if self.units == 16 else 4) * points)
            by_count = (47.0, 46.0, 46 + steady)
            retained = 0
        elif self._plain_path:
            extra = 1 if zeroing else 2
            clearing = np.zeros_like(points)
            by_count = (31.0 + extra, 40.0 + extra, (37 if zeroing else 38) + steady)
            retained = 7
        else:
            clearing = zero * (2 + 2 * points)
            by_count = (39.0, 40.0, 41 + steady)
            retained = 0
        base = np.where(points == 1, by_count[0], np.where(points == 2, by_count[1], by_count[2]))
        return base + clearing - retained

    def _point_loop(self, points: Array, zeroing: bool) -> Array:
        """Cycles of all workers for one set of weights."""
        workers = self.chip.worker_contexts
        most, least = ceil_div(points, workers), floor_div(points, workers)
        many = np.where(most > 0, self._point_worker(most, zeroing), 0.0)
        few = np.where(least > 0, self._point_worker(least, zeroing), 0.0)
        # two points take a worker longer than three
        slow, fast = np.maximum(many, few), np.minimum(many, few)
        result: Array = np.maximum(workers * slow, workers * fast + 14)
        return result

    def _point_cycles(self, first: Array, later: Array, loops: Loops) -> Array:
        """The supervisor's loops around the 1x1 workers: `first` zeroes the partial sums, `later` adds to them."""
        workers = self.chip.worker_contexts
        load = self._load_cycles
        groups, ins, outs = loops.conv_groups, loops.in_groups, loops.out_groups
        if self.dtype == "fp8":
            opening = 14 * workers + 11 + 6 * workers + load + first
            following = 11 * workers + 6 + 6 * workers + load + later
            per_group = 2 * workers + 9 + outs * (6 * workers + 10 + opening + (ins - 1) * following)
            return 46 + groups * per_group
        plain = float(self._plain_path)
        retained, per_loop = (7, 3) if self.dtype == "fp16" and self._plain_path else (0, 0)
        opening = outs * (19 - plain + self._passes * (7 + load + first))
        following = (ins - 1) * (16 - plain + outs * (19 + self._passes * (6 + load + later)))
        start = 50 + workers * (retained + per_loop * (ins * groups - 1))
        return start + groups * (12 + plain + following + 11 + opening)

    # -- nx1

    @property
    def _column_start(self) -> float:
        return 18.0 if self.dtype == "fp8" or self.partials == "fp16" else 17.0

    def _column_piece(self, points: Array) -> Array:
        """Cycles of a worker for one piece of a row."""
        steady = CORE_CYCLES[self.dtype] * (points - 3)
        if self.dtype == "fp8":
            start, by_count = 16.0, (18.0, 23.0, 27 + steady)
        elif self.dtype == "fp32":
            start, by_count = 3.0 - 9.0, (33.0, 44.0, 45 + steady)
        else:
            full = self.units == (16 if self.partials == "fp16" else 8)
            start, by_count = 3.0 - 9.0, (29.0, 33.0 + full, 34 + steady)
        return start + np.where(points <= 1, by_count[0], np.where(points == 2, by_count[1], by_count[2]))

    def _column_cycles(self, workers_cycles: Array, zero: Array, loops: Loops) -> Array:
        """The supervisor's loops of the nx1 vertex: kernel rows by `filter_rows`, the other positions one by one."""
        workers = self.chip.worker_contexts
        rows = ceil_div(loops.kernel_outer, self.filter_rows)
        positions = loops.kernel_inner
        load = self._load_cycles
        groups, ins, outs = loops.conv_groups, loops.in_groups, loops.out_groups
        computing = workers_cycles * self._passes * rows * positions
        if self.dtype == "fp8":
            opening = 5 * workers + 3 + 15 * workers + 13 + load
            inner = rows * (opening + (positions - 1) * (13 * workers + 8) + load) + computing
            per_out = 8 * workers + 10 + ins * (8 * workers + 13 + inner)
            return 83 + groups * (5 * workers + 7 + outs * per_out) + zero * outs * groups
        placing = PLACING_CYCLES.get(self.filter_rows, 20 * self.filter_rows)
        inner = rows * (14 + positions * (12 + self._passes * (load + placing + 3))) + computing
        start = 109 + workers * 9 + workers * (9 if self.partials == "fp32" else 10)
        clearing = groups * (17 * outs + 6 * (outs - 1) + 1) + 6 * (groups - 1) + 1
        return start + clearing + groups * (16 + ins * (14 + outs * (14 + inner))) + zero * outs * groups


def amp_kinds(chip: Chip, dtype: str, partials: str, may_be_1x1: bool = True) -> list[Amp]:
    """The matrix engine's vertices that the planner tries: all groupings that the hardware can load aligned.

    Source: PopLibs ConvVertexType.cpp (candidates).
    """
    available = chip.conv_units(dtype, partials)
    if not available:
        return []
    weights = weights_per_unit(dtype)
    unit_choices = [available] + ([8] if available > 8 and dtype != "fp8" else [])
    kinds = []
    for units in unit_choices:
        outs = {units}
        # the next layer likes its channels in groups of `weights`; two passes make them
        if units == available and weights > units and weights % units == 0 and dtype != "fp8":
            outs.add(weights)
        for in_channels in range(weights, 0, -1):
            if weights % in_channels or in_channels % INPUT_ELEMENTS[dtype]:
                continue
            kinds += [
                Amp(chip, dtype, partials, 1, in_channels, out, units=units, may_be_1x1=may_be_1x1)
                for out in sorted(outs)
            ]
    return kinds


def _kind(chip: Chip, dtype: str, partials: str, in_group: int | None, units: int | None) -> Amp:
    if dtype == "fp32":
        partials = "fp32"
    count = units or chip.conv_units(dtype, partials)
    return Amp(chip, dtype, partials, 1, in_group or weights_per_unit(dtype), count, units=count)


def one_by_one_cycles(
    points: Numbers,
    in_channels: Numbers,
    out_channels: Numbers,
    chip: Chip,
    *,
    dtype: str = "fp16",
    partials: str = "fp16",
    conv_groups: Numbers = 1,
    units: int | None = None,
) -> Numbers:
    """Cycles of one call of the 1x1 vertex on a tile: `points` by `in_channels`, times `out_channels`."""
    kind = _kind(chip, dtype, partials, None, units)
    count = array(points)
    loops = Loops(
        array(1.0), array(1.0), array(conv_groups),
        ceil_div(array(in_channels), kind.in_channels), ceil_div(array(out_channels), kind.out_channels),
    )  # fmt: skip
    cycles = kind._point_cycles(kind._point_loop(count, True), kind._point_loop(count, False), loops)
    return scalar_or_array(cycles, points, in_channels, out_channels, conv_groups)


def column_cycles(
    rows: Numbers,
    width: Numbers,
    in_channels: Numbers,
    out_channels: Numbers,
    chip: Chip,
    *,
    kernel_rows: Numbers = 3,
    kernel_columns: Numbers = 3,
    dtype: str = "fp16",
    partials: str = "fp16",
    conv_groups: Numbers = 1,
    in_group: int | None = None,
    units: int | None = None,
) -> Numbers:
    """Cycles of one call of the nx1 vertex on a tile that computes `rows` x `width` points."""
    kind = _kind(chip, dtype, partials, in_group, units)
    total = array(rows) * array(width)
    points = Points(array(rows), array(width), total, 1, 1)
    column, zero, *_ = kind.field(points)
    loops = Loops(
        array(kernel_rows), array(kernel_columns), array(conv_groups),
        ceil_div(array(in_channels), kind.in_channels), ceil_div(array(out_channels), kind.out_channels),
    )  # fmt: skip
    return scalar_or_array(kind._column_cycles(column, zero, loops), rows, width, in_channels, out_channels)
