"""Answers about the recorded runs: what each IPU does when, by kind and by pipeline stage.

All figures are modelled. Cycles count from the start of a run; the steps of one IPU follow each other without a hole.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tremula.profile import Profile
from tremula.profile.program_types import CONTROL
from tremula.view.lanes import MOST_LANES, Ints, Lane, Mask, default_run, kind_masks, lanes, steps_of
from tremula.view.packed import LONGEST, packed_numbers
from tremula.view.parameters import Parameters

#: what an answer holds at most
MOST_SPANS = 60_000


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
    read = steps_of(profile, lane)
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


def _is_staged(profile: Profile, lane: Lane) -> bool:
    return bool((steps_of(profile, lane)("micro_batch") >= 0).any())


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
    read = steps_of(profile, lane)
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
