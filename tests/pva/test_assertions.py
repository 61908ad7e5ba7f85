"""Checks for continuous integration: they hold, or say what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import pva


def test_checks_that_hold(small: Any) -> None:
    found = (
        small.check.worst_tile_below(1100)
        .always_live_bytes_below(1000)
        .category_bytes_below("vertexCode", 400)
        .total_cycles_below(201)
        .run_cycles_below("st*", 201)
        .compute_sets_match("*/multiply", count=2)
        .compute_sets_match("enc/*")
        .compute_sets_are_among(["enc/*", "head/*"])
        .no_compute_set_matches("*gather*")
        .holds("there is a run", lambda report: len(report.execution.runs) == 1)
    )
    assert isinstance(found, type(small.check))


@pytest.mark.parametrize(
    ("check", "said"),
    [
        (lambda c: c.fits(), r"2 tiles are out of memory.*tile 0 of IPU 1, is 50 bytes over.*variable 1,040"),
        (lambda c: c.worst_tile_below(0.9), r"tile 0 of IPU 1 needs 1,050 bytes \(105.0% of .*not below 900"),
        (
            lambda c: c.always_live_bytes_below(600),
            r"674 bytes.*not below 600.*enc/weight 360, vertexCode 120",
        ),
        (lambda c: c.category_bytes_below("vertexCode", 320), r"vertexCode takes 320 bytes"),
        (lambda c: c.total_cycles_below(200), r"take 200 cycles.*enc/fc/multiply 90"),
        (lambda c: c.run_cycles_below("step", 10), r"'step' takes 200 cycles"),
        (lambda c: c.run_cycles_below("other", 10), r"no run matches 'other'; the runs are 'step'"),
        (
            lambda c: c.compute_sets_match("*/conv"),
            r"0 compute sets match '\*/conv' instead of at least 1; the compute sets are 'enc",
        ),
        (lambda c: c.compute_sets_match("enc/*", 2), r"1 compute sets match 'enc/\*' instead of 2"),
        (lambda c: c.compute_sets_are_among(["enc/*"]), r"1 compute sets match none .*'head/out/multiply'"),
        (lambda c: c.no_compute_set_matches("head*"), r"1 compute sets match 'head\*': 'head/out/multiply'"),
        (lambda c: c.holds("it is fast", lambda _: False), r"is not true that it is fast"),
    ],
)
def test_checks_that_fail_name_what_is_wrong(small: Any, check: Callable[[Any], Any], said: str) -> None:
    with pytest.raises(pva.ReportError, match=said) as problem:
        check(small.check)
    assert "profile.pop" in str(problem.value)
    assert isinstance(problem.value, AssertionError)
