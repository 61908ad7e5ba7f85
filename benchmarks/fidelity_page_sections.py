"""Sections of the page on accuracy: blind rows, fitted constants, inputs chosen after results, model versions."""

from __future__ import annotations

import dataclasses
import inspect
import pathlib
import re
import tomllib
from collections.abc import Mapping, Sequence

from tremula.estimate.estimate import VERSION
from tremula.plan.constants import FITTED
from tremula.schedule.constants import FITTED_SCHEDULE

from .fidelity_sensitivity import CATEGORIES as SENSITIVE
from .fidelity_sensitivity import STEP, Change, kept
from .fidelity_statistics import Row, Spread, Summary

VERSIONS = pathlib.Path(__file__).with_name("model_versions.toml")


def cells(spread: Spread) -> str:
    """Rows, median error, 90th percentile and median ratio, as cells of a table."""
    if spread.median is None or spread.ninetieth is None:
        return "0 | | | "
    ratio = "" if spread.ratio is None else f"{spread.ratio:.2f}"
    return f"{spread.rows} | {spread.median:.1%} | {spread.ninetieth:.1%} | {ratio}"


def blind(table: Sequence[Summary], words: Mapping[str, str]) -> str:
    """Rows that were found after the model was made."""
    if not table:
        return ""
    lines = [
        "## Blind rows",
        "",
        "These rows were entered before the model was run on them, and no constant is fitted to them. A speed that led",
        "to a change of the model is no longer blind. Only the speeds of four heat equations changed after they had",
        "been predicted, by at most 1 %. For memory, the model and some cases were changed (see",
        "[below](#how-much-this-proves)). Blind rows are used for the bands and for the curve of what fits; the",
        "quality of both is measured with the family of each row left out.",
        "",
        "| category | rows | median error | 90 % | median ratio | not predicted |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    lines += [f"| {words[each.category]} | {cells(each.unused)} | {each.failed} |" for each in table]
    return "\n".join(lines) + "\n"


def constants() -> str:
    """The fitted constants with what they stand for and how much they matter."""
    version, found = kept()
    lines = [
        "## Fitted constants",
        "",
        "`python -m benchmarks.fidelity --fit` fits them again. No constant belongs to one model. The last columns say",
        f"by how much the median of predicted over published rates changes when a constant is {STEP:.0%} lower and",
        f"higher (version {version or VERSION} of the model; `--write-sensitivity`).",
        "",
        f"| constant | value | what it stands for | {' | '.join(SENSITIVE)} |",
        f"|---|---:|---|{'---|' * len(SENSITIVE)}",
    ]
    for fitted in (FITTED, FITTED_SCHEDULE):
        meanings = field_comments(type(fitted))
        for each in dataclasses.fields(fitted):
            changes = " | ".join(_change(found.get(each.name, {}).get(category)) for category in SENSITIVE)
            value = getattr(fitted, each.name)
            lines.append(f"| `{each.name}` | {value:g} | {meanings.get(each.name, '')} | {changes} |")
    return "\n".join(lines) + "\n"


def _change(change: Change | None) -> str:
    return "" if change is None else f"{change.lower:+.1%} / {change.higher:+.1%}"


def field_comments(owner: type) -> dict[str, str]:
    """The `#:` comments above the fields of a dataclass."""
    found: dict[str, str] = {}
    words: list[str] = []
    for line in inspect.getsource(owner).splitlines():
        text = line.strip()
        if text.startswith("#:"):
            words.append(text[2:].strip())
        elif (match := re.match(r"(\w+): ", text)) and words:
            found[match[1]] = " ".join(words)
            words = []
        else:
            words = []
    return found


def chosen_after(rows: Sequence[Row]) -> str:
    """Inputs that were chosen after results had been seen, with the rows that they belong to."""
    found: dict[str, list[str]] = {}
    for row in rows:
        case = row.prediction.case
        if case.chosen_after:
            found.setdefault(case.chosen_after, []).append(f"`{case.id}`")
    if not found:
        return ""
    lines = ["## Inputs chosen after results were seen", ""]
    lines += [f"- {text} ({', '.join(names)})" for text, names in found.items()]
    return "\n".join(lines) + "\n"


def versions(path: pathlib.Path = VERSIONS) -> str:
    """What changed from version to version of the model."""
    lines = ["## Model versions", ""]
    for each in tomllib.loads(path.read_text(encoding="utf-8"))["version"]:
        lines += [f"Version {each['name']}:", "", *(f"- {change}" for change in each["changes"]), ""]
    return "\n".join(lines)
