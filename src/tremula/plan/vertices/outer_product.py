"""Outer product: one input channel, one kernel position; each point scales a row of weights.

Formulas: PopLibs PerformanceEstimation.hpp.
"""

from __future__ import annotations

from dataclasses import dataclass

from tremula.hardware.chip import Chip
from tremula.plan.vertices.arrays import Array, Numbers, array, ceil_div, scalar_or_array
from tremula.plan.vertices.kind import Loops, Points, VertexKind


@dataclass(frozen=True)
class OuterProduct(VertexKind):
    """Partial sums have the type of the inputs: nothing is added up."""

    name = "outer product"
    code_bytes = 600

    @property
    def macs_per_cycle(self) -> float:
        return float(self.chip.vector_width(self.dtype))

    def field(self, points: Points) -> tuple[Array, ...]:
        return (ceil_div(points.rows * points.width, self.chip.worker_contexts),)

    def cycles(self, field: tuple[Array, ...], loops: Loops) -> Array:
        groups = loops.out_groups * loops.conv_groups
        channels = self.out_channels
        if self.dtype == "fp32":
            unrolled = channels >= 6 and channels % 2 == 0
            start, row = 11, 6 + (channels - 6) // 2 if unrolled else 10 + 2 * channels
        else:
            unrolled = channels >= 12 and channels % 4 == 0
            start, row = 10, 6 + (channels - 12) // 4 if unrolled else 10 + channels * 5 // 2
        return self.chip.worker_contexts * (25 + groups * (start + field[0] * row))


def outer_product_kinds(
    chip: Chip, dtype: str, partials: str, in_channels: int, kernel: int
) -> list[OuterProduct]:
    """One grouping, the width of a vector, if nothing needs adding up in a wider type."""
    if dtype == "fp8" or (dtype == "fp16" and partials == "fp32" and (in_channels != 1 or kernel != 1)):
        return []
    return [OuterProduct(chip, dtype, dtype, 1, 1, chip.vector_width(dtype))]


def outer_product_cycles(
    points: Numbers, out_channels: Numbers, chip: Chip, *, dtype: str = "fp16"
) -> Numbers:
    """Cycles of one call on a tile: `points` by `out_channels`."""
    kind = OuterProduct(chip, dtype, dtype, 1, 1, chip.vector_width(dtype))
    outs = ceil_div(array(out_channels), kind.out_channels)
    one = array(1.0)
    cycles = kind.cycles((ceil_div(array(points), chip.worker_contexts),), Loops(one, one, one, one, outs))
    return scalar_or_array(cycles, points, out_channels)
