"""Files whose values make no sense, though their digests match: nothing but a clear error or some value."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pva
from tremula.errors import Error

STRANGE = (-1, 0, 3, 5000, 2**40)


def _walk(report: Any) -> None:
    """Look at everything, a few items of each list."""
    compilation, execution = report.compilation, report.execution
    some = slice(None, None, 7)
    operations = pva.OperationAnalysis(report).operations
    for each in itertools.chain(
        compilation.tiles[:2], compilation.ipus[:2], compilation.programs[some], compilation.computeSets[some],
        compilation.livenessProgramSteps[some], compilation.variables[some], compilation.debugContexts[some],
        execution.runs[:2], execution.steps[some], operations[some], compilation.tree.vars_of_op(0)[:9],
        compilation.loweredVariables.allBriefVars[:50], compilation.loweredVariables.forTile(0),
        compilation.alwaysLiveVariablesForTile(1),
    ):  # fmt: skip
        for name in dir(type(each)):
            if name.startswith("_") or callable(getattr(type(each), name)):
                continue
            try:
                value = getattr(each, name)
            except AttributeError:
                continue
            repr(value)
    for step in compilation.livenessProgramSteps[some]:
        repr(step.notAlwaysLiveMemoryForTile(2).variables)
    for step in execution.steps[some]:
        repr([ipu.tileBalance for ipu in step.ipus])
    for operation in operations[some]:
        repr((operation.programs(), operation.firstStepIndex))


def test_everything_can_be_looked_at(profile_file: Path) -> None:
    with pva.openReport(profile_file) as report:
        _walk(report)


@pytest.mark.parametrize("frame", ["programs", "compute_sets", "steps", "variables", "vertices", "contexts"])
def test_strange_numbers_in_frames(
    profile_file: Path, rewrite_profile: Callable[..., Path], tmp_path: Path, frame: str
) -> None:
    chance = np.random.default_rng(0)

    def change(name: str, columns: dict[str, Any]) -> dict[str, Any]:
        if name != frame:
            return columns
        changed = dict(columns)
        for column, values in columns.items():
            if isinstance(values, np.ndarray) and chance.random() < 0.5 and len(values):
                changed[column] = values.copy()
                changed[column][chance.integers(len(values), size=3)] = chance.choice(STRANGE)
        return changed

    for number in range(6):
        path = rewrite_profile(profile_file, tmp_path / str(number) / "profile.pop", change_frame=change)
        with contextlib.suppress(Error), pva.openReport(path) as report:
            _walk(report)


@pytest.mark.parametrize("column", ["replicas", "ipus_per_replica"])
@pytest.mark.parametrize("value", [-1, 0, 5000, 2**40])
def test_targets_that_cannot_be(
    profile_file: Path, rewrite_profile: Callable[..., Path], tmp_path: Path, column: str, value: int
) -> None:
    from tremula.profile import model

    def change(row: Any) -> Any:
        return replace(row, **{column: value}) if isinstance(row, model.Target) else row

    path = rewrite_profile(profile_file, tmp_path / "profile.pop", change)
    with pva.openReport(path) as report, pytest.raises(Error, match=r"has an invalid number of IPUs"):
        report.compilation.tiles


def test_hostile_names_do_nothing_to_a_terminal(
    profile_file: Path, rewrite_profile: Callable[..., Path], tmp_path: Path, hostile_texts: tuple[str, ...]
) -> None:
    def change_frame(_name: str, columns: dict[str, Any]) -> dict[str, Any]:
        hostile = itertools.cycle(hostile_texts)
        return {
            name: values if isinstance(values, np.ndarray) else [next(hostile) for _ in values]
            for name, values in columns.items()
        }

    path = rewrite_profile(profile_file, tmp_path / "profile.pop", change_frame=change_frame)
    with pva.openReport(path) as report:
        report.listPrintLength(40)
        lists = (report.compilation.programs, report.compilation.variables, report.compilation.debugContexts)
        shown = [repr(each) for each in (*lists, report.execution.steps, report.compilation.computeSets)]
        for check in (lambda c: c.compute_sets_match("none"), lambda c: c.always_live_bytes_below(1)):
            with pytest.raises(pva.ReportError) as problem:
                check(report.check)
            shown.append(str(problem.value))
    for text in shown:
        assert text.isprintable()
