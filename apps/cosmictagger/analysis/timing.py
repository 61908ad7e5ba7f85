"""How long steps took, rank by rank: what is measured between two lines of one rank, never across ranks.

The first two training lines of each start are left out: compiling and warming up are in them. A step is one update of
the weights; where a line stands for several, their time is divided by their number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cosmictagger.analysis.runs import Rank
from cosmictagger.analysis.sessions import Session

Floats = NDArray[np.float64]
QUANTILES = (0.05, 0.5, 0.75, 0.9, 0.95, 0.99)
#: what is measured, in the order of reports
MEASURES = ("step", "train", "validation", "fetch", "update", "rest")


@dataclass(frozen=True)
class Summary:
    """Seconds of many steps."""

    count: int
    mean: float
    std: float
    median: float
    maximum: float
    quantiles: dict[float, float]

    @classmethod
    def of(cls, values: Floats) -> Summary | None:
        """Of finite values; None if there are none."""
        values = values[np.isfinite(values)]
        if not len(values):
            return None
        found = np.quantile(values, QUANTILES)
        return cls(
            len(values),
            float(values.mean()),
            float(values.std()),
            float(np.median(values)),
            float(values.max()),
            {each: float(value) for each, value in zip(QUANTILES, found, strict=True)},
        )


@dataclass(frozen=True, eq=False)
class Timing:
    """What a rank's lines say.

    Attributes:
        number: of the rank.
        values: seconds, by measure: `step` with validation, `train` without, `validation`, `fetch`, `update` (what the
            log calls "Step"), `rest` (train without fetch and update).
        steps: updates in the time that counts.
        seconds: that time.
        lines: training lines.
        first, last: steps of the first and last line.
        begin, end: times of the first and last line, in milliseconds.
        logged: (seconds, images per second) that the rank itself wrote at its end, for each start.
        recomputed: the latter from the times of its lines, in updates per second.
        stride: steps from one line to the next.
    """

    number: int
    values: dict[str, Floats]
    steps: int
    seconds: float
    lines: int
    first: int
    last: int
    begin: int
    end: int
    logged: list[tuple[float, float]]
    recomputed: list[float]
    stride: int

    @property
    def rate(self) -> float | None:
        """Updates per second."""
        return self.steps / self.seconds if self.seconds > 0 else None

    def summary(self, measure: str) -> Summary | None:
        """Of one measure."""
        return Summary.of(self.values[measure])


def timing(rank: Rank, per_call: int) -> Timing:
    """Measure a rank.

    Args:
        rank: the rank.
        per_call: updates that one call of the model makes.
    """
    parts: dict[str, list[Floats]] = {name: [] for name in MEASURES}
    steps, seconds = 0, 0.0
    logged, recomputed = [], []
    strides = np.concatenate([np.diff(each.steps) for each in rank.sessions])
    stride = max(int(np.median(strides)), 1) if len(strides) else 1
    for session in rank.sessions:
        some, took = _measure(session, per_call, parts)
        steps, seconds = steps + some, seconds + took
        if session.closing is not None:
            logged.append((session.closing.seconds, session.closing.throughput))
            recomputed.append(some / took if took > 0 else float("nan"))
    # most ranks were started once: what is theirs already is not copied
    values = {name: each[0] if len(each) == 1 else np.concatenate(each) for name, each in parts.items()}
    begins, ends = rank.sessions[0], rank.sessions[-1]
    return Timing(
        rank.number,
        values,
        steps,
        seconds,
        sum(len(each.steps) for each in rank.sessions),
        int(begins.steps[0]),
        int(ends.steps[-1]),
        int(begins.times[0]),
        int(ends.times[-1]),
        logged,
        recomputed,
        stride,
    )


def _measure(session: Session, per_call: int, parts: dict[str, list[Floats]]) -> tuple[int, float]:
    """Add a session's measurements to `parts`; its updates and the seconds of them."""
    gaps, moved = np.diff(session.times) / 1000, np.diff(session.steps)
    counts = np.arange(len(gaps)) >= 1
    counts &= (gaps >= 0) & (moved > 0)
    pure, validation = _without_validation(session, gaps)
    parts["step"].append(gaps[counts] / moved[counts])
    parts["train"].append(pure[counts] / moved[counts])
    parts["validation"].append(validation)
    parts["fetch"].append(session.fetching[2:])
    parts["update"].append(session.stepping[2:])
    # only where a line is one call: fetching and the update are those of the call that was logged
    single = counts & (moved == per_call)
    rest = pure - session.fetching[1:] - session.stepping[1:]
    parts["rest"].append(np.maximum(rest[single], 0.0) / per_call)
    return int(moved[counts].sum()), float(gaps[counts].sum())


def _without_validation(session: Session, gaps: Floats) -> tuple[Floats, Floats]:
    """Seconds between lines without validations, NaN where they cannot be told; and those of the validations."""
    pure = gaps.copy()
    if not len(session.test_times):
        return pure, np.zeros(0)
    after = np.searchsorted(session.times, session.test_times)
    seconds = []
    seen: set[int] = set()
    for place, step, end, before in zip(
        after.tolist(),
        session.test_steps.tolist(),
        session.test_times.tolist(),
        session.test_before.tolist(),
        strict=True,
    ):
        if place == 0:
            continue
        # the validation began where the record before was written, if that was the step before
        known = session.steps[place - 1] == step - 1 and before >= session.times[place - 1]
        if known:
            seconds.append((end - before) / 1000)
        if place < len(session.times):
            told = known and place not in seen
            pure[place - 1] = (session.times[place] - end) / 1000 if told else np.nan
            seen.add(place)
    return pure, np.array(seconds, dtype=np.float64)


@dataclass(frozen=True)
class Drift:
    """How ranks moved apart.

    Attributes:
        steps: from the first that all ranks logged, and that counts, to the last.
        start, finish: spread of the ranks' times at these, in seconds.
        moved: how far they moved apart in between, whatever their clocks said.
        sustained: the same from the first quarter of the lines to the last one, where single late lines do not count.
        typical: seconds from one line to the next.
    """

    steps: int
    start: float
    finish: float
    moved: float
    sustained: float
    typical: float

    @property
    def per_step(self) -> float:
        """Seconds by which they moved apart in each step."""
        return self.moved / self.steps

    @property
    def in_lines(self) -> float:
        """How many lines' time they moved apart for good."""
        return self.sustained / self.typical if self.typical > 0 else 0.0


def drift(ranks: Sequence[Rank]) -> Drift | None:
    """Of the longest session of each rank; None if they have no two steps in common."""
    chosen = [max(rank.sessions, key=lambda each: len(each.steps)) for rank in ranks if rank.sessions]
    if len(chosen) < 2:
        return None
    common = chosen[0].steps
    for session in chosen[1:]:
        common = np.intersect1d(common, session.steps)
    common = np.unique(common)[1:]
    if len(common) < 2:
        return None
    rows = []
    for session in chosen:
        steps, first = np.unique(session.steps, return_index=True)
        rows.append(session.times[first][np.searchsorted(steps, common)])
    times = (np.array(rows) - rows[0][0]) / 1000
    apart = times - times.mean(axis=0)
    quarter = max(len(common) // 4, 1)
    settled = np.median(apart[:, -quarter:], axis=1) - np.median(apart[:, :quarter], axis=1)
    return Drift(
        int(common[-1] - common[0]),
        float(np.ptp(times[:, 0])),
        float(np.ptp(times[:, -1])),
        float(np.ptp(apart[:, -1] - apart[:, 0])),
        float(np.ptp(settled)),
        float(np.median(times[:, -1] - times[:, 0])) / (len(common) - 1),
    )
