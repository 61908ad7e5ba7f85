"""Which splits a vertex can run, with the least that each can cost: what makes the search short.

The bounds need only products of what depends on the split of the field and what depends on that of the
channels: multiply-accumulates at the vertex's peak, bytes that a tile receives, bytes that it holds.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np

from tremula.plan.conv_exchange import input_extent
from tremula.plan.conv_grid import ChannelsOnTile, FieldOnTile, Grid, Target, channels_on_tile, field_points
from tremula.plan.conv_transforms import Transformed, rearranged
from tremula.plan.partition import ChannelSplits, FieldSplits, Integers, pairs
from tremula.plan.vertices.amp import Amp, weights_per_unit
from tremula.plan.vertices.arrays import Array, ceil_div
from tremula.plan.vertices.kind import Loops, VertexKind
from tremula.plan.vertices.outer_product import OuterProduct
from tremula.plan.vertices.slic import WINDOW, Slic
from tremula.plan.vertices.vmac import Vmac
from tremula.program.dtypes import item_bytes


@functools.lru_cache(maxsize=256)
def _field_splits(batch: int, extents: tuple[int, ...], tiles: int) -> FieldSplits:
    return FieldSplits.of(batch, extents, tiles)


@functools.lru_cache(maxsize=256)
def _channel_splits(
    groups: int, kernel: tuple[int, ...], ins: int, outs: int, tiles: int, times: tuple[int, int]
) -> ChannelSplits:
    return ChannelSplits.of(groups, kernel, ins, outs, tiles, times)


@functools.lru_cache(maxsize=64)
def _field(way: Transformed, grain: int, tiles: int) -> tuple[FieldSplits, FieldOnTile]:
    extents = tuple(d.out for d in way.shape.dimensions)
    fields = _field_splits(way.shape.batch, (*extents[:-1], -(-extents[-1] // grain)), tiles)
    return fields, field_points(fields, way, grain)


def _chosen(channels: ChannelSplits, which: Integers) -> ChannelSplits:
    return ChannelSplits(
        channels.groups[which], tuple(k[which] for k in channels.kernel), channels.ins[which],
        channels.ins_serial[which], channels.outs[which], channels.outs_serial[which], channels.tiles[which],
    )  # fmt: skip


def _runnable(way: Transformed, kind: VertexKind, channels: ChannelSplits) -> ChannelSplits:
    """Channel splits that the vertex can run."""
    if not isinstance(kind, (Slic, Vmac, OuterProduct)):
        return channels
    one_out = -(-way.shape.out_channels // kind.out_channels) <= channels.outs * channels.outs_serial
    one_in = -(-way.shape.in_channels // kind.in_channels) <= channels.ins * channels.ins_serial
    if isinstance(kind, Slic):
        return _chosen(channels, np.nonzero(one_in & one_out)[0])
    return _chosen(channels, np.nonzero(one_out if isinstance(kind, Vmac) else one_in)[0])


def _kernel_positions(kind: VertexKind, kernels: list[Array]) -> Array:
    """Positions as the vertex runs them: rows or windows that are not full count all the same."""
    sizes = list(kernels)
    if isinstance(kind, Amp):
        sizes[0] = ceil_div(sizes[0], kind.filter_rows) * kind.filter_rows
    if isinstance(kind, Slic):
        sizes[-1] = ceil_div(sizes[-1], WINDOW) * WINDOW
    result: Array = np.prod(sizes, axis=0)
    return result


def _rearranged_cycles(way: Transformed, kind: VertexKind, target: Target) -> float:
    """Cycles to rearrange operands and output, of all tiles together."""
    order = rearranged(way, target.use, kind.in_channels, kind.out_channels, weights_per_unit(target.dtype))
    chip, shape = target.chip, way.shape
    operand, output = item_bytes(target.dtype), item_bytes(target.output)
    total = 0.0
    for needed, elements, width in (
        (order.inputs, shape.inputs, operand),
        (order.weights, shape.weights, operand),
        (order.output, shape.outputs, output),
    ):
        if needed:
            speed = min(chip.memcpy_bytes_per_cycle, width)
            total += elements * width * (1.25 / speed + 1 / chip.exchange_bytes_per_cycle)
    return total


class _Terms(NamedTuple):
    """Factors of the bounds, per channel split."""

    #: cycles per point worked on, per point held, per input read, for weights from other tiles, and regardless
    working: Array
    adding: Array
    fetching: Array
    sending: Array
    fixed: Array
    #: bytes of weights, per input read, per point held
    weight_bytes: Array
    input_bytes: Array
    sum_bytes: Array


def _terms(kind: VertexKind, target: Target, channels: ChannelSplits, held: ChannelsOnTile) -> _Terms:
    chip = target.chip
    width, partial_width = item_bytes(target.dtype), item_bytes(kind.partials)
    per_cycle = chip.exchange_bytes_per_cycle
    times = (channels.ins_serial * channels.outs_serial).astype(np.float64)
    group_ins, group_outs = held.groups * held.ins, held.groups * held.outs
    weights = held.kernel * group_ins * held.outs
    speed = per_cycle * np.where(channels.outs % chip.tiles_per_exchange_bus == 0, 2.0, 1.0)
    loops = Loops(
        held.kernels[0], held.kernel / held.kernels[0], held.conv_groups, held.in_groups, held.out_groups
    )
    waits = 1 + (held.stages > 1).sum(axis=0)
    return _Terms(
        working=times / kind.macs_per_cycle * _kernel_positions(kind, held.kernels) * group_ins * held.outs,
        adding=times * group_outs * (partial_width / per_cycle) * (1 - 1 / held.stages[0]),
        fetching=group_ins * (1 - 1 / channels.outs) * width / speed,
        sending=times * weights * (width / per_cycle),
        fixed=times * (waits * (chip.sync_cycles + chip.exchange_latency_cycles) + kind.loop_cycles(loops)),
        weight_bytes=weights * width,
        input_bytes=group_ins * width,
        sum_bytes=group_outs * partial_width,
    )


def _all_channel_splits(way: Transformed, kind: VertexKind, target: Target, serial: bool) -> ChannelSplits:
    shape = way.shape
    times = (1, 1)
    if serial:
        times = -(-way.sliceable[0] // kind.in_channels), -(-way.sliceable[1] // kind.out_channels)
    channels = _channel_splits(
        -(-shape.groups // kind.conv_groups),
        tuple(d.kernel for d in shape.dimensions),
        -(-shape.in_channels // kind.in_channels),
        -(-shape.out_channels // kind.out_channels),
        target.chip.tiles,
        times,
    )
    if serial and max(times) == 1:
        return _chosen(channels, np.zeros(0, dtype=np.int64))
    return _runnable(way, kind, channels)


def grid_of(
    way: Transformed, kind: VertexKind, target: Target, serial: bool, most_cycles: float, most_bytes: float
) -> Grid:
    """The candidates of a job that may be within both limits: without splits over time, or only those with."""
    chip, shape = target.chip, way.shape
    odd = kind.out_channels % 2 == 1 and item_bytes(target.output) == 2
    grain = 2 if odd and shape.dimensions[-1].out % 2 == 0 else 1
    fields, on_tile = _field(way, grain, chip.tiles)
    channels = _all_channel_splits(way, kind, target, serial)
    held = channels_on_tile(channels, way, kind)
    terms = _terms(kind, target, channels, held)

    # what is hopeless however the field is split: a tile has its share of the points at least
    worked = float(shape.batch * math.prod(-(-d.out // d.step) for d in shape.dimensions))
    points = float(shape.batch * math.prod(d.out for d in shape.dimensions))
    share = channels.tiles / chip.tiles
    hopeful = (terms.working * worked + terms.adding * points) * share + terms.fixed < most_cycles
    hopeful &= terms.weight_bytes + terms.sum_bytes * points * share <= most_bytes
    rows = np.nonzero(hopeful)[0]
    channels, held = _chosen(channels, rows), held.chosen(rows)
    terms = _Terms(*(term[rows] for term in terms))

    least_tiles = terms.working * worked / (most_cycles - terms.fixed)
    f, c = pairs(fields.tiles, least_tiles, chip.tiles // channels.tiles)
    if isinstance(kind, OuterProduct):
        single = on_tile.points.rows[f] == 1
        f, c = f[single], c[single]
    cycles, holding = _bounds(way, kind, target, (fields, channels), on_tile, held, terms, (f, c))
    within = np.nonzero((cycles < most_cycles) & (holding <= most_bytes))[0]
    return Grid(
        way, kind, fields, channels, on_tile, held, f[within], c[within], cycles[within], holding[within],
        most_cycles, most_bytes,
    )  # fmt: skip


def _bounds(
    way: Transformed,
    kind: VertexKind,
    target: Target,
    splits: tuple[FieldSplits, ChannelSplits],
    on_tile: FieldOnTile,
    held: ChannelsOnTile,
    terms: _Terms,
    which: tuple[Integers, Integers],
) -> tuple[Array, Array]:
    """The least cycles and the least bytes of each candidate."""
    (fields, channels), (f, c), points = splits, which, on_tile.points
    read = on_tile.batch.copy()
    for d, extent, parts in zip(way.shape.dimensions, on_tile.extents, channels.kernel, strict=True):
        positions = float(d.kernel) if (parts == 1).all() else 1.0
        read *= input_extent(d, extent, np.full(1, positions))
    read, total = read[f], points.total[f]
    tiles = fields.tiles[f] * channels.tiles[c]
    cycles = (points.rows * points.width)[f] * terms.working[c] + terms.fixed[c]
    cycles += (
        read * terms.fetching[c] + (1 - 1 / fields.tiles)[f] * terms.sending[c] + total * terms.adding[c]
    )
    moved = _rearranged_cycles(way, kind, target)
    if moved:
        cycles += moved / tiles
    sums = total * terms.sum_bytes[c]
    holding = read * terms.input_bytes[c] + terms.weight_bytes[c] + sums
    holding += kind.buffer_bytes(sums, held.conv_groups[c])
    times = channels.ins_serial * channels.outs_serial
    if (times > 1).any():
        holding += (sums / held.depth[c]) * (channels.ins_serial > 1)[c]
        if target.use.matmul:
            # weights in the order of their slices stay for the whole loop
            holding += (times > 1)[c] * (way.shape.weights * item_bytes(target.dtype) / tiles)
    # the exact figures are rounded up, the bounds nowhere; a hair is left for the order of float operations
    return cycles * (1 - 1e-9), holding * (1 - 1e-9)
