"""From the plan that a search took to a cost: its supersteps, its bytes, and the reasons in words."""

from __future__ import annotations

import math

from tremula.plan.conv_exchange import exchange_code
from tremula.plan.conv_grid import Target
from tremula.plan.conv_search import Chosen, Found
from tremula.plan.conv_shape import ConvShape
from tremula.plan.cost import Alternative, Bytes, Cost, Superstep, Why
from tremula.plan.vertices.reduce import CAST_CODE_BYTES, REDUCE_CODE_BYTES, SLICE_CODE_BYTES

#: of the order of what popliner lists for the matmuls of BERT-large: 58 bytes of state, 71 of control code per tile
STATE_BYTES = 56
STATE_BYTES_PER_STAGE = 24
#: a worker's list of pieces for one kernel position: three half words each, six workers
LIST_BYTES_PER_POSITION = 36
CONTROL_BYTES_PER_SUPERSTEP = 24
#: vertices that copy operands in small pieces
COPY_CODE_BYTES = 400

FORMULA = (
    "times x (slice + rearrange + exchange + vertex + reduce + update) + what happens once; "
    "exchange: bytes received / bytes per cycle, inputs at twice that where tiles share a bus"
)
SOURCE = "PopLibs ConvModel.cpp, PerformanceEstimation.hpp, ConvPlan.cpp"


def _axis(name: str, parts: int) -> str:
    return f"{parts} {name}" if parts > 1 else ""


def plan_in_words(chosen: Chosen) -> str:
    """The vertex, the rewriting and the split."""
    f, h = chosen.splits
    fields, channels = chosen.candidates.grid.fields, chosen.candidates.grid.channels
    parts = [_axis("batch", int(fields.batch[f]))]
    field = [int(axis[f]) for axis in fields.field]
    if math.prod(field) > 1:
        parts.append(" x ".join(str(p) for p in field) + " field" if sum(p > 1 for p in field) > 1 else "")
        if not parts[-1]:
            parts[-1] = f"{max(field)} field"
    parts.append(_axis("kernel", math.prod(int(axis[h]) for axis in channels.kernel)))
    parts.append(_axis("in", int(channels.ins[h])))
    parts.append(_axis("out", int(channels.outs[h])))
    parts.append(_axis("groups", int(channels.groups[h])))
    split = " x ".join(part for part in parts if part) or "undivided"
    times = ""
    if channels.ins_serial[h] > 1:
        times = f", input channels in {int(channels.ins_serial[h])} turns"
    if channels.outs_serial[h] > 1:
        times = f", output channels in {int(channels.outs_serial[h])} turns"
    return f"{chosen.job.label}: {split} on {chosen.tiles} tiles{times}"


