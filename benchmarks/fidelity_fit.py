"""The fitted constants found anew, from the cases that may be used for it.

A search along one constant at a time, in factors, for the least objective: in each category the median of
|log(predicted / published)|, and the mean of these over categories, so that many rows of one kind do not outvote
the others. It is done once on all fitted rows and once for each fold without its rows.
"""

from __future__ import annotations

import dataclasses
import math
import statistics
import sys
from collections.abc import Mapping, Sequence

from tremula.plan.constants import FITTED
from tremula.schedule.constants import FITTED_SCHEDULE

from .fidelity_cases import Case
from .fidelity_evaluate import Evaluator
from .fidelity_folds import FOLDS, KEPT, evaluator_with, fold_of

Values = dict[str, float]
#: factors tried in turn, ever finer
STEPS = (1.6, 1.25, 1.1)
#: share of the mean in the objective, which tells apart what has the same median
MEAN_SHARE = 0.1
#: each step of a constant must improve the objective by this much: what rows hardly determine should not drift
LEAST_GAIN = 1e-3


def within_reason(name: str, value: float) -> bool:
    """A share of something lies between nothing and all of it; other constants are positive."""
    return 0.0 < value <= (1.0 if name.endswith("_share") else math.inf)


def current_values() -> Values:
    """The shipped constants by name."""
    return {**dataclasses.asdict(FITTED), **dataclasses.asdict(FITTED_SCHEDULE)}


class Predictions:
    """Ratios of the fitted cases for any values of the constants, each computed once."""

    def __init__(self, cases: Sequence[Case]) -> None:
        # from torch, so that constants do not depend on what is installed
        self.cases = [dataclasses.replace(case, front_end="torch") for case in cases if case.fit]
        self._known: dict[tuple[str, tuple[float, ...]], float | None] = {}
        self._evaluators: dict[tuple[float, ...], Evaluator] = {}
        self._moved_by: dict[str, tuple[str, ...]] = {}
        start = current_values()
        for case in self.cases:
            before = self._compute(case, start)
            others = (
                name
                for name, value in start.items()
                if self._compute(case, {**start, name: 1.5 * value}) != before
            )
            self._moved_by[case.id] = tuple(others)

    def depends(self, case: Case) -> tuple[str, ...]:
        """The constants that move the prediction of `case`."""
        return self._moved_by[case.id]

    def ratio(self, case: Case, values: Values) -> float | None:
        """Predicted over published."""
        key = (case.id, tuple(values[name] for name in self._moved_by[case.id]))
        if key not in self._known:
            self._known[key] = self._compute(case, values)
        return self._known[key]

    def _compute(self, case: Case, values: Values) -> float | None:
        key = tuple(values.values())
        if key not in self._evaluators:
            if len(self._evaluators) > 8:
                self._evaluators.clear()
            self._evaluators[key] = evaluator_with(values)
        return self._evaluators[key].predict(case).ratio

    def objective(self, values: Values, without: frozenset[str] = frozenset()) -> float:
        """How far off the predictions are, each category counting the same."""
        by_category: dict[str, list[float]] = {}
        for case in self.cases:
            if case.id not in without and self._moved_by[case.id]:
                ratio = self.ratio(case, values)
                if ratio:
                    by_category.setdefault(case.category, []).append(abs(math.log(ratio)))
        if not by_category:
            return 0.0
        parts = [
            (1 - MEAN_SHARE) * statistics.median(each) + MEAN_SHARE * statistics.fmean(each)
            for each in by_category.values()
        ]
        return statistics.fmean(parts)


def search(predictions: Predictions, start: Values, without: frozenset[str] = frozenset()) -> Values:
    """The values with the least objective on all rows but `without`."""
    best = dict(start)
    least = predictions.objective(best, without)
    moving = {name for case in predictions.cases for name in predictions.depends(case)}
    for factor in STEPS:
        for name in (name for name in best if name in moving):
            for step in (factor, 1 / factor):
                while True:
                    tried = {**best, name: best[name] * step}
                    if not within_reason(name, tried[name]):
                        break
                    found = predictions.objective(tried, without)
                    if found > least - LEAST_GAIN:
                        break
                    best, least = tried, found
    return best


def fit_and_print(cases: Sequence[Case], *, write: bool) -> int:
    """Fit on all rows and without each fold, print both, and keep the folds if asked to."""
    predictions = Predictions(cases)
    if not predictions.cases:
        print("no case has fit = true", file=sys.stderr)
        return 2
    start = current_values()
    folds = fold_of(cases)
    print(
        f"{len(predictions.cases)} rows, objective {predictions.objective(start):.4f} with the shipped constants"
    )
    for name in start:
        users = [case.id for case in predictions.cases if name in predictions.depends(case)]
        print(f"  {name}: moves {len(users)} rows" + (f" ({', '.join(users[:6])} ...)" if users else ""))
    everything = search(predictions, start)
    print(f"fitted on all: objective {predictions.objective(everything):.4f}")
    without = []
    for fold in range(FOLDS):
        members = frozenset(name for name, number in folds.items() if number == fold)
        without.append(search(predictions, start, members))
    print(f"\n{'constant':24} {'shipped':>12} {'proposed':>12}   without each fold")
    for name, value in start.items():
        spread = " ".join(f"{values[name]:10.4g}" for values in without)
        print(f"{name:24} {value:12.5g} {everything[name]:12.5g}   {spread}")
    if write:
        KEPT.write_text(folds_as_toml(without, folds), encoding="utf-8")
        print(f"\nwritten: {KEPT.name}")
    return 0


def folds_as_toml(without: Sequence[Mapping[str, float]], folds: Mapping[str, int]) -> str:
    """The file that keeps the constants of each fold and its members."""
    lines = [
        "# Written by `python -m benchmarks.fidelity --fit --write-folds`: the rows of each fold, and constants that",
        "# were fitted without them.",
        "members = [",
    ]
    for number in range(len(without)):
        names = ", ".join(f'"{name}"' for name, fold in folds.items() if fold == number)
        lines.append(f"    [{names}],")
    lines.append("]")
    for values in without:
        lines += ["", "[[fold]]", *(f"{name} = {value:.8g}" for name, value in values.items())]
    return "\n".join(lines) + "\n"
