"""How much the fitted constants matter: the change of the median ratio of whole models when one moves by 20 %.

    python -m benchmarks.fidelity --write-sensitivity

predicts the cases of training and inference anew for each constant, up and down, and keeps the result in
fidelity_sensitivity.toml for the page on accuracy. Programs are those of torch, as in fitting.
"""

from __future__ import annotations

import dataclasses
import pathlib
import statistics
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tremula.estimate.estimate import VERSION

from .fidelity_cases import Case
from .fidelity_evaluate import Evaluator
from .fidelity_fit import current_values
from .fidelity_folds import evaluator_with
from .fidelity_statistics import rate_ratio

KEPT = pathlib.Path(__file__).with_suffix(".toml")
CATEGORIES = ("training", "inference")
STEP = 0.2


@dataclass(frozen=True)
class Change:
    """Relative change of the median ratio of a category, with a constant lower and higher."""

    lower: float
    higher: float


Sensitivities = dict[str, dict[str, Change]]


def sensitivities(cases: Sequence[Case]) -> Sensitivities:
    """By constant and category."""
    used = [dataclasses.replace(case, front_end="torch") for case in cases if case.category in CATEGORIES]
    values = current_values()
    before = medians(used, evaluator_with(values))
    found: Sensitivities = {}
    for name, value in values.items():
        moved = [
            medians(used, evaluator_with({**values, name: value * factor})) for factor in (1 - STEP, 1 + STEP)
        ]
        found[name] = {
            category: Change(*(each[category] / before[category] - 1.0 for each in moved))
            for category in before
        }
        said = (f"{c} {each.lower:+.2%} / {each.higher:+.2%}" for c, each in found[name].items())
        print(f"{name}, {STEP:.0%} lower / higher: {', '.join(said)}", flush=True)
    return found


def medians(cases: Sequence[Case], evaluator: Evaluator) -> dict[str, float]:
    """The median of predicted over published rates by category."""
    ratios: dict[str, list[float]] = {}
    for case in cases:
        ratio = rate_ratio(evaluator.predict(case))
        if ratio is not None:
            ratios.setdefault(case.category, []).append(ratio)
    return {category: statistics.median(each) for category, each in ratios.items()}


def as_toml(found: Mapping[str, Mapping[str, Change]]) -> str:
    """The file that keeps them."""
    lines = [
        "# Written by `python -m benchmarks.fidelity --write-sensitivity`: relative change of the median of predicted",
        f"# over published rates when a fitted constant is {STEP:.0%} lower and higher.",
        f'model_version = "{VERSION}"',
    ]
    for name, changes in found.items():
        lines += ["", f"[{name}]"]
        lines += [
            f"{category} = [{_kept(each.lower)}, {_kept(each.higher)}]" for category, each in changes.items()
        ]
    return "\n".join(lines) + "\n"


def _kept(change: float) -> str:
    return f"{round(change, 4) + 0.0:.4f}"  # no negative zero


def kept(path: pathlib.Path = KEPT) -> tuple[str, Sensitivities]:
    """The version of the model that was looked at, and what was found; nothing if there is no file."""
    if not path.exists():
        return "", {}
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    version = str(content.pop("model_version"))
    return version, {
        name: {category: Change(*pair) for category, pair in each.items()} for name, each in content.items()
    }


def write_sensitivities(cases: Sequence[Case], path: pathlib.Path = KEPT) -> None:
    """Find them and keep them."""
    path.write_text(as_toml(sensitivities(cases)), encoding="utf-8")
