"""Logs made for tests, analysed: what was found in them."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from cosmictagger.analysis.faults import find_faults
from cosmictagger.analysis.results import Fault, Result, result
from cosmictagger.analysis.runs import read_runs
from tests.apps.cosmictagger import analysis_logs as logs

HERE = Path(__file__).parent

#: a run of ours, whose ranks stay together
OURS = {
    "ours": True,
    "distributed": True,
    "also": ("Graph compilation done: the first call took 9.00 s with it",),
}


def making(**changes: Any) -> Any:
    return dataclasses.replace(logs.Making(), **changes)


def analysed(folder: Path, text: str | bytes, name: str = "job.log", **options: Any) -> Result:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return each(path, **options)[0]


def each(*paths: Path, **options: Any) -> list[Result]:
    found = [result(run, **options) for run in read_runs([str(path) for path in paths])]
    for one in found:
        one.faults = find_faults(one)
    return found


def faults(found: Result) -> dict[str, Fault]:
    return {fault.code: fault for fault in found.faults}


def mean(found: Result, measure: str) -> float:
    summary = found.pooled[measure]
    assert summary is not None
    return round(summary.mean, 6)
