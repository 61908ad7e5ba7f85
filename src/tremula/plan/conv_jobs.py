"""What a search has to try: rewritings of the work with the vertices that can do them, the cheapest first.

Source: PopLibs ConvVertexType.cpp (candidates), ConvModel.cpp (what each vertex can do).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tremula.plan.conv_grid import Target
from tremula.plan.conv_shape import ConvShape
from tremula.plan.conv_transforms import Transformed, rearranged
from tremula.plan.vertices.amp import Amp, amp_kinds, weights_per_unit
from tremula.plan.vertices.hmac import hmac_kinds
from tremula.plan.vertices.kind import Loops, VertexKind
from tremula.plan.vertices.outer_product import outer_product_kinds
from tremula.plan.vertices.slic import WINDOW, Slic, slic_kinds
from tremula.plan.vertices.vmac import vmac_kinds
from tremula.program.dtypes import item_bytes


@dataclass(frozen=True)
class Job:
    """A rewriting with a vertex, and the least that it can cost."""

    way: Transformed
    kind: VertexKind
    least: float

    @property
    def label(self) -> str:
        """For reports."""
        words = self.way.words
        return f"{self.kind.label}, {words}" if words else self.kind.label


def _round_up(number: int, to: int) -> int:
    return -(-number // to) * to


def least_macs(shape: ConvShape, kind: VertexKind) -> float:
    """Multiply-accumulates of the work as the vertex does it, padding to its groups included."""
    macs = float(shape.batch)
    macs *= _round_up(shape.groups, kind.conv_groups)
    macs *= _round_up(shape.in_channels, kind.in_channels) * _round_up(shape.out_channels, kind.out_channels)
    kernel = [d.kernel for d in shape.dimensions]
    if isinstance(kind, Amp):
        kernel[0] = _round_up(kernel[0], kind.filter_rows)
    if isinstance(kind, Slic):
        kernel[-1] = _round_up(kernel[-1], WINDOW)
    for dimension, positions in zip(shape.dimensions, kernel, strict=True):
        macs *= math.ceil(dimension.out / dimension.step) * positions
    return macs


def least_cycles(way: Transformed, kind: VertexKind, target: Target) -> float:
    """What no split can be below: all tiles at the vertex's peak, and rearrangements."""
    chip, shape = target.chip, way.shape
    cycles = least_macs(shape, kind) / kind.macs_per_cycle / chip.tiles
    # each set of weights is loaded on one tile at least
    sizes = (
        shape.dimensions[0].kernel,
        shape.kernel_positions // shape.dimensions[0].kernel,
        -(-shape.groups // kind.conv_groups),
        -(-shape.in_channels // kind.in_channels),
        -(-shape.out_channels // kind.out_channels),
    )
    cycles += float(np.ravel(kind.loop_cycles(Loops(*(np.float64(size) for size in sizes))))[0]) / chip.tiles
    order = rearranged(way, target.use, kind.in_channels, kind.out_channels, weights_per_unit(target.dtype))
    width, out_width = item_bytes(target.dtype), item_bytes(target.output)
    copied = 0.0
    if order.inputs:
        copied += shape.inputs * width / min(width, chip.memcpy_bytes_per_cycle)
    if order.weights:
        copied += shape.weights * width / min(width, chip.memcpy_bytes_per_cycle)
    if order.output:
        copied += shape.outputs * out_width / min(out_width, chip.memcpy_bytes_per_cycle)
    return cycles + copied * 1.25 / chip.tiles


def engine_kinds(way: Transformed, target: Target, partials: str) -> list[VertexKind]:
    """The vertices of the matrix engine that can do the work."""
    chip, shape, dtype = target.chip, way.shape, target.dtype
    dims = shape.dimensions
    single = shape.batch == 1 and all(d.spread == d.stride for d in dims)
    kinds: list[VertexKind] = [*amp_kinds(chip, dtype, partials, single)]
    # the engine may write halves directly if one pass over the channels gives the result
    if dtype == "fp16" and partials == "fp32" and shape.kernel_positions == 1 and shape.in_channels <= 16:
        kinds += [
            k
            for k in amp_kinds(chip, dtype, "fp16", single)
            if _round_up(shape.in_channels, k.in_channels) == 16
        ]
    plain_kernel = all(d.dilation == 1 and d.spread == 1 for d in dims)
    if not target.use.matmul and not way.swap and plain_kernel and dims[-1].stride <= 2:
        kinds += slic_kinds(chip, dtype, partials)
    return kinds


def vector_kinds(way: Transformed, target: Target, partials: str) -> list[VertexKind]:
    """The vertices without the matrix engine that can do the work."""
    chip, shape, dims = target.chip, way.shape, way.shape.dimensions
    vector = "fp16" if target.dtype == "fp8" else target.dtype
    single = shape.batch == 1 and all(d.spread == d.stride for d in dims)
    kinds: list[VertexKind] = [*hmac_kinds(chip, vector, partials, shape.in_channels, single)]
    kinds += vmac_kinds(chip, vector, partials)
    if (
        all(d.stride == 1 and d.spread == 1 for d in dims)
        and shape.kernel_positions == 1
        and shape.in_channels == 1
    ):
        kinds += outer_product_kinds(chip, target.dtype, partials, shape.in_channels, shape.kernel_positions)
    return kinds
