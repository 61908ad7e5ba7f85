"""What a tile holds for each split of a convolution, and the candidates that a search goes through.

Splits of batch and field are one list, those of groups, kernel and channels another; a candidate is a pair of
indices into both. What depends on one list alone is computed once for it.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tremula.hardware.chip import Chip
from tremula.plan.conv_exchange import input_extent
from tremula.plan.conv_transforms import Pass, Transformed
from tremula.plan.partition import ChannelSplits, FieldSplits, Integers, part_size
from tremula.plan.vertices.arrays import Array, ceil_div
from tremula.plan.vertices.kind import Points, VertexKind


@dataclass(frozen=True)
class Target:
    """What all candidates of a search share."""

    chip: Chip
    use: Pass
    #: type of the operands, of the output
    dtype: str
    output: str


def _sizes(fields: FieldSplits, way: Transformed, grain: int) -> tuple[Array, list[Array]]:
    """Batch and field extents on a tile."""
    shape = way.shape
    extents = []
    for i, (dimension, parts) in enumerate(zip(shape.dimensions, fields.field, strict=True)):
        step = grain if i == len(fields.field) - 1 else 1
        extents.append((part_size(-(-dimension.out // step), parts) * step).astype(np.float64))
    return part_size(shape.batch, fields.batch).astype(np.float64), extents


class FieldOnTile(NamedTuple):
    """The points on a tile for each split of the field, with its batch and extents."""

    points: Points
    batch: Array
    extents: list[Array]


def field_points(fields: FieldSplits, way: Transformed, grain: int) -> FieldOnTile:
    """What a tile computes of the field; the innermost dimension is cut in multiples of `grain`."""
    batch, extents = _sizes(fields, way, grain)
    dims = way.shape.dimensions
    rows = batch.copy()
    for dimension, extent in zip(dims[:-1], extents[:-1], strict=True):
        rows *= ceil_div(extent, dimension.step)
    width = ceil_div(extents[-1], dims[-1].step)
    total = batch * np.prod(extents, axis=0)
    return FieldOnTile(Points(rows, width, total, dims[-1].kernel, dims[-1].stride), batch, extents)


class ChannelsOnTile(NamedTuple):
    """What a tile holds of groups, kernel and channels for each split of them."""

    conv_groups: Array
    in_groups: Array
    out_groups: Array
    kernels: list[Array]
    #: positions, channels and groups
    kernel: Array
    ins: Array
    outs: Array
    groups: Array
    #: tiles that share an output, and how many of them each stage of their reduction adds up
    depth: Array
    stages: Array

    def chosen(self, which: Integers) -> ChannelsOnTile:
        """Some of them."""
        return ChannelsOnTile(
            self.conv_groups[which], self.in_groups[which], self.out_groups[which],
            [kernel[which] for kernel in self.kernels], self.kernel[which], self.ins[which], self.outs[which],
            self.groups[which], self.depth[which], self.stages[:, which],
        )  # fmt: skip


def channels_on_tile(channels: ChannelSplits, way: Transformed, kind: VertexKind) -> ChannelsOnTile:
    """Sizes of the parts, in whole groups of the vertex."""
    shape = way.shape
    in_grains, out_grains = (
        -(-shape.in_channels // kind.in_channels),
        -(-shape.out_channels // kind.out_channels),
    )
    in_groups = part_size(in_grains, channels.ins * channels.ins_serial).astype(np.float64)
    out_groups = part_size(out_grains, channels.outs * channels.outs_serial).astype(np.float64)
    conv_groups = part_size(-(-shape.groups // kind.conv_groups), channels.groups).astype(np.float64)
    kernels = [
        part_size(d.kernel, parts).astype(np.float64)
        for d, parts in zip(shape.dimensions, channels.kernel, strict=True)
    ]
    return ChannelsOnTile(
        conv_groups, in_groups, out_groups, kernels, np.prod(kernels, axis=0),
        in_groups * kind.in_channels, out_groups * kind.out_channels, conv_groups * kind.conv_groups,
        channels.depth.astype(np.float64), channels.stages,
    )  # fmt: skip


@dataclass(frozen=True)
class Grid:
    """Candidates of a rewriting with a vertex, and the least that each can cost."""

    way: Transformed
    kind: VertexKind
    fields: FieldSplits
    channels: ChannelSplits
    on_tile: FieldOnTile
    held: ChannelsOnTile
    f: Integers
    c: Integers
    least_cycles: Array
    least_bytes: Array
    #: candidates beyond these are left out
    most_cycles: float
    most_bytes: float

    @functools.cached_property
    def field_terms(self) -> tuple[Array, ...]:
        """What the vertex's cycles need of the points."""
        return self.kind.field(self.on_tile.points)


class Elements(NamedTuple):
    """What a tile holds, for each of some candidates."""

    f: Integers
    c: Integers
    tiles: Array
    #: turns of a loop over input channels, over output channels, together
    in_times: Array
    out_times: Array
    times: Array
    batch: Array
    points: Array
    #: groups x input channels
    group_ins: Array
    inputs: Array
    weights: Array
    partial_sums: Array
    #: tiles that need the same inputs, and tiles that need the same weights
    sharers: Array
    holders: Array


def elements(grid: Grid, which: Integers) -> Elements:
    """Sizes of the candidates `which`."""
    f, c = grid.f[which], grid.c[which]
    channels, held, on_tile = grid.channels, grid.held, grid.on_tile
    read = np.ones(len(f))
    for d, extent, parts, size in zip(
        grid.way.shape.dimensions, on_tile.extents, channels.kernel, held.kernels, strict=True
    ):
        if (parts == 1).all():
            read *= input_extent(d, extent, np.full(1, float(d.kernel)))[f]
        else:
            read *= input_extent(d, extent[f], size[c])
    in_times, out_times = (
        channels.ins_serial[c].astype(np.float64),
        channels.outs_serial[c].astype(np.float64),
    )
    batch, points = on_tile.batch[f], on_tile.points.total[f]
    group_ins = (held.groups * held.ins)[c]
    return Elements(
        f=f,
        c=c,
        tiles=(grid.fields.tiles[f] * channels.tiles[c]).astype(np.float64),
        in_times=in_times,
        out_times=out_times,
        times=in_times * out_times,
        batch=batch,
        points=points,
        group_ins=group_ins,
        inputs=read * batch * group_ins,
        weights=(held.kernel * held.groups * held.ins * held.outs)[c],
        partial_sums=points * (held.groups * held.outs)[c],
        sharers=channels.outs[c].astype(np.float64),
        holders=grid.fields.tiles[f].astype(np.float64),
    )
