"""Answers about the recorded runs: what each IPU does when, where a run's cycles and bytes go, one step in detail.

All figures are modelled. Cycles count from the start of a run; the steps of one IPU follow each other without a hole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.errors import Error
from tremula.profile import Profile
from tremula.profile.program_types import COMPUTE, CONTROL, EXCHANGE, STREAM, ProgramType
from tremula.view.packed import LONGEST, packed_numbers
from tremula.view.parameters import Parameters

#: what an answer holds at most
MOST_LANES = 1_024
MOST_SPANS = 60_000
MOST_ROWS = 200
MOST_FOUND = 2_000

#: fields of an op that a step shows
_OF_OP = ("name", "target", "phase", "module", "source_file", "source_line", "source_function", "plan_id")

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

#: kinds of steps in the order in which pages draw them; the fourth is all that is none of the others
KINDS: Mapping[str, frozenset[ProgramType]] = {
    "compute": COMPUTE,
    "exchange": EXCHANGE - {ProgramType.GlobalExchange},
    "between_ipus": frozenset({ProgramType.GlobalExchange}),
    "stream": STREAM,
}


@dataclass(frozen=True)
class Lane:
    """The steps of one IPU in one run."""

    number: int
    run: int
    ipu: int
    first: int
    steps: int
    cycles: int


def lanes(profile: Profile, run: int | None = None) -> list[Lane]:
    """The lanes of a run, or of all."""
    frame = profile.frame("lanes")
    columns = [frame.column(name) for name in ("run", "ipu", "first_step", "steps", "cycles")]
    total = len(profile.frame("steps"))
    found = []
    for number, values in enumerate(zip(*columns, strict=True)):
        of_run, ipu, first, count, cycles = map(int, values)
        if run is None or of_run == run:
            found.append(
                Lane(number, of_run, ipu, first, max(0, min(count, total - max(0, first))), max(0, cycles))
            )
    return found


def kind_masks(types: Ints) -> dict[str, Mask]:
    """Which steps are of which kind; `sync` is what is none of the others."""
    masks: dict[str, Mask] = {
        name: np.isin(types, [int(each) for each in members]) for name, members in KINDS.items()
    }
    masks["sync"] = ~np.logical_or.reduce(list(masks.values()))
    return masks


def default_run(profile: Profile) -> int:
    """The run that is shown first: a step rather than the upload of the weights."""
    return next((run.id for run in profile.runs if run.kind == "step"), 0)


def execution_answer(profile: Profile, params: Parameters) -> dict[str, Any]:
    """The runs that were recorded, and of one of them the lanes with their cycles and bytes by kind."""
    runs = [
        {
            "id": run.id, "name": run.name[:LONGEST], "kind": run.kind[:40], "cycles": run.cycles, "steps": run.steps,
            "note": run.note[:LONGEST],
        }
        for run in profile.runs
    ]  # fmt: skip
    number = params.integer("run", default_run(profile))
    shown = lanes(profile, number)
    target = profile.target
    return {
        "modelled": True,
        "clock_hz": target.clock_hz,
        "tiles": target.tiles_per_ipu,
        "runs": runs,
        "run": number,
        "lanes": [_lane(profile, lane) for lane in shown[:MOST_LANES]],
        "lanes_total": len(shown),
        "steps_total": len(profile.frame("steps")),
        "pipelined": any(_is_staged(profile, lane) for lane in shown[:MOST_LANES]),
    }


def _lane(profile: Profile, lane: Lane) -> dict[str, Any]:
    read = _reader(profile, lane)
    cycles = read("cycles")
    masks = kind_masks(read("type"))
    mean, active = read("mean_tile_cycles"), read("active_tiles")
    bytes_in, bytes_out = read("bytes_in"), read("bytes_out")
    computes = masks["compute"]
    return {
        "lane": lane.number,
        "ipu": lane.ipu,
        "first_step": lane.first,
        "steps": lane.steps,
        "cycles": lane.cycles,
        **{name: int(cycles[mask].sum()) for name, mask in masks.items()},
        "mean_tile_cycles": float(mean[computes].sum()),
        "tile_cycles": float((mean[computes] * active[computes]).sum()),
        "stream_in": int(bytes_in[masks["stream"]].sum()),
        "stream_out": int(bytes_out[masks["stream"]].sum()),
        "ipus_in": int(bytes_in[masks["between_ipus"]].sum()),
        "ipus_out": int(bytes_out[masks["between_ipus"]].sum()),
    }


def _reader(profile: Profile, lane: Lane) -> Any:
    frame = profile.frame("steps")
    return lambda name: frame.window(name, lane.first, lane.steps)


def _is_staged(profile: Profile, lane: Lane) -> bool:
    return bool((_reader(profile, lane)("micro_batch") >= 0).any())


def stages_answer(profile: Profile, params: Parameters) -> dict[str, Any]:
    """The work of each IPU by pipeline stage and micro-batch: one span for steps of the same that follow each other.

    Waiting between the spans is the bubble; `busy` is what a span does besides waiting. Turns that the profile adds up
    are one span without stage and micro-batch.
    """
    run = params.integer("run", default_run(profile))
    parts: list[Ints] = []
    for lane in lanes(profile, run)[:MOST_LANES]:
        found = _spans(profile, lane)
        if len(found):
            parts.append(found)
    spans = np.concatenate(parts) if parts else np.zeros((0, 6), dtype=np.int64)
    kept = spans
    if len(spans) > MOST_SPANS:
        # the longest, in their order
        kept = spans[np.sort(np.argsort(spans[:, 3] - spans[:, 4], kind="stable")[:MOST_SPANS])]
    names = ("lane", "stage", "micro_batch", "start", "end", "busy")
    columns = {name: packed_numbers(kept[:, at]) for at, name in enumerate(names)}
    return {"run": run, "rows": len(kept), "total": len(spans), "columns": columns}


def _spans(profile: Profile, lane: Lane) -> Ints:
    """Rows of lane, stage, micro-batch, start, end, busy."""
    read = _reader(profile, lane)
    stage, batch, start, cycles = read("stage"), read("micro_batch"), read("start"), read("cycles")
    waits = kind_masks(read("type"))["sync"]
    summed = _summed(profile, read("program"))
    staged = np.flatnonzero(((stage >= 0) | (batch >= 0) | summed) & (cycles > 0))
    # waiting at either end of a span is not part of its work
    working = staged[~waits[staged]]
    if not len(working):
        return np.zeros((0, 6), dtype=np.int64)
    key = np.stack([stage[working], batch[working]])
    # another stage or micro-batch, or something without either between: a new span
    others = np.cumsum((stage < 0) & (batch < 0) & ~summed & ~waits & (cycles > 0))
    new = (key[:, 1:] != key[:, :-1]).any(axis=0) | (np.diff(others[working]) > 0)
    first = np.concatenate([[0], np.flatnonzero(new) + 1])
    last = np.concatenate([first[1:], [len(working)]]) - 1
    begin, end = start[working[first]], start[working[last]] + cycles[working[last]]
    # a sum has its waiting at its end
    after = np.append(start[np.flatnonzero(~waits & (cycles > 0))], start[-1] + cycles[-1])
    next_work = after[np.searchsorted(after, end)]
    end = np.where(summed[working[last]], next_work, end)
    busy = np.add.reduceat(cycles[working], first)
    number = np.full(len(first), lane.number)
    return np.stack([number, key[0][first], key[1][first], begin, end, busy], axis=1).astype(np.int64)


def _summed(profile: Profile, program: Ints) -> Mask:
    """Which steps stand for many: those of a program that only runs others."""
    kinds = np.asarray(profile.frame("programs").column("type"))
    known = (program >= 0) & (program < len(kinds))
    found: Mask = np.zeros(len(program), dtype=np.bool_)
    found[known] = np.isin(kinds[program[known]], [int(each) for each in CONTROL])
    return found


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
    read = _reader(profile, lane)
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
            read = _reader(profile, lane)
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
    read = _reader(profile, lane)
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
