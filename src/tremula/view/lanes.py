"""Lanes: the steps of one IPU in one run, and of which kind they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.profile import Profile
from tremula.profile.program_types import COMPUTE, EXCHANGE, STREAM, ProgramType

#: lanes that an answer holds at most
MOST_LANES = 1_024

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


def steps_of(profile: Profile, lane: Lane) -> Any:
    """What reads a column of the steps of a lane."""
    frame = profile.frame("steps")
    return lambda name: frame.window(name, lane.first, lane.steps)
