"""The benchmark of scaling studies: what counts as a miss, how far off a line is, and that the command runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def benchmark(benchmark: Any) -> Any:
    """The module of the benchmark."""
    return benchmark("scale")


def test_rows_on_a_straight_line_are_not_off_it(benchmark: Any) -> None:
    slope, off = benchmark.line({4: 3.0, 8: 5.0, 16: 9.0, 32: 17.0})
    assert slope == pytest.approx(0.5)
    assert off == pytest.approx(0.0, abs=1e-9)
    _, squared = benchmark.line({4: 16.0, 8: 64.0, 16: 256.0, 32: 1024.0})
    assert squared > benchmark.LINE_TARGET


def test_a_figure_over_its_target_is_a_miss(benchmark: Any) -> None:
    reached = {"command_seconds": 60.0, "growth": 1.25, "off_the_line": 0.15}
    assert benchmark.Figures(**reached).misses == []
    for name, value in (
        ("command_seconds", 60.1),
        ("command_seconds", None),
        ("growth", 1.3),
        ("off_the_line", 0.2),
    ):
        assert len(benchmark.Figures(**{**reached, name: value}).misses) == 1


def test_the_rows_that_are_compared_try_as_many_layouts(benchmark: Any) -> None:
    for plan in (benchmark.FULL, benchmark.QUICK):
        tried = {ipus: sum(ipus % width == 0 for width in plan.stages) for ipus in plan.row_ipus}
        assert tried[plan.small] == tried[max(plan.row_ipus)] == len(plan.stages)
        for sizes, _, chips in plan.together:
            assert all(size % max(plan.stages) == 0 for size in sizes)
            assert set(chips) <= set(plan.together[-1][2])  # the others' cuts are known
    assert [len(a) * len(b) * len(c) for a, b, c in benchmark.FULL.together] == [4, 8, 16]


@pytest.mark.slow
def test_the_command_measures_and_writes_json(tmp_path: Path) -> None:
    out = tmp_path / "figures.json"
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.scale", "--quick", "--json", str(out)],
        cwd=ROOT, env={**os.environ, "TREMULA_SUMMARY": "0"}, capture_output=True, text=True, timeout=110, check=False,
    )  # fmt: skip
    figures = json.loads(out.read_text())
    assert done.returncode in (0, 1), done.stderr  # a busy machine may miss targets
    assert figures["command_seconds"] > 0
    assert set(figures["row_seconds"]) == {"1", "8", "256"}
    assert set(figures["together_seconds"]) == {"2", "4", "8"}
    assert figures["seconds_per_row"] != 0
    assert "cosmictagger scale" in done.stdout
    assert "straight line" in done.stdout
