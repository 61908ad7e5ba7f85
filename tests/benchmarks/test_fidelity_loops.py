"""Ops that were timed in a loop on the device."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

CASE = """
[[case]]
id = "{id}"
kind = "scatter"
chip = "bow"
metric = "cycles"
published = 1000
unit = "cycles"
source = "a test"
parameters = {{ entries = 64, width = 16, updates = 32, operation = "add"{more} }}
"""


def _predicted(benchmark: Any, tmp_path: Path, *more: str) -> list[float]:
    cases = tmp_path / "cases.toml"
    cases.write_text("".join(CASE.format(id=f"c{n}", more=each) for n, each in enumerate(more)))
    loaded = benchmark("fidelity_cases").load_files([cases])
    evaluator = benchmark("fidelity_evaluate").Evaluator()
    return [evaluator.predict(case).predicted for case in loaded]


def test_a_turn_costs_more_the_more_it_hands_on(benchmark: Any, tmp_path: Path) -> None:
    bare, small, large, zeroed = _predicted(
        benchmark,
        tmp_path,
        "",
        ", loop = { read = 544, handed_on = 1568 }",
        ", loop = { read = 544, handed_on = 8000000 }",
        ", zeroed = true",
    )
    assert bare < zeroed < small < large
    # what more is handed on is copied on its tile: 8 bytes per cycle
    assert large - small == pytest.approx((8_000_000 - 1568) * 4 / 1472 / 8, rel=0.02)


@pytest.mark.parametrize("loop", ["{ read = 1 }", "{ read = 1.5, handed_on = 2 }", "3"])
def test_a_loop_says_what_is_read_and_handed_on(benchmark: Any, tmp_path: Path, loop: str) -> None:
    with pytest.raises(benchmark("fidelity_cases").CaseError, match="read and handed_on"):
        _predicted(benchmark, tmp_path, f", loop = {loop}")
