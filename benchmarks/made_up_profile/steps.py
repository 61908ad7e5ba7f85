"""Execution steps of the runs, in lanes."""

from __future__ import annotations

from typing import Any

import numpy as np

from tremula.profile import ProfileWriter, model
from tremula.profile.program_types import ProgramType
from tremula.profile.pyramids import LaneSteps, step_pyramid

from .plans import Plans
from .programs import LEAVES, Nodes
from .scale import CLOCK_HZ, RUNS, SUPERSTEPS, TILES, Scale


def add_steps(writer: ProfileWriter, scale: Scale, plans: Plans, nodes: Nodes) -> None:
    """An upload and two runs, each with the same number of steps on every IPU."""
    clock = 1e6 / CLOCK_HZ
    upload = 5_000_000
    lane = 0
    for ipu in range(scale.ipus):
        types = np.array([ProgramType.StreamCopyBegin, ProgramType.StreamCopyMid, ProgramType.StreamCopyEnd])
        cycles = np.array([0, upload, 0])
        lane = _lane(
            writer, lane, 0, ipu, {"type": types, "cycles": cycles, "program": nodes.upload + np.arange(3)}
        )
    writer.add(
        model.Run(
            0, "weights to the device", "upload", 0.0, upload * clock, upload, 3 * scale.ipus, "made up"
        )
    )
    per_lane = scale.steps // RUNS // scale.ipus
    built = [_lane_columns(scale, ipu, per_lane, plans, nodes) for ipu in range(scale.ipus)]
    longest = max(int(columns["cycles"].sum()) for columns in built) + 1_000
    for columns in built:  # all end together
        columns["cycles"][-1] += longest - int(columns["cycles"].sum())
    start = upload * clock
    for run in range(1, RUNS + 1):
        for ipu, columns in enumerate(built):
            lane = _lane(writer, lane, run, ipu, columns)
        writer.add(
            model.Run(
                run, f"training {run}", "step", start, start + longest * clock, longest, per_lane * scale.ipus,
                "made up",
            )
        )  # fmt: skip
        start += longest * clock


def _lane_columns(scale: Scale, ipu: int, count: int, plans: Plans, nodes: Nodes) -> dict[str, Any]:
    """Ops of an IPU in turns, a copy after each turn, a wait at the end."""
    ops = np.flatnonzero(np.array([scale.ipu_of(op) for op in range(scale.ops)]) == ipu)
    per_op = len(LEAVES) * SUPERSTEPS
    room = (count - 1) // per_op
    taken = np.resize(ops, room)
    plan = plans.of_op[taken]
    cycles = np.stack([plans.sync[plan], plans.exchange[plan], plans.compute[plan]], axis=2).reshape(-1)
    means = np.zeros((room, SUPERSTEPS, 3))
    means[:, :, 2] = plans.compute[plan] * plans.balance[plan]
    active = np.repeat(plans.tiles[plan].reshape(-1), 3)
    within = np.tile(np.arange(per_op), room)
    sets = np.where(within % 3 == 2, np.repeat(taken, per_op) * SUPERSTEPS + within // 3, -1)
    rest = count - room * per_op
    pad = np.full(rest, -1)
    types = np.concatenate([np.tile([int(each[0]) for each in LEAVES], room * SUPERSTEPS), np.full(rest, 9)])
    types[-1] = ProgramType.Sync
    return {
        "type": types,
        "cycles": np.concatenate([cycles, np.full(rest, 100)]).astype(np.int64),
        "program": np.concatenate([np.repeat(nodes.leaf[taken], per_op) + within, np.full(rest, nodes.copy)]),
        "op_id": np.concatenate([np.repeat(taken, per_op), pad]),
        "compute_set": np.concatenate([sets, pad]),
        "mean_tile_cycles": np.concatenate([means.reshape(-1), np.zeros(rest)]),
        "active_tiles": np.concatenate([active, np.full(rest, TILES)]),
        "micro_batch": np.concatenate([np.repeat(np.arange(room) * 8 // max(1, room), per_op), pad]),
        "stage": np.concatenate([np.repeat(taken * 2 * scale.ipus // scale.ops, per_op), pad]),
    }


def _lane(writer: ProfileWriter, lane: int, run: int, ipu: int, columns: dict[str, Any]) -> int:
    frame = writer.frame("steps")
    first, cycles = frame.rows, columns["cycles"]
    starts = np.cumsum(cycles) - cycles
    rest = {
        "op_id": -1, "compute_set": -1, "mean_tile_cycles": np.zeros(len(cycles)), "active_tiles": TILES, "bytes_in": 0,
        "bytes_out": 0, "micro_batch": -1, "stage": -1,
    }  # fmt: skip
    whole = {**rest, **columns, "run": run, "ipu": ipu, "start": starts}
    frame.add(whole)
    writer.frame("lanes").add(
        {"run": run, "ipu": ipu, "first_step": first, "steps": len(cycles), "cycles": int(cycles.sum())}
    )
    for level in step_pyramid(
        lane, first, LaneSteps(columns["type"], starts, cycles, whole["mean_tile_cycles"])
    ):
        writer.frame("pyramid").add(level)
    return lane + 1
