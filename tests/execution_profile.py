"""A profile with recorded runs that are made up: a pipeline whose steps are drawn at random, or named by a list."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tremula.profile import Profile, ProfileWriter, model
from tremula.profile.frames import FRAMES
from tremula.profile.program_types import ProgramType
from tremula.profile.pyramids import LaneSteps, step_pyramid
from tremula.profile.schema import META, TABLES

_SUPERSTEP = (ProgramType.Sync, ProgramType.DoExchange, ProgramType.OnTileExecute)
_REPLACED = ("steps", "lanes", "pyramid", "programs", "compute_sets")


def write(
    source: Path,
    target: Path,
    *,
    ipus: int = 2,
    batches: int = 4,
    supersteps: int = 30,
    names: Sequence[str] = (),
) -> Path:
    """Copy a profile and give it a run in which `ipus` IPUs work on micro-batches one after the other; 0: no run."""
    chance = random.Random(7)
    names = names or [f"net.layer{n}/mm{n}/Convolve" for n in range(40)]
    with Profile(source) as profile, ProfileWriter(target) as writer:
        for table in TABLES.values():
            if table is not META and table.row not in (model.Run, model.ColumnChunk):
                writer.extend(profile.rows(table.row))
        for name in FRAMES:
            frame = profile.frame(name)
            if name not in _REPLACED and len(frame):
                writer.frame(name).add({column: frame.column(column) for column in frame.columns})
        ops = max(1, len(profile.ops))
        ipus = min(ipus, len(profile.ipus))
        count = len(names)
        writer.frame("compute_sets").add(
            {"name": list(names), "op_id": [n % ops for n in range(count)], "plan_id": -1, "superstep": 0,
             "vertices": 1472, "cycles": 1000.0}
        )  # fmt: skip
        writer.frame("programs").add(
            {"parent": [-1, *([0] * count)], "type": [1, *([7] * count)], "kind": ["step", *(["leaf"] * count)],
             "name": ["step", *names], "repeats": 1, "cycles": 1000.0, "op_id": [-1, *(n % ops for n in range(count))],
             "compute_set": [-1, *range(count)], "context": -1, "code_bytes": 0}
        )  # fmt: skip
        if not ipus:
            return target
        lanes = [_lane(chance, ipu, ipus, batches, supersteps, count, ops) for ipu in range(ipus)]
        total = max(int(lane["start"][-1] + lane["cycles"][-1]) for lane in lanes)
        first = 0
        for ipu, lane in enumerate(lanes):
            lane["cycles"][-1] += total - int(lane["start"][-1] + lane["cycles"][-1])
            steps = len(lane["start"])
            writer.frame("steps").add({"run": 0, "ipu": ipu, **lane})
            writer.frame("lanes").add(
                {"run": 0, "ipu": ipu, "first_step": first, "steps": steps, "cycles": total}
            )
            arrays = LaneSteps(lane["type"], lane["start"], lane["cycles"], lane["mean_tile_cycles"])
            for level in step_pyramid(ipu, first, arrays):
                writer.frame("pyramid").add(level)
            first += steps
        writer.add(model.Run(0, "step", "step", 0.0, total / 1.35e3, total, first, ""))
    return target


def _lane(
    chance: random.Random, ipu: int, ipus: int, batches: int, supersteps: int, names: int, ops: int
) -> dict[str, Any]:
    rows: list[tuple[int, ...]] = [(int(ProgramType.StreamCopyMid), -1, -1, 4_000, 0, 4096, 0, -1, -1)]
    turn = supersteps * 1_500
    for batch in range(batches):
        wait = turn * (ipu + batch) + 4_000 - sum(row[3] for row in rows)
        if wait > 0:
            rows.append((int(ProgramType.Sync), -1, -1, wait, 0, 0, 0, -1, -1))
        for step in range(supersteps):
            name = step % names
            for kind in _SUPERSTEP:
                cycles = {7: chance.randint(500, 900), 8: chance.randint(100, 300)}.get(int(kind), 40)
                rows.append(
                    (
                        int(kind),
                        1 + name,
                        name if kind == 7 else -1,
                        cycles,
                        1472 if kind == 7 else 0,
                        0,
                        0,
                        batch,
                        ipu,
                    )
                )
        if ipu < ipus - 1:
            rows.append((int(ProgramType.GlobalExchange), -1, -1, 700, 0, 0, 8192, batch, ipu))
    rows.append((int(ProgramType.Sync), -1, -1, 100, 0, 0, 0, -1, -1))
    table = np.array(rows, dtype=np.int64)
    kinds, program, sets, cycles, tiles, into, out, batch, stage = table.T.copy()
    return {
        "type": kinds, "program": program, "op_id": np.where(sets >= 0, sets % ops, -1), "compute_set": sets,
        "start": np.cumsum(cycles) - cycles, "cycles": cycles,
        "mean_tile_cycles": np.where(kinds == 7, cycles * 0.8, 0.0), "active_tiles": tiles, "bytes_in": into,
        "bytes_out": out, "micro_batch": batch, "stage": stage,
    }  # fmt: skip
