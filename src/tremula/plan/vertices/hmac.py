"""Vector multiply-accumulate: a dot product over input channels per output point, without the matrix engine.

Any number of channels and any type, at a vector per cycle; what remains when the matrix engine does not fit
memory or channels. Formulas: PopLibs PerformanceEstimation.hpp (horizontal MAC).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tremula.hardware.chip import Chip
from tremula.plan.vertices.arrays import Array, Numbers, array, ceil_div, floor_div, scalar_or_array
from tremula.plan.vertices.kind import Loops, Points, VertexKind, zero_cycles


def even_rows(rows: Array, width: Array, workers: int) -> tuple[Array, Array]:
    """Whole rows of the busiest worker, and the points of the part of a row that it may get besides.

    Rows are cut into as many parts as make them divisible by the workers.
    """
    parts = workers / np.gcd(rows.astype(np.int64), workers)
    share = ceil_div(rows * parts, workers)
    whole = floor_div(share, parts)
    rest = share - whole * parts
    return whole, np.floor(rest * (width + parts - 1) / parts)


@dataclass(frozen=True)
class Hmac(VertexKind):
    """Dot products; `may_be_1x1`: whether the special case for one kernel position may apply."""

    may_be_1x1: bool = True

    name = "HMAC"
    code_bytes = 1000

    @property
    def macs_per_cycle(self) -> float:
        return self.in_channels * self.out_channels / min(self._point(False), self._point(True))

    @property
    def _special(self) -> bool:
        return self.may_be_1x1 and self.dtype == "fp16" and self.partials == "fp32"

    @property
    def _dot(self) -> float:
        """Cycles of one dot product; half partials make two outputs at once."""
        vector = 2 if self.dtype == "fp32" else 4
        outputs = 2 if self.dtype == "fp16" and self.partials == "fp16" else 1
        width = next(w for w in (vector, 2, 1) if w <= vector and self.in_channels % w == 0)
        narrow = width < vector
        cycles = 3 * outputs + (outputs == 2) + 4 + (outputs if narrow else 0)
        return cycles + self.in_channels / width * (2 if narrow else 1) - (self.dtype != "fp32")

    def _retained(self, single: bool) -> int:
        return 15 if single else (0 if self.dtype == "fp32" else 6)

    def _point(self, single: bool) -> float:
        """Cycles per point and kernel position."""
        outputs = self.out_channels if self.partials == "fp32" else (self.out_channels + 1) // 2
        return (2 if single and outputs == 1 else 7) + outputs * self._dot

    def _position(self, points: Points, single: bool) -> Array:
        """Cycles of the busiest worker for one kernel position."""
        whole, rest = even_rows(points.rows, points.width, self.chip.worker_contexts)
        per_piece = 13.0 if single else 19.0
        if single and self.out_channels == 1:
            per_piece += 1
        count = whole + (rest > 0)
        return (
            16
            - self._retained(single)
            + count * per_piece
            + (whole * points.width + rest) * self._point(single)
        )

    def field(self, points: Points) -> tuple[Array, ...]:
        zero = zero_cycles(points.total, self.out_channels, 1.0, self.chip.worker_contexts)
        general = self._position(points, False)
        if not self._special:
            return general, zero
        return general, zero, self._position(points, True), points.rows

    def _supervisor(self, position: Array, loops: Loops, single: bool) -> Array:
        workers = self.chip.worker_contexts
        kernel = loops.kernel_outer * loops.kernel_inner
        inner = workers * (kernel * position + 16)
        start = (58 if self.dtype == "fp32" else 65) - 10 * single
        retained = 15 if single else (0 if self.partials == "fp32" else 6)
        start += workers * ((9 if self.partials == "fp32" else 10) + retained)
        return start + loops.conv_groups * (23 + loops.in_groups * (15 + loops.out_groups * (10 + inner)))

    def loop_cycles(self, loops: Loops) -> Numbers:
        kernel = loops.kernel_outer * loops.kernel_inner
        per_set = 10 + self.chip.worker_contexts * (16 + 14 * kernel)
        return loops.conv_groups * loops.in_groups * loops.out_groups * per_set

    def cycles(self, field: tuple[Array, ...], loops: Loops) -> Array:
        zero = field[1] * loops.out_groups * loops.conv_groups
        cycles = self._supervisor(field[0], loops, False) + zero
        if len(field) == 2:
            return cycles
        single = (loops.kernel_outer * loops.kernel_inner == 1) & (field[3] == 1)
        no_zero = (loops.in_groups == 1) & (self.out_channels == 1)
        fast = self._supervisor(field[2], loops, True) + np.where(no_zero, 0.0, zero)
        return np.where(single, fast, cycles)


def hmac_kinds(chip: Chip, dtype: str, partials: str, in_channels: int, may_be_1x1: bool) -> list[Hmac]:
    """Groupings that give each tile one group of input channels, whichever way they are split."""
    grain = 1 if dtype == "fp32" else 2
    rounded = -(-in_channels // grain) * grain
    outs = 1 if partials == "fp32" else 2
    sizes: set[int] = set()
    for splits in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128, 256, 512, 1024):
        size = -(-rounded // splits)
        sizes.add(-(-size // grain) * grain)
    return [
        Hmac(chip, dtype, partials, 1, size, outs, may_be_1x1=may_be_1x1)
        for size in sorted(sizes, reverse=True)
    ]


def hmac_cycles(
    rows: Numbers,
    width: Numbers,
    in_channels: int,
    out_channels: Numbers,
    chip: Chip,
    *,
    kernel_rows: Numbers = 1,
    kernel_columns: Numbers = 1,
    conv_groups: Numbers = 1,
    dtype: str = "fp16",
    partials: str = "fp32",
) -> Numbers:
    """Cycles of one call on a tile that computes `rows` x `width` points of `out_channels` channels."""
    kind = hmac_kinds(chip, dtype, partials, in_channels, may_be_1x1=True)[0]
    points = Points(array(rows), array(width), array(rows) * array(width), 1, 1)
    outs = ceil_div(array(out_channels), kind.out_channels)
    loops = Loops(array(kernel_rows), array(kernel_columns), array(conv_groups), array(1.0), outs)
    return scalar_or_array(kind.cycles(kind.field(points), loops), rows, width, out_channels, kernel_rows)
