"""Limits of a comparison: what they say, when they are exceeded, and how a mistake in one is told."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tremula.errors import Error
from tremula.estimate.figures import Figure
from tremula.study.compare import Comparison, compare
from tremula.study.compare_markdown import markdown
from tremula.study.limits import check, measures, parse_limit
from tremula.study.result import Result


def _result(name: str = "program", **figures: float) -> Result:
    known = {"throughput": 100.0, "step_seconds": 0.02, "tile_bytes": 500_000.0, "tile_share": 0.8, **figures}
    return Result(
        name=name,
        training=True,
        setting={"ipus": 1, "replicas": 1, "micro_batch": 2, "accumulation": 1, "device_iterations": 1},
        fits="yes",
        figures={key: Figure(value, value * 0.9, value * 1.1, "") for key, value in known.items()},
        shares={"compute": 0.75, "exchange": 0.25},
        memory={"weights": 1000, "vertex code": 10},
        modules={"layers.0": 400.0},
    )


def _pair(**figures: float) -> Comparison:
    return compare(_result("a"), _result("b", **figures))


@pytest.mark.parametrize(
    ("text", "exceeded"),
    [
        ("worst_tile>+2%", True),  # 500,000 -> 511,000 is 2.2 % more
        ("worst_tile > +2.3 %", False),
        ("tile_bytes>+10kB", True),
        ("tile_bytes>+11kB", False),
        ("tile_bytes>=+11kB", True),
        ("tile_bytes>511kB", False),
        ("tile_share>79%", True),
        ("throughput<-3%", True),
        ("throughput<-6%", False),
        ("throughput<96", True),
        ("step_time>20ms", False),
        ("step_time>=20ms", True),
        ("memory.weights>+0", False),
        ("time.compute>+1%", False),
        ("cycles.layers.0>+1%", False),
        ("memory.vertex_code>5B", True),
    ],
)
def test_a_limit_says_what_must_not_happen(text: str, exceeded: bool) -> None:
    found = check(_pair(tile_bytes=511_000.0, throughput=95.0), parse_limit(text))
    assert found.exceeded is exceeded, found


@pytest.mark.parametrize(
    "text",
    ["", "worst_tile", "worst_tile>", ">2%", "worst_tile=2", "worst_tile>2 furlongs", "a>1e999", "a>--1"],
)
def test_what_is_no_limit_is_refused(text: str) -> None:
    with pytest.raises(Error, match=r"is not a limit|unknown unit|too large"):
        parse_limit(text)


def test_an_unknown_measure_is_named_with_the_nearest() -> None:
    with pytest.raises(Error, match=r"Did you mean .*worst_tile"):
        check(_pair(), parse_limit("worst_tiles>+2%"))


def test_growth_from_nothing_exceeds_every_relative_limit() -> None:
    a = replace(_result(), memory={"stashes": 0, "weights": 1})
    b = replace(_result(), memory={"stashes": 5, "weights": 1})
    found = check(compare(a, b), parse_limit("memory.stashes>+1000%"))
    assert found.exceeded
    assert found.value == math.inf
    assert found.shown == "from nothing"


@given(st.floats(1.0, 1e12), st.floats(1.0, 1e12), st.integers(0, 200))
def test_a_change_in_per_cent_is_that_of_the_values(a: float, b: float, percent: int) -> None:
    pair = compare(_result(tile_bytes=a), _result(tile_bytes=b))
    found = check(pair, parse_limit(f"worst_tile>+{percent}%"))
    assert found.exceeded == (100 * (b - a) / a > percent)
    back = check(pair, parse_limit(f"worst_tile<-{percent}%"))
    assert not (found.exceeded and back.exceeded)


def test_every_measure_can_be_named_in_a_limit() -> None:
    for name in measures(_pair()):
        assert not check(_pair(), parse_limit(f"{name}>+1%")).exceeded


def test_markdown_states_limits_first_and_keeps_names_in_code() -> None:
    b = replace(_result("b` | <b>", throughput=90.0), memory={"weights": 2000, "`x|": 3})
    pair = compare(_result("a"), b)
    text = markdown(pair, [check(pair, parse_limit(limit)) for limit in ("throughput<-3%", "step_time>1s")])
    lines = text.splitlines()
    assert lines[0] == "### Modelled on the IPU: 1 of 2 limits exceeded"
    assert "| `throughput<-3%` | -10 % | 100 | 90 | **exceeded** |" in lines
    assert text.index("exceeded") < text.index("modelled figure") < text.index("memory of the fullest IPU")
    assert "`b' / <b>`" in text
    assert "All figures are modelled, not measured." in text
    for line in lines:
        assert line.count("`") % 2 == 0
