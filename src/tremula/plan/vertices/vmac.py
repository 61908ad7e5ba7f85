"""Vector multiply-accumulate across conv groups: depthwise convolutions in half precision.

A vector holds one channel of four, eight or sixteen groups; each worker keeps partial sums of its own, which
are added at the end. Formulas: PopLibs PerformanceEstimation.hpp (vertical MAC).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tremula.hardware.chip import Chip
from tremula.plan.vertices.arrays import Array, Numbers, array, ceil_div, scalar_or_array
from tremula.plan.vertices.hmac import even_rows
from tremula.plan.vertices.kind import Loops, Points, VertexKind


@dataclass(frozen=True)
class Vmac(VertexKind):
    """`conv_groups` depthwise channels at once."""

    name = "VMAC"
    code_bytes = 1000

    @property
    def macs_per_cycle(self) -> float:
        return 8 / 3 if self._wide else 2.0

    @property
    def _wide(self) -> bool:
        return self.conv_groups >= 8 and self.partials == "fp16"

    def _run(self, kernel: Array) -> Array:
        """Cycles for one run of `kernel` positions into one output vector."""
        if self._wide:
            return (7 + 15 + 3 + 3 * (kernel - 1)) * (self.conv_groups // 8)
        store = 5 if self.partials == "fp32" else 3
        return 7 + store + 3 + 2 * (kernel - 1) * (self.conv_groups / 4)

    def field(self, points: Points) -> tuple[Array, ...]:
        workers = self.chip.worker_contexts
        # each output point is a row of kernel positions
        count = points.rows * points.width
        kernel = np.full_like(count, float(points.kernel_width))
        parts = workers / np.gcd(count.astype(np.int64), workers)
        whole, _ = even_rows(count, kernel, workers)
        rest = ceil_div(count * parts, workers) - whole * parts
        row = whole * self._run(kernel) + rest * self._run(ceil_div(kernel, parts))
        single = self.partials == "fp32"
        zero = 4 + ceil_div(points.total, 2 if single else 4)
        share = ceil_div(points.total, workers)
        adding = 7 + 2 * single + (2 if single else 1) * (workers - 1)
        reduce = 10 - single + np.floor(adding * share / self.conv_groups)
        return row, zero, reduce

    def cycles(self, field: tuple[Array, ...], loops: Loops) -> Array:
        row, zero, reduce = field
        start = (
            (13 if self.conv_groups == 8 else 25) if self._wide else (19 if self.partials == "fp32" else 18)
        )
        inner = self.chip.worker_contexts * (start + loops.kernel_outer * row)
        outer = 32 + loops.in_groups * (24 + inner)
        return 100 + (self.partials == "fp32") + (zero + outer + reduce) * loops.conv_groups


def vmac_kinds(chip: Chip, dtype: str, partials: str) -> list[Vmac]:
    """The groupings that exist."""
    if dtype != "fp16":
        return []
    sizes = [4] + ([8, 16] if partials == "fp16" else [])
    return [Vmac(chip, dtype, partials, size, 1, 1) for size in sizes]


def vmac_cycles(
    points: Numbers,
    chip: Chip,
    *,
    kernel_rows: Numbers = 3,
    kernel_columns: int = 3,
    conv_groups: Numbers = 1,
    group: int = 4,
    dtype: str = "fp16",
    partials: str = "fp32",
) -> Numbers:
    """Cycles of one call on a tile: `points` outputs of `conv_groups` groups of `group` depthwise channels."""
    kind = Vmac(chip, dtype, partials, group, 1, 1)
    count = array(points)
    field = kind.field(Points(np.ones_like(count), count, count, kernel_columns, 1))
    loops = Loops(array(kernel_rows), array(1.0), array(conv_groups), array(1.0), array(1.0))
    return scalar_or_array(kind.cycles(field, loops), points, kernel_rows, conv_groups)
