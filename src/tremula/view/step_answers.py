"""Answers about steps of recorded runs: those in a selection, those that a search finds, one step in detail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tremula.errors import Error
from tremula.profile import Profile
from tremula.profile.program_types import ProgramType
from tremula.view.lanes import MOST_LANES, Lane, Mask, default_run, kind_masks, lanes, steps_of
from tremula.view.packed import LONGEST
from tremula.view.parameters import Parameters

#: what an answer holds at most
MOST_ROWS = 200
MOST_FOUND = 2_000

#: fields of an op that a step shows
_OF_OP = ("name", "target", "phase", "module", "source_file", "source_line", "source_function", "plan_id")


def selection_answer(profile: Profile, params: Parameters) -> dict[str, Any]:
    """What happens from one cycle of a run to another on some of its lanes: by kind, and by op, the largest first."""
    low, high = params.integer("start", 0), params.integer("end")
    if high < low:
        raise Error(f"The end, {high:,}, is before the start, {low:,}.", type="view_error")
    wanted = _numbers(params.text("lanes"))
    by_op: dict[int, list[float]] = {}
    shown = lanes(profile, params.integer("run", default_run(profile)))[:MOST_LANES]
    rows = [
        _selected(profile, lane, low, high, by_op)
        for lane in shown
        if wanted is None or lane.number in wanted
    ]
    ranked = sorted(by_op.items(), key=lambda item: -item[1][0])
    ops = []
    for number, values in ranked[:MOST_ROWS]:
        op = _op(profile, number, "name", "module")
        ops.append([number, op.get("name", "(no op)"), op.get("module", ""), *values])
    return {"start": low, "end": high, "lanes": rows, "ops": ops, "ops_total": len(ranked)}


def _selected(
    profile: Profile, lane: Lane, low: int, high: int, by_op: dict[int, list[float]]
) -> dict[str, Any]:
    read = steps_of(profile, lane)
    start, cycles = read("start"), read("cycles")
    first = int(np.searchsorted(start + cycles, low, side="right"))
    last = max(first, int(np.searchsorted(start, high, side="left")))
    part = slice(first, last)
    inside = np.maximum(0, np.minimum(start[part] + cycles[part], high) - np.maximum(start[part], low))
    masks = kind_masks(read("type")[part])
    computes = masks["compute"]
    whole = np.maximum(1, cycles[part])
    share = inside / whole
    mean = read("mean_tile_cycles")[part] * share
    op, waits = read("op_id")[part], masks["sync"]
    if last > first:
        numbers, at = np.unique(op, return_inverse=True)
        columns = [
            np.bincount(at, weights=values, minlength=len(numbers))
            for values in (inside * ~waits, inside * computes, mean * computes, np.ones(len(at)))
        ]
        for place, number in enumerate(numbers.tolist()):
            total = by_op.setdefault(int(number), [0.0] * len(columns))
            for column, values in enumerate(columns):
                total[column] += float(values[place])
    return {
        "lane": lane.number,
        "ipu": lane.ipu,
        "steps": last - first,
        "cycles": int(inside.sum()),
        **{name: int(inside[mask].sum()) for name, mask in masks.items()},
        "mean_tile_cycles": float(mean[computes].sum()),
        "bytes_in": float((read("bytes_in")[part] * share).sum()),
        "bytes_out": float((read("bytes_out")[part] * share).sum()),
    }


def _numbers(text: str) -> frozenset[int] | None:
    """`0,3,5`; None for all."""
    if not text:
        return None
    words = text.split(",")
    if not all(word.isascii() and word.isdigit() and len(word) <= 9 for word in words):
        raise Error("The lanes must be whole numbers, separated by commas.", type="view_error")
    return frozenset(int(word) for word in words)


def search_answer(profile: Profile, params: Parameters) -> dict[str, Any]:
    """Steps of a run whose program, op or compute set has a text in its name, in the order of time."""
    text = params.text("text").lower()
    run = params.integer("run", default_run(profile))
    rows: list[tuple[int, int, int, int]] = []
    total = 0
    if text:
        wanted = {
            "program": _containing(profile.frame("programs").column("name"), text),
            "compute_set": _containing(profile.frame("compute_sets").column("name"), text),
            "op_id": _containing(profile.frame("ops").column("name"), text),
        }
        for lane in lanes(profile, run)[:MOST_LANES]:
            found = _found(profile, lane, wanted)
            total += len(found)
            read = steps_of(profile, lane)
            start, cycles = read("start"), read("cycles")
            rows += [
                (lane.number, lane.first + at, int(start[at]), int(cycles[at])) for at in found[:MOST_FOUND]
            ]
        rows.sort(key=lambda row: row[2])
    return {
        "text": text,
        "total": total,
        "steps": [[*row, step_name(profile, row[1])] for row in rows[:MOST_FOUND]],
    }


def _containing(names: Sequence[str], text: str) -> Mask:
    """Which names hold a text, without regard to capital letters."""
    return np.fromiter((text in name.lower() for name in names), dtype=np.bool_, count=len(names))


def _found(profile: Profile, lane: Lane, wanted: Mapping[str, Mask]) -> list[int]:
    read = steps_of(profile, lane)
    hit = np.zeros(lane.steps, dtype=np.bool_)
    for column, mask in wanted.items():
        if mask.any():
            number = read(column)
            known = (number >= 0) & (number < len(mask))
            hit[known] |= mask[number[known]]
    found: list[int] = np.flatnonzero(hit).tolist()
    return found


def step_name(profile: Profile, step: int) -> str:
    """What a step is called: its compute set, or its program."""
    steps = profile.frame("steps")
    for name, column in (("compute_sets", "compute_set"), ("programs", "program")):
        frame, number = profile.frame(name), int(steps.window(column, step, 1)[0])
        if 0 <= number < len(frame):
            return str(frame.window("name", number, 1)[0])[:LONGEST]
    return ""


def step_answer(profile: Profile, params: Parameters) -> dict[str, Any]:
    """One step: where it stands in the program, its op, module and line, compute set, tiles, balance and plan."""
    frame = profile.frame("steps")
    number = params.integer("step")
    if number >= len(frame):
        raise Error(f"There is no step {number:,}.", type="view_error")
    step = {name: frame.window(name, number, 1)[0] for name in frame.columns}
    values = {
        name: float(value) if name == "mean_tile_cycles" else int(value) for name, value in step.items()
    }
    found: dict[str, Any] = {
        "step": number,
        "type_name": _type_name(int(values["type"])),
        **values,
        "path": _path(profile, int(values["program"])),
        "compute_set_name": "",
        "vertices": 0,
        "plan": -1,
    }
    sets = profile.frame("compute_sets")
    of_set = int(values["compute_set"])
    if 0 <= of_set < len(sets):
        found["compute_set_name"] = str(sets.window("name", of_set, 1)[0])[:LONGEST]
        found["vertices"] = int(sets.window("vertices", of_set, 1)[0])
        found["plan"] = int(sets.window("plan_id", of_set, 1)[0])
    op = _op(profile, int(values["op_id"]), *_OF_OP)
    if op:
        file, line, function = (op.pop(f"source_{part}") for part in ("file", "line", "function"))
        plan = op.pop("plan_id")
        found["op"] = {**op, "source": f"{file}:{line}" if file else "", "function": function}
        found["plan"] = plan if found["plan"] < 0 else found["plan"]
    if 0 <= found["plan"] < len(profile.plans):
        reason = profile.reason(profile.plans[found["plan"]])
        found["why"] = {"plan": reason.plan[:600], "formula": reason.formula[:600]}
    return found


def _op(profile: Profile, number: int, *columns: str) -> dict[str, Any]:
    """Some fields of an op; nothing if there is no such op."""
    frame = profile.frame("ops")
    if not 0 <= number < len(frame):
        return {}
    values = {name: frame.window(name, number, 1)[0] for name in columns}
    return {name: value[:LONGEST] if isinstance(value, str) else int(value) for name, value in values.items()}


def _type_name(number: int) -> str:
    return ProgramType(number).name if number in ProgramType.__members__.values() else "Unknown"


def _path(profile: Profile, program: int) -> list[list[Any]]:
    """Number and name of a program and those around it, outermost first."""
    frame = profile.frame("programs")
    parents = frame.column("parent")
    found: list[list[Any]] = []
    while 0 <= program < len(frame) and len(found) < 64:
        found.append([program, str(frame.window("name", program, 1)[0])[:LONGEST]])
        program = int(parents[program])
    return found[::-1]
