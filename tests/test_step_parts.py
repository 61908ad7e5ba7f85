"""The parts of a step: each that the schedule has is named once, in a colour of its own."""

from __future__ import annotations

from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tremula.schedule.bsp import Cycles
from tremula.step_parts import BY_KEY, STEP_PARTS, with_host_parts


def test_every_part_of_the_schedule_has_a_name_and_a_colour() -> None:
    assert {part.key for part in STEP_PARTS} == {each.name for each in fields(Cycles)}
    assert (
        len({part.colour for part in BY_KEY.values()})
        == len({part.title for part in BY_KEY.values()})
        == len(BY_KEY)
    )


@given(
    st.floats(0.0, 1e9), st.floats(0.0, 1e9), st.floats(1e-6, 10.0), st.integers(1, 1000)
)  # fmt: skip
def test_the_host_of_earlier_versions_becomes_calls_and_transfers(
    compute: float, host: float, seconds: float, iterations: int
) -> None:
    parts = with_host_parts({"compute": compute, "host": host}, seconds, iterations)
    assert set(parts) == {"compute", "host_call", "host_transfer"}
    assert min(parts.values()) >= 0.0
    assert sum(parts.values()) == pytest.approx(compute + host)
    assert with_host_parts(parts, seconds, iterations) == parts


def test_a_call_of_an_earlier_version_took_three_milliseconds() -> None:
    parts = with_host_parts({"compute": 0.5, "host": 0.5}, 0.010, 2)
    assert parts == pytest.approx({"compute": 0.5, "host_call": 0.15, "host_transfer": 0.35})