def balance_of(chosen: Chosen) -> float:
    """Mean share of the work over the largest: what rounding to whole parts and groups leaves."""
    f, h = chosen.splits
    fields, channels = chosen.candidates.grid.fields, chosen.candidates.grid.channels
    shape, kind = chosen.job.way.shape, chosen.job.kind
    result = 1.0
    axes: list[tuple[int, int]] = [(shape.batch, int(fields.batch[f]))]
    axes += [(d.out, int(p[f])) for d, p in zip(shape.dimensions, fields.field, strict=True)]
    axes += [(d.kernel, int(p[h])) for d, p in zip(shape.dimensions, channels.kernel, strict=True)]
    axes.append((-(-shape.in_channels // kind.in_channels), int(channels.ins[h] * channels.ins_serial[h])))
    axes.append(
        (-(-shape.out_channels // kind.out_channels), int(channels.outs[h] * channels.outs_serial[h]))
    )
    axes.append((-(-shape.groups // kind.conv_groups), int(channels.groups[h])))
    for extent, parts in axes:
        result *= extent / (parts * -(-extent // parts))
    return result


def supersteps_of(chosen: Chosen, target: Target, useful_macs: float) -> tuple[Superstep, ...]:
    """In the order in which they run."""
    c, i, chip = chosen.candidates, chosen.index, target.chip
    moved, loop = c.moves, c.turns
    tiles, times = chosen.tiles, chosen.times
    even = balance_of(chosen)

    def step(
        name: str, compute: float, exchange: float | None, repeats: int = times, flops: float = 0.0
    ) -> Superstep:
        return Superstep(
            name,
            compute_cycles=float(compute),
            exchange_cycles=0.0 if exchange is None else float(exchange) + chip.exchange_latency_cycles,
            sync_cycles=chip.sync_cycles,
            tiles=tiles,
            balance=even if flops else 1.0,
            repeats=repeats,
            flops=flops,
        )

    steps = []
    once_copy = moved.once_copy[i] + loop.once_copy[i]
    once_exchange = moved.once_exchange[i] + loop.once_exchange[i] + c.once_exchange[i]
    if once_copy + once_exchange > 0:
        steps.append(step("rearrange once", once_copy, once_exchange, 1))
    if loop.slices[i] > 0:
        steps.append(step("slice", loop.slices[i], None))
    if moved.exchange[i] > 0:
        steps.append(step("rearrange operands", moved.copy[i], moved.exchange[i]))
    steps.append(
        step("multiply", c.vertex[i], c.exchange[i] + c.zeros.cycles[i], flops=2.0 * useful_macs / times)
    )
    for number, (compute, received) in enumerate(zip(c.reduced.compute, c.reduced.exchange, strict=True)):
        if compute[i] > 0:
            name = "reduce" if c.reduced.stages[i] == 1 else f"reduce, stage {number + 1}"
            steps.append(step(name, compute[i], received[i]))
    if c.reduced.cast[i] > 0:
        steps.append(step("cast", c.reduced.cast[i], None))
    if loop.update[i] > 0:
        steps.append(step("update", loop.update[i], None))
    if moved.out_copy[i] > 0:
        sent = float(moved.out_exchange[i])
        steps.append(step("rearrange output", moved.out_copy[i], sent if sent > 0 else None))
    if loop.cast[i] > 0:
        steps.append(step("cast output", loop.cast[i], None, 1))
    return tuple(steps)


def bytes_of(chosen: Chosen, target: Target, steps: int) -> Bytes:
    """Temporaries, code and state on a tile."""
    c, i = chosen.candidates, chosen.index
    stages = int(c.reduced.stages[i])
    moved, e, channel = c.moves, c.elements, chosen.splits[1]
    positions = float(c.grid.held.kernel[channel])
    fragments = min(e.sharers[i] - 1, e.inputs[i]) + min(e.holders[i] - 1, e.weights[i])
    fragments += c.grid.held.depth[channel] - 1
    code = chosen.job.kind.code_bytes
    code += REDUCE_CODE_BYTES if stages else 0
    code += CAST_CODE_BYTES if c.reduced.cast[i] + c.turns.cast[i] > 0 else 0
    code += SLICE_CODE_BYTES if chosen.times > 1 else 0
    code += COPY_CODE_BYTES if moved.copy[i] + moved.once_copy[i] + moved.out_copy[i] > 0 else 0
    state = STATE_BYTES + STATE_BYTES_PER_STAGE * stages
    state += round(LIST_BYTES_PER_POSITION * positions) if positions > 1 else 0
    return Bytes(
        temporary=chosen.bytes,
        vertex_code=code,
        vertex_state=state,
        exchange_code=exchange_code(float(fragments), target.chip),
        control_code=CONTROL_BYTES_PER_SUPERSTEP * steps,
    )


def _alternatives(found: Found) -> tuple[Alternative, ...]:
    best = found.best
    listed = []
    if found.too_big is not None:
        over = found.too_big
        listed.append(
            Alternative(
                plan_in_words(over), over.cycles,
                f"needs {over.bytes:,} temporary bytes on a tile, {int(found.bound):,} are allowed",
            )
        )  # fmt: skip
    listed += [
        Alternative(plan_in_words(other), other.cycles, f"{other.cycles / best.cycles:.2f} times the cycles")
        for other in found.others
    ]
    listed += [
        Alternative(job.label, job.least, "not searched: cannot be below these cycles")
        for job in found.pruned
    ]
    return tuple(listed)


def cost_of(found: Found, target: Target, shape: ConvShape) -> Cost:
    """The cost of the plan taken, with its reasons."""
    best = found.best
    c, i = best.candidates, best.index
    macs = shape.useful_macs
    steps = supersteps_of(best, target, macs)
    words = plan_in_words(best)
    if found.relaxed is None:
        words += "; nothing fits the memory allowed, nor four times the tile's: the fastest plan was taken"
    elif found.relaxed:
        words += f"; nothing fits the memory allowed, which was doubled {found.relaxed} times"
    figures = {
        "temporary bytes": float(best.bytes),
        "allowed bytes": float(found.bound),
        "vertex cycles": float(c.vertex[i]),
        "exchange cycles": float(c.exchange[i]),
        "turns": float(best.times),
        "balance": balance_of(best),
        "plans tried": float(found.tried),
        "multiply-accumulates": macs,
        "inputs on a tile": float(c.elements.inputs[i]),
        "weights on a tile": float(c.elements.weights[i]),
        "partial sums on a tile": float(c.elements.partial_sums[i]),
        "points on a tile": float(c.elements.points[i]),
    }
    why = Why(plan=words, formula=FORMULA, source=SOURCE, figures=figures, alternatives=_alternatives(found))
    return Cost(steps, bytes_of(best, target, len(steps)), why)
