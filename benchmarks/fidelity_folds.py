"""The folds of the cases that constants are fitted on, and the constants that each fold does without.

`--fit --write-folds` fits on all folds but one, for each, and keeps the constants in fidelity_folds.toml, so that
a run need not fit anew to predict every fitted row with constants that owe nothing to it.
"""

from __future__ import annotations

import dataclasses
import pathlib
import tomllib
from collections.abc import Mapping, Sequence

from tremula.plan.constants import FITTED
from tremula.schedule.constants import FITTED_SCHEDULE

from .fidelity_cases import Case
from .fidelity_evaluate import Evaluator

FOLDS = 5
KEPT = pathlib.Path(__file__).with_suffix(".toml")


def fold_of(cases: Sequence[Case]) -> dict[str, int]:
    """The fold of each case that is fitted: within a category they take turns."""
    counts: dict[str, int] = {}
    folds = {}
    for case in cases:
        if case.fit:
            place = counts.get(case.category, 0)
            counts[case.category] = place + 1
            folds[case.id] = place % FOLDS
    return folds


def evaluator_with(values: Mapping[str, float]) -> Evaluator:
    """An evaluator with some fitted constants replaced, by name."""
    plan = {name: value for name, value in values.items() if hasattr(FITTED, name)}
    schedule = {name: value for name, value in values.items() if hasattr(FITTED_SCHEDULE, name)}
    return Evaluator(dataclasses.replace(FITTED, **plan), dataclasses.replace(FITTED_SCHEDULE, **schedule))


def evaluators_without(cases: Sequence[Case]) -> dict[str, Evaluator]:
    """For each fitted case, an evaluator whose constants were fitted without it."""
    if not KEPT.exists():
        return {}
    kept = tomllib.loads(KEPT.read_text(encoding="utf-8"))
    evaluators = [evaluator_with(values) for values in kept["fold"]]
    members = {name: number for number, fold in enumerate(kept["members"]) for name in fold}
    return {case.id: evaluators[members[case.id]] for case in cases if case.id in members}
