"""What a plan copies besides the operands of its vertices: other orders, zeros, slices of a loop over time.

Formulas: PopLibs ConvModel.cpp (transforms, padding, dynamic slices).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tremula.plan.conv_exchange import Copied, rearrangement, received_cycles, regrouping, shared_cycles
from tremula.plan.conv_grid import Elements, Grid, Target
from tremula.plan.conv_transforms import rearranged
from tremula.plan.vertices.amp import Amp, weights_per_unit
from tremula.plan.vertices.arrays import Array, ceil_div
from tremula.plan.vertices.reduce import accumulate_cycles, cast_cycles, slice_cycles
from tremula.plan.vertices.slic import WINDOW, Slic
from tremula.program.dtypes import item_bytes


@dataclass(frozen=True)
class Moves:
    """Operands and output brought into another order: in each turn, and once."""

    copy: Array
    exchange: Array
    once_copy: Array
    once_exchange: Array
    out_copy: Array
    out_exchange: Array
    #: while rearranging; and for as long as the loop runs
    bytes: Array
    lasting_bytes: Array


def moves(target: Target, grid: Grid, e: Elements, before_loop: bool) -> Moves:
    """The rearrangements of a plan; with `before_loop`, inputs are rearranged once for all turns."""
    chip, shape, kind = target.chip, grid.way.shape, grid.kind
    width, out_width = item_bytes(target.dtype), item_bytes(target.output)
    order = rearranged(
        grid.way, target.use, kind.in_channels, kind.out_channels, weights_per_unit(target.dtype)
    )
    nothing = np.zeros_like(e.tiles)
    none = Copied(nothing, nothing, nothing)
    # how well operands are copied in vectors
    inner = shape.in_channels * shape.out_channels
    ins = rearrangement(shape.inputs, e.tiles, width, inner, chip) if order.inputs else none
    weights = rearrangement(shape.weights, e.tiles, width, inner, chip) if order.weights else none
    out = none
    if order.output:
        out = rearrangement(shape.outputs, e.tiles, out_width, shape.out_channels, chip)
    elif order.output_regrouped:
        out = regrouping(shape.outputs, e.tiles, out_width, kind.out_channels, shape.out_channels, chip)
    each = none if before_loop else ins
    once = ins if before_loop else none
    largest = np.maximum(ins.bytes / e.in_times, weights.bytes / e.times)
    return Moves(
        copy=each.copy / e.in_times + weights.copy / e.times,
        exchange=each.exchange / e.in_times + weights.exchange / e.times,
        once_copy=once.copy,
        once_exchange=once.exchange,
        out_copy=out.copy / e.out_times,
        out_exchange=out.exchange / e.out_times,
        # both orders are there at once
        bytes=2 * np.maximum(largest, out.bytes / e.out_times),
        lasting_bytes=once.bytes,
    )


@dataclass(frozen=True)
class Zeros:
    """Zeros that a tile receives so that its vertex can run."""

    cycles: Array
    bytes: Array


def zeros(target: Target, grid: Grid, e: Elements) -> Zeros:
    """Kernel rows or windows are filled up; the sliding window also needs the field's padding as real zeros."""
    kind, dims, chip = grid.kind, grid.way.shape.dimensions, target.chip
    nothing = np.zeros_like(e.tiles)
    kernels = [k[e.c] for k in grid.held.kernels]
    kernel_pad, input_pad = [nothing] * len(dims), [nothing] * len(dims)
    if isinstance(kind, Slic):
        kernel_pad[-1] = (-kernels[-1]) % WINDOW
        input_pad = [nothing + max(0, d.before + d.after) for d in dims]
        input_pad[-1] = input_pad[-1] + kernel_pad[-1] * dims[-1].dilation
    elif isinstance(kind, Amp) and kind.filter_rows > 1:
        kernel_pad[0] = (-kernels[0]) % kind.filter_rows
        input_pad[0] = kernel_pad[0] * dims[0].dilation
    else:
        return Zeros(nothing, nothing)
    extents = [extent[e.f] for extent in grid.on_tile.extents]
    more_weights = _product(kernels, kernel_pad) - _product(kernels, [nothing] * len(dims))
    more_inputs = _product(extents, input_pad) - _product(extents, [nothing] * len(dims))
    width = item_bytes(target.dtype)
    weight_bytes = e.group_ins * grid.held.outs[e.c] * more_weights * width
    input_bytes = e.group_ins * e.batch * more_inputs * width
    cycles = shared_cycles(input_bytes, e.sharers, chip) + received_cycles(weight_bytes, chip)
    return Zeros(cycles, input_bytes + weight_bytes)


def _product(sizes: list[Array], more: list[Array]) -> Array:
    result: Array = np.prod([size + extra for size, extra in zip(sizes, more, strict=True)], axis=0)
    return result


@dataclass(frozen=True)
class Turns:
    """What a loop over time costs: slices cut out, results put back or added up."""

    slices: Array
    update: Array
    once_copy: Array
    once_exchange: Array
    cast: Array
    lasting_bytes: Array
    rearranging_bytes: Array


def turns(target: Target, grid: Grid, e: Elements, outputs: Array) -> Turns:
    """The loop over time, where there is one; `outputs` are a tile's results of a turn."""
    nothing = np.zeros_like(e.tiles)
    serial, adding = e.times > 1, e.in_times > 1
    if not serial.any():
        return Turns(nothing, nothing, nothing, nothing, nothing, nothing, nothing)
    chip, shape, partials = target.chip, grid.way.shape, grid.kind.partials
    width = item_bytes(target.dtype)
    weights = np.asarray(slice_cycles(ceil_div(shape.weights, e.tiles * e.times), chip, dtype=target.dtype))
    inputs = np.asarray(slice_cycles(ceil_div(shape.inputs, e.tiles * e.in_times), chip, dtype=target.dtype))
    put = np.asarray(slice_cycles(outputs, chip, dtype=target.output))
    added = np.asarray(accumulate_cycles(outputs, chip, dtype=partials))
    cast = nothing
    if partials != target.output:
        cast = np.where(adding, cast_cycles(outputs, chip, dtype=partials, output=target.output), 0.0)
    before = nothing
    if target.use.matmul:
        # weights as they come are not in the order of the slices: one element per cycle, once
        before = np.where(serial, ceil_div(shape.weights, e.tiles), 0.0)
    return Turns(
        slices=np.where(serial, weights, 0.0) + np.where(adding, inputs, 0.0),
        update=np.where(e.out_times > 1, put, 0.0) + np.where(adding, added, 0.0),
        once_copy=before,
        once_exchange=received_cycles(before * width, chip),
        cast=cast,
        lasting_bytes=before * width + np.where(adding, outputs * item_bytes(partials), 0.0),
        rearranging_bytes=before * width,
    )
