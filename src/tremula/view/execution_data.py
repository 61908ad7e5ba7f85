"""Recorded runs for a page that has no server: sums of all, single steps of the beginning, bounded.

The answers and frames are those of execution_answers.py and frame_answers.py, under the addresses by which
web/src/source.ts asks for them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.profile import Profile
from tremula.view.execution_answers import execution_answer, stages_answer
from tremula.view.frame_answers import frame_rows, selected_rows
from tremula.view.lanes import default_run, lanes
from tremula.view.parameters import Parameters

#: what a page keeps
MOST_RUNS = 4
MOST_STEPS = 30_000
MOST_ENTRIES = 24_000
_MOST_NAMES = 20_000

_STEP_COLUMNS = (
    "id", "type", "program", "op_id", "compute_set", "start", "cycles", "mean_tile_cycles", "active_tiles", "bytes_in",
    "bytes_out", "micro_batch", "stage",
)  # fmt: skip
_ENTRY_COLUMNS = ("lane", "level", "start", "end", "compute", "exchange", "sync", "stream")

Rows = NDArray[np.int64]


def execution_data(profile: Profile) -> tuple[dict[str, Any], dict[str, Any]]:
    """Answers by address and frames by name; without recorded runs, an answer that says so."""
    run = default_run(profile)
    answers: dict[str, Any] = {"execution": execution_answer(profile, Parameters({}))}
    others = [each.id for each in profile.runs if each.id != run]
    for number in (run, *others[: MOST_RUNS - 1]):
        asked = Parameters({"run": str(number)})
        answers[f"execution?run={number}"] = execution_answer(profile, asked)
        answers[f"execution_stages?run={number}"] = stages_answer(profile, asked)
    if not lanes(profile):
        return answers, {}
    steps = _first_steps(profile, run)
    table = profile.frame("steps")
    sets, programs = table.column("compute_set")[steps], table.column("program")[steps]
    frames = {
        "steps": selected_rows(profile, "steps", _STEP_COLUMNS, steps.tolist()),
        "pyramid": selected_rows(profile, "pyramid", _ENTRY_COLUMNS, _entries(profile).tolist()),
        "execution_compute_sets": _names(profile, "compute_sets", sets),
        "execution_programs": _names(profile, "programs", programs[sets < 0]),
    }
    return answers, frames


def _first_steps(profile: Profile, run: int) -> Rows:
    """Rows of all steps, or of those of a run that begin before the same moment on all its IPUs."""
    total = frame_rows(profile, "steps")
    if total <= MOST_STEPS:
        return np.arange(total)
    mine = lanes(profile, run)
    frame = profile.frame("steps")
    starts = [frame.window("start", lane.first, lane.steps) for lane in mine]
    if not starts:
        return np.arange(0)
    every = np.sort(np.concatenate(starts))
    end = every[MOST_STEPS] if len(every) > MOST_STEPS else np.iinfo(np.int64).max
    parts = [
        np.arange(lane.first, lane.first + int(np.searchsorted(start, end)))
        for lane, start in zip(mine, starts, strict=True)
    ]
    return np.concatenate(parts)[:MOST_STEPS]


def _names(profile: Profile, frame: str, rows: Rows) -> dict[str, Any]:
    """Names of what the steps are called by."""
    wanted = np.unique(rows)
    wanted = wanted[(wanted >= 0) & (wanted < frame_rows(profile, frame))][:_MOST_NAMES]
    return selected_rows(profile, frame, ("id", "name"), wanted.tolist())


def _entries(profile: Profile) -> Rows:
    """Rows of the pyramid: all levels, or those that have room, from the coarsest down."""
    levels = profile.frame("pyramid").column("level")
    lowest = 1
    while (levels >= lowest).sum() > MOST_ENTRIES:
        lowest += 1
    return np.flatnonzero(levels >= lowest)
