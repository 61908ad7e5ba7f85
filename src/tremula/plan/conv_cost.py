"""Cycles and temporary bytes of many splits of a convolution at once, for one vertex and one rewriting.

total = turns x (slices + rearrangements + exchange + zeros + vertex + reduction + update) + what happens once.
Bytes on a tile: what lasts over the loop + the largest of (rearranging, operands with partial sums, reducing).
Source: PopLibs ConvModel.cpp. Unlike there, each superstep also costs a synchronisation and the latency of the
exchange, partial sums that no other tile shares are not exchanged, and a rearrangement inside a loop over time
moves only that turn's share.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tremula.plan.conv_exchange import received_cycles, shared_cycles, without_own
from tremula.plan.conv_grid import Elements, Grid, Target, elements
from tremula.plan.conv_moves import Moves, Turns, Zeros, moves, turns, zeros
from tremula.plan.conv_reduce import Reduced, reduction
from tremula.plan.partition import Integers
from tremula.plan.vertices.arrays import Array
from tremula.plan.vertices.kind import Loops
from tremula.program.dtypes import item_bytes


@dataclass(frozen=True)
class Candidates:
    """One number per candidate for each item of the cost."""

    grid: Grid
    elements: Elements
    #: cycles of the vertex, and to receive its operands in each turn
    vertex: Array
    exchange: Array
    #: cycles to receive inputs once for all turns
    once_exchange: Array
    moves: Moves
    zeros: Zeros
    reduced: Reduced
    turns: Turns
    cycles: Array
    bytes: Array


def _vertex_cycles(grid: Grid, e: Elements) -> Array:
    held = grid.held
    loops = Loops(
        held.kernels[0][e.c], (held.kernel / held.kernels[0])[e.c],
        held.conv_groups[e.c], held.in_groups[e.c], held.out_groups[e.c],
    )  # fmt: skip
    return grid.kind.cycles(tuple(term[e.f] for term in grid.field_terms), loops)


def _total(
    target: Target, e: Elements, parts: tuple[Array, Array, Array, Moves, Zeros, Reduced, Turns]
) -> Array:
    """All cycles, synchronisation and latency included."""
    chip = target.chip
    vertex, exchange, once_exchange, moved, padding, reduced, loop = parts
    each = vertex + exchange + padding.cycles + reduced.cast + loop.slices + loop.update
    each += moved.copy + moved.exchange + moved.out_copy + moved.out_exchange
    for compute, receive in zip(reduced.compute, reduced.exchange, strict=True):
        each += compute + receive
    # supersteps that exchange, and those that only compute
    exchanging = 1 + reduced.stages + (moved.exchange > 0) + (moved.out_exchange > 0)
    alone = (reduced.cast > 0) * 1.0 + (loop.slices > 0) + (loop.update > 0)
    alone += (moved.out_copy > 0) & (moved.out_exchange == 0)
    each += exchanging * (chip.sync_cycles + chip.exchange_latency_cycles) + alone * chip.sync_cycles
    once_copy, once_received = moved.once_copy + loop.once_copy, moved.once_exchange + loop.once_exchange
    once = once_copy + once_received + once_exchange
    once += (once > 0) * (chip.sync_cycles + chip.exchange_latency_cycles)
    return e.times * each + once + loop.cast + (loop.cast > 0) * chip.sync_cycles


def evaluate(target: Target, grid: Grid, which: Integers, before_loop: bool) -> Candidates:
    """The cost of the candidates `which`; with `before_loop`, inputs are sent once and stay for all turns."""
    chip, kind = target.chip, grid.kind
    e = elements(grid, which)
    width, partial_width = item_bytes(target.dtype), item_bytes(kind.partials)
    vertex = _vertex_cycles(grid, e)
    inputs = shared_cycles(without_own(e.inputs, e.sharers) * width, e.sharers, chip)
    exchange = received_cycles(without_own(e.weights, e.holders) * width, chip)
    once_exchange = np.zeros_like(inputs)
    if before_loop:
        once_exchange = inputs
    else:
        exchange = exchange + inputs
    moved = moves(target, grid, e, before_loop)
    padding = zeros(target, grid, e)
    reduced = reduction(
        e.partial_sums, grid.held.depth[e.c], grid.held.stages[:, e.c], chip,
        partials=kind.partials, output=target.output, deferred_cast=e.in_times > 1,
    )  # fmt: skip
    loop = turns(target, grid, e, reduced.outputs)
    cycles = _total(target, e, (vertex, exchange, once_exchange, moved, padding, reduced, loop))

    partial_bytes = e.partial_sums * partial_width
    computing = e.weights * width + partial_bytes + padding.bytes
    computing += kind.buffer_bytes(partial_bytes, grid.held.conv_groups[e.c])
    lasting = loop.lasting_bytes + moved.lasting_bytes
    if before_loop:
        lasting = lasting + e.inputs * width
    else:
        computing = computing + e.inputs * width
    largest = np.maximum(
        np.maximum(moved.bytes, computing), np.maximum(reduced.temporary, loop.rearranging_bytes)
    )
    return Candidates(
        grid,
        e,
        vertex,
        exchange,
        once_exchange,
        moved,
        padding,
        reduced,
        loop,
        cycles,
        np.ceil(lasting + largest),
    )
