"""Assertions about reports, which the reference suites give to every test case."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from tremula.frontends.tensorflow.testing.report_assertions import extend_test_cases


class Case(unittest.TestCase):
    def runTest(self) -> None:
        pass


extend_test_cases(Case)


def _step(kind: str, start: int, end: int) -> Any:
    active = SimpleNamespace(cyclesFrom=SimpleNamespace(max=start), cyclesTo=SimpleNamespace(max=end))
    return SimpleNamespace(
        program=SimpleNamespace(type=SimpleNamespace(name=kind)), ipus=[SimpleNamespace(activeCycles=active)]
    )


def _tile(size: int, lasting: int) -> Any:
    memory = SimpleNamespace(total=SimpleNamespace(excludingGaps=size), alwaysLiveBytes=lasting)
    return SimpleNamespace(memory=memory)


def _compute_set(name: str, *vertices: str) -> Any:
    return SimpleNamespace(
        name=name, vertices=[SimpleNamespace(type=SimpleNamespace(name=each)) for each in vertices]
    )


STEPS = [
    _step("OnTileExecute", 0, 60),
    _step("StreamCopyMid", 40, 80),
    _step("GlobalExchange", 80, 90),
    _step("Sync", 90, 100),
]
REPORT: Any = SimpleNamespace(
    compilation=SimpleNamespace(
        computeSets=[
            _compute_set("dense/matmul/multiply", "Conv"),
            _compute_set("Copy_in"),
            _compute_set("relu/go"),
        ],
        tiles=[_tile(1000, 400), _tile(2000, 600)],
    ),
    execution=SimpleNamespace(runs=[SimpleNamespace(steps=STEPS)], totalCycles=SimpleNamespace(total=100)),
)

HOLD: dict[str, Callable[[Any], None]] = {
    "all sets": lambda case: case.assert_all_compute_sets_and_list(REPORT, ["matmul", "relu"]),
    "matches": lambda case: case.assert_compute_sets_matches(REPORT, "*mul*", 1),
    "some sets": lambda case: case.assert_compute_sets_contain_list(REPORT, ["relu"]),
    "forbidden": lambda case: case.assert_compute_sets_not_in_blacklist(REPORT, ["conv"]),
    "vertices": lambda case: case.assert_vertices_contain_list(REPORT, ["Conv"]),
    "each tile": lambda case: case.assert_each_tile_memory_is_less_than(REPORT, 1990),
    "all tiles": lambda case: case.assert_total_tile_memory(REPORT, 3020),
    "fullest tile": lambda case: case.assert_max_tile_memory(REPORT, 2010),
    "always live": lambda case: case.assert_always_live_memory(REPORT, 1005),
    "runs": lambda case: case.assert_number_of_executions(REPORT, 1),
    "cycles": lambda case: case.assert_execution_report_cycles(REPORT, 101),
    "overlap": lambda case: case.assert_compute_io_overlap_percentage(REPORT, 0.49),
    "global exchange": lambda case: case.assert_global_exchange_percentage(REPORT, 0.1),
    "reports": lambda case: case.assert_num_reports(SimpleNamespace(find_reports=lambda: ["a"]), 1),
}
FAIL: dict[str, tuple[Callable[[Any], None], str]] = {
    "a set that no text allows": (
        lambda case: case.assert_all_compute_sets_and_list(REPORT, ["matmul"]),
        "1 compute sets match no pattern: relu/go",
    ),
    "a common set that is not ignored": (
        lambda case: case.assert_all_compute_sets_and_list(REPORT, ["matmul", "relu"], ignore_common=False),
        "Copy_in",
    ),
    "a text in no name": (
        lambda case: case.assert_compute_sets_contain_list(REPORT, ["relu", "pool"]),
        r"1 patterns match no compute set: \*pool\*; there are dense/matmul/multiply",
    ),
    "a wrong number": (
        lambda case: case.assert_compute_sets_matches(REPORT, "*mul*", 2),
        "1 .* instead of 2",
    ),
    "a forbidden set": (lambda case: case.assert_compute_sets_not_in_blacklist(REPORT, ["elu"]), "relu/go"),
    "a vertex that is not there": (lambda case: case.assert_vertices_contain_list(REPORT, ["Pool"]), "Pool"),
    "a tile that is too full": (
        lambda case: case.assert_each_tile_memory_is_less_than(REPORT, 1900),
        r"2,000 bytes \(modelled\), more than 1,919",
    ),
    "tiles that need more": (
        lambda case: case.assert_total_tile_memory(REPORT, 2900),
        "3,000 bytes on all tiles",
    ),
    "a tile that needs less": (
        lambda case: case.assert_max_tile_memory(REPORT, 2100),
        "2,000 bytes on the fullest",
    ),
    "less that is always live": (
        lambda case: case.assert_always_live_memory(REPORT, 1100),
        "1,000 bytes that are",
    ),
    "another number of runs": (
        lambda case: case.assert_execution_report_cycles(REPORT, 100, expected_executions=2),
        "1 .* instead of 2",
    ),
    "other cycles": (
        lambda case: case.assert_execution_report_cycles(REPORT, 90),
        "100 cycles of the recorded runs",
    ),
    "too little overlap": (
        lambda case: case.assert_compute_io_overlap_percentage(REPORT, 0.5),
        "0.5 not greater than 0.5",
    ),
    "too much exchange": (
        lambda case: case.assert_global_exchange_percentage(REPORT, 0.08),
        "0.08 not greater than or equal to 0.083",
    ),
}


@pytest.mark.parametrize("name", HOLD)
def test_an_assertion_that_holds(name: str) -> None:
    HOLD[name](Case())


@pytest.mark.parametrize("name", FAIL)
def test_an_assertion_that_fails_says_why(name: str) -> None:
    check, said = FAIL[name]
    with pytest.raises(AssertionError, match=said):
        check(Case())
