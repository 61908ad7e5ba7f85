"""Profiles of older versions, and those of which a part was left out: what is there is read, the rest is empty."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pva


@pytest.mark.parametrize("version", [1, 2, 3])
def test_older_versions(profile_file: Path, tmp_path: Path, older: Callable[..., Path], version: int) -> None:
    with pva.openReport(older(profile_file, tmp_path / "profile.pop", version=version)) as report:
        compilation = report.compilation
        assert report.version.major == version
        assert compilation.target.numIPUs == 8
        with pva.openReport(profile_file) as new:
            assert [tile.memory.total.includingGaps for tile in compilation.tiles[:1472]] == [
                tile.memory.total.includingGaps for tile in new.compilation.tiles[:1472]
            ]
        assert {program.type.name for program in compilation.programs} >= {"Sequence", "Repeat"}
        operation = pva.OperationAnalysis(report).operations[0]
        assert operation.name in operation.programs()[0].name
        assert max(step.notAlwaysLiveMemory.bytes for step in compilation.livenessProgramSteps) > 0
        # vertices and runs are not in such a file
        assert len(compilation.computeSets) == 0
        assert len(report.execution.runs) == len(report.execution.steps) == 0
        assert report.execution.totalCycles.total == 0
        assert report.execution.profilerMode is pva.ProfilerMode.NONE
        assert report.instrumentationSettings.compute is pva.ComputeInstrumentationLevel.Off
        with pytest.raises(pva.ReportError, match="no recorded runs"):
            report.check.total_cycles_below(1)


@pytest.mark.parametrize(("graph", "execution"), [(True, False), (False, True)])
def test_parts_that_were_not_asked_for(layered: Any, tmp_path: Path, graph: bool, execution: bool) -> None:
    from tremula.estimate import estimate
    from tremula.hardware.catalogue import system
    from tremula.recording import write_profile
    from tremula.schedule.deployment import Deployment

    found = estimate(layered(2), Deployment(), system("pod16"))
    path = write_profile(found, tmp_path / "profile.pop", graph=graph, execution=execution)
    with pva.openReport(path) as report:
        assert bool(report.execution.runs) is execution
        assert bool(report.compilation.alwaysLiveVariables) is graph
        assert (sum(tile.memory.total.includingGaps for tile in report.compilation.tiles) > 0) is graph
        assert bool(report.compilation.livenessProgramSteps) is graph
        for step in report.execution.steps[::10]:
            assert step.ipus[0].cycles >= 0
            assert isinstance(step.program.name, str)
