"""Pooling: batch, groups of channels and the output field cut over tiles, the kernel never.

The vertex takes the positions of the kernel one after another and sweeps the rows of the output with each;
its cycles and the exchange of the whole input window of a tile are the terms of PopLibs' planner
(popnn/PoolPlan.cpp, PoolVertices.cpp, PerformanceEstimation.hpp). A gradient runs over the input's field.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from tremula.plan.codelets import compute_set_bytes
from tremula.plan.cost import Alternative, Bytes, Cost, Superstep, Why
from tremula.plan.exchange import exchange_code_bytes, exchange_cycles
from tremula.plan.partition import Integers, part_size, product, splits
from tremula.program.dtypes import item_bytes
from tremula.program.work import Pool

if TYPE_CHECKING:
    from tremula.plan.planner import Planner

#: channels that lie together in memory; fewer where there are fewer
CHANNEL_GROUP = 16
#: cycles of a worker, whatever its share: vertex state, division of the work, pointers (PopLibs, as above)
_WORKER_CYCLES = 43
_GRADIENT_CYCLES = 10
_ROW_CYCLES = 15
_KERNEL_POSITION_CYCLES = 23
_SUPERVISOR_CYCLES = 13
#: cycles of one sweep over a row: whatever its length, and for each position
_SWEEP = {"max": (7, 3), "average": (8, 3), "sum": (8, 3), "max gradient": (10, 5)}


def plan_pool(work: Pool, planner: Planner) -> Cost:
    """The split with the fewest cycles."""
    chip = planner.chip
    outputs = output_field(work)
    if work.batch * work.channels * math.prod(outputs) == 0:
        return Cost((), Bytes(), Why(plan="pooling of nothing", formula="0", source=""))
    width = chip.vector_width(work.dtype)
    group = min(CHANNEL_GROUP, -(-work.channels // width) * width)
    groups = -(-work.channels // group)
    # a gradient writes the input's field
    field = work.field if work.gradient else outputs
    extents = (work.batch, groups, *field)
    chosen = product([splits(e, chip.tiles) for e in extents[:-1]], chip.tiles)
    used = np.multiply.reduce(chosen)
    # what is left goes to the last dimension: a smaller part there never costs more
    most = np.minimum(chip.tiles // used, extents[-1])
    chosen.append(part_size(extents[-1], part_size(extents[-1], most)))
    parts = [part_size(extent, split) for extent, split in zip(extents, chosen, strict=True)]
    cycles = _vertex_cycles(work, parts, group // width, chip.worker_contexts)
    received = _input_bytes(work, parts, group)
    total = cycles + received / chip.exchange_bytes_per_cycle
    order = np.argsort(total, kind="stable")
    best = int(order[0])
    tiles = int(np.multiply.reduce(chosen)[best])
    fragments = max(1, int(math.prod(int(p[best]) for p in parts[:-1])))
    exchange = exchange_cycles(float(received[best]), chip, fragments)
    return Cost(
        supersteps=(
            Superstep(
                f"{work.kind} pool" + (" gradient" if work.gradient else ""),
                compute_cycles=float(cycles[best]),
                exchange_cycles=exchange,
                sync_cycles=chip.sync_cycles,
                tiles=tiles,
                balance=math.prod(extents) / (tiles * math.prod(int(p[best]) for p in parts)),
                flops=float(work.batch * work.channels * math.prod(outputs) * math.prod(work.kernel)),
            ),
        ),
        bytes=compute_set_bytes(
            "reduce",
            chip,
            edges=4 if work.gradient else 2,
            temporary=float(received[best]),
            exchange_code=exchange_code_bytes(float(received[best]), chip, fragments),
        ),
        why=Why(
            plan=_name(chosen, best, tiles),
            formula="13 + 6 x slowest worker (rows, kernel positions, 3 or 5 per vector) + input window / 4",
            source="PopLibs popnn/PoolPlan.cpp, popnn/PerformanceEstimation.hpp",
            figures={"input bytes per tile": float(received[best]), "channels per group": float(group)},
            alternatives=tuple(
                Alternative(
                    _name(chosen, int(i), int(np.multiply.reduce(chosen)[i])), float(total[i]), "more cycles"
                )
                for i in order[1:3]
            ),
        ),
    )


def output_field(work: Pool) -> tuple[int, ...]:
    """Extents of the output, of windows that lie inside the field."""
    dims = zip(work.field, work.kernel, work.stride, strict=True)
    return tuple(max(0, f - k) // s + 1 for f, k, s in dims)


def _name(chosen: list[Integers], index: int, tiles: int) -> str:
    batch, groups, *field = (int(split[index]) for split in chosen)
    cut = " x ".join(str(f) for f in field)
    return f"pooling on {tiles} tiles: batch / {batch}, channel groups / {groups}, field / {cut}"


def _vertex_cycles(work: Pool, parts: list[Integers], vectors: int, contexts: int) -> Integers:
    """Cycles of a tile: the slowest worker's, six times over."""
    batch, groups, *field = parts
    positions = np.multiply.reduce([batch, *field])
    share = -(-positions // contexts)
    rows = -(-share // field[-1])
    by_gradient = work.gradient and work.kind == "max"
    start, each = _SWEEP["max gradient" if by_gradient else work.kind]
    # in a gradient, zeros between the outputs are skipped
    stride = work.stride[-1] if work.gradient else 1
    sweeps = groups * (vectors * start + 6)
    swept = -(-share // stride) * groups * vectors * each
    # and so are the rows of the kernel that meet none
    outer = zip(work.kernel[:-1], work.stride[:-1], strict=True)
    kernel = work.kernel[-1] * math.prod(-(-k // s) if work.gradient else k for k, s in outer)
    first = _WORKER_CYCLES + (_GRADIENT_CYCLES if by_gradient else 0) + groups * (4 + share)
    worker = first + rows * (_ROW_CYCLES + kernel * (_KERNEL_POSITION_CYCLES + sweeps)) + kernel * swept
    return np.asarray(_SUPERVISOR_CYCLES + contexts * worker)


def _input_bytes(work: Pool, parts: list[Integers], group: int) -> Integers:
    """Bytes that a tile needs for its part; all of them are taken to come from elsewhere."""
    batch, groups, *field = parts
    channels = batch * groups * group * item_bytes(work.dtype)
    written = np.multiply.reduce(field)
    if work.gradient:
        # outputs whose windows touch the part: their gradients, and for a maximum their values as well
        windows = [(f + k - 2) // s + 1 for f, k, s in zip(field, work.kernel, work.stride, strict=True)]
        read = np.multiply.reduce(windows)
        return np.asarray(channels * (2 * read + written if work.kind == "max" else read))
    windows = [(f - 1) * s + k for f, k, s in zip(field, work.kernel, work.stride, strict=True)]
    return np.asarray(channels * np.multiply.reduce(windows))
