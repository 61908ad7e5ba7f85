"""What a page in one file holds: the answers that its views ask for, everything of a small report, less of a large one.

A page is meant to be mailed and opened, so its size is bounded: the largest ops, variables and nodes of the program
are kept, and reasons of the largest ops as far as there is room. What was left out is said on the page; `tremula view
--serve` shows everything.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.formatting import counted
from tremula.profile import Profile
from tremula.view.endpoints import answer, frame_answer
from tremula.view.execution_data import execution_data
from tremula.view.frame_answers import selected_rows
from tremula.view.memory_answers import MOST_POINTS
from tremula.view.packed import packed_numbers
from tremula.view.text import clean

#: what a page keeps of each report
MOST_OPS = 5_000
MOST_NODES = 30_000
MOST_VARIABLES = 12_000
MOST_COMPUTE_SETS = 12_000
MOST_IPUS = 64
#: IPUs with bytes on each tile by use and by module
MOST_TILED = 16
MOST_STEPS = 12_000
_POINTS = 48_000
_LEAST_POINTS = 700
_REASON_CHARACTERS = 600_000

#: columns of each frame that views read
OP_COLUMNS = (
    "id", "name", "target", "phase", "module", "source", "source_function", "ipu", "stage", "runs", "merged",
    "compute_cycles", "exchange_cycles", "sync_cycles", "cycles", "flops", "temporary_bytes", "code_bytes", "plan_id",
    "unknown",
)  # fmt: skip
VARIABLE_COLUMNS = (
    "id", "name", "module", "category", "ipu", "bytes", "always_live", "first_step", "last_step", "op_id", "first_tile",
    "tiles", "tile_bytes",
)  # fmt: skip
PROGRAM_COLUMNS = (
    "id", "parent", "type_name", "kind", "name", "repeats", "cycles", "op_id", "compute_set", "code_bytes", "children",
)  # fmt: skip
COMPUTE_SET_COLUMNS = ("id", "name", "op_id", "plan_id", "superstep", "vertices", "cycles")

Rows = NDArray[np.int64]


def page_data(
    profiles: Sequence[Profile], names: Sequence[str] = (), *, compare: bool = False
) -> dict[str, Any]:
    """All that a page needs; with `compare`, the second report is compared with the first from the start."""
    answers: dict[str, Any] = {}
    frames: dict[str, Any] = {}
    for number, profile in enumerate(profiles):
        for what, params in _questions(profile):
            answers[f"{number}/{address(what, params)}"] = answer(profile, what, params)
        shown = min(MOST_IPUS, len(profile.ipus))
        for ipu in range(shown):  # as many points as all IPUs together may have
            asked = {"ipu": str(ipu), "points": str(min(MOST_POINTS, max(_LEAST_POINTS, _POINTS // shown)))}
            answers[f"{number}/liveness?ipu={ipu}"] = answer(profile, "liveness", asked)
        answers.update((f"{number}/{key}", value) for key, value in _reasons(profile).items())
        frames.update((f"{number}/{name}", value) for name, value in _frames(profile).items())
        recorded, lanes = execution_data(profile)
        answers.update((f"{number}/{key}", value) for key, value in recorded.items())
        frames.update((f"{number}/{name}", value) for name, value in lanes.items())
        answers[f"{number}/summary"]["notes"] += _left_out(number, frames)
    return {
        "reports": [report_info(profile, number, names) for number, profile in enumerate(profiles)],
        "compared": "1" if compare and len(profiles) > 1 else "",
        "answers": answers,
        "frames": frames,
    }


def report_info(profile: Profile, number: int, names: Sequence[str] = ()) -> dict[str, str]:
    """What the header says of a report."""
    name = names[number] if number < len(names) else f"{profile.path.parent.name}/{profile.path.name}"
    return {"id": str(number), "name": clean(name, 80), "title": report_title(profile), "kind": "profile"}


def report_title(profile: Profile) -> str:
    """What was modelled, in a few words."""
    target = profile.target
    return f"{clean(target.title, 60)}, {counted(target.replicas * target.ipus_per_replica, 'IPU')}, modelled"


def address(what: str, params: Mapping[str, str]) -> str:
    """A question as the key of its answer: parameters in the order of their names."""
    return what + ("?" + "&".join(f"{name}={params[name]}" for name in sorted(params)) if params else "")


def _questions(profile: Profile) -> list[tuple[str, dict[str, str]]]:
    found: list[tuple[str, dict[str, str]]] = [
        (what, {}) for what in ("summary", "work", "insights", "pipeline", "modules", "tile_map")
    ]
    shown = range(min(MOST_IPUS, len(profile.ipus)))
    if not len(
        profile.frame("variables")
    ):  # of an earlier version: the largest tensors of the fullest moments
        found += [("alive", {"ipu": str(ipu), "step": str(profile.ipus[ipu].peak_step)}) for ipu in shown]
    for ipu in range(min(MOST_TILED, len(profile.ipus))):
        found.append(("tiles", {"ipu": str(ipu)}))
        found.append(("tiles", {"ipu": str(ipu), "by": "layer"}))
    return found


def _frames(profile: Profile) -> dict[str, Any]:
    ops = np.asarray([op.cycles for op in profile.ops], dtype=np.float64)
    variables, sets = profile.frame("variables"), profile.frame("compute_sets")
    found = {
        "ops": selected_rows(profile, "ops", OP_COLUMNS, _largest(ops, MOST_OPS)),
        "programs": selected_rows(profile, "programs", PROGRAM_COLUMNS, _nodes(profile)),
        "variables": selected_rows(
            profile, "variables", VARIABLE_COLUMNS, _largest(variables.column("bytes"), MOST_VARIABLES)
        ),
        "compute_sets": selected_rows(
            profile, "compute_sets", COMPUTE_SET_COLUMNS, _largest(sets.column("cycles"), MOST_COMPUTE_SETS)
        ),
        "vertices": frame_answer(
            profile, "vertices", ("plan_id", "superstep", "vertex_type", "count", "tiles"), 0, 20_000
        ),
        "vertex_types": frame_answer(
            profile, "vertex_types", ("id", "name", "code_bytes", "state_bytes"), 0, 5_000
        ),
    }
    steps = profile.program_steps[0]
    if len(steps) <= 4 * MOST_STEPS:
        found["program_steps"] = {
            "first": 0, "rows": len(steps), "total": len(steps), "columns": {"op_id": packed_numbers(steps)},
        }  # fmt: skip
    return found


def _largest(sizes: NDArray[Any], most: int) -> list[int]:
    """The rows with the largest sizes, in the order of the rows."""
    kept: Rows = np.argsort(-sizes, kind="stable")[:most]
    rows: list[int] = np.sort(kept).tolist()
    return rows


def _nodes(profile: Profile) -> list[int]:
    """Nodes of the program: those near the root, and of the deepest level that has room those with most cycles."""
    frame = profile.frame("programs")
    parents, cycles = frame.column("parent"), frame.column("cycles")
    if len(parents) <= MOST_NODES:
        return list(range(len(parents)))
    depth = np.zeros(len(parents), dtype=np.int64)
    for row, parent in enumerate(parents.tolist()):
        depth[row] = depth[parent] + 1 if parent >= 0 else 0
    # level by level: the parent of a node that is kept is kept too
    rows: list[int] = np.sort(np.lexsort((-cycles, depth))[:MOST_NODES]).tolist()
    return rows


def _reasons(profile: Profile) -> dict[str, Any]:
    """Reasons of the plans of the largest ops, as many as have room."""
    found: dict[str, Any] = {}
    room = _REASON_CHARACTERS
    for op in sorted(profile.ops, key=lambda op: -op.cycles)[:MOST_OPS]:
        key = address("reason", {"plan": str(op.plan_id)})
        if op.plan_id < 0 or key in found:
            continue
        entry = answer(profile, "reason", {"plan": str(op.plan_id)})
        room -= len(json.dumps(entry))
        if room < 0:
            break
        found[key] = entry
    return found


def _left_out(number: int, frames: Mapping[str, Any]) -> list[str]:
    words = {
        "ops": "ops",
        "programs": "nodes of the program",
        "variables": "variables",
        "compute_sets": "compute sets",
    }
    found = []
    for name, word in words.items():
        frame = frames[f"{number}/{name}"]
        if frame["rows"] < frame["total"]:
            found.append(f"this page contains the largest {frame['rows']:,} of {frame['total']:,} {word}")
    return found
