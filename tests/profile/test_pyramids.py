"""Entries of a pyramid bound what they cover, and add up to it."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tremula.profile.frames import PYRAMID_FANOUT
from tremula.profile.program_types import COMPUTE, EXCHANGE, STREAM, ProgramType
from tremula.profile.pyramids import LaneSteps, liveness_pyramid, step_pyramid

_STEP = st.tuples(st.sampled_from(list(ProgramType)), st.integers(0, 10_000), st.floats(0, 1))


@given(st.lists(_STEP, min_size=1, max_size=700), st.integers(0, 10**6))
def test_a_pyramid_of_steps_bounds_them(steps: list[tuple[ProgramType, int, float]], first: int) -> None:
    types, cycles = np.array([s[0] for s in steps]), np.array([s[1] for s in steps])
    starts = np.concatenate([[0], np.cumsum(cycles)[:-1]])
    means = cycles * np.array([s[2] for s in steps])
    levels: list[dict[str, Any]] = list(step_pyramid(3, first, LaneSteps(types, starts, cycles, means)))
    assert len(levels) == (0 if len(steps) == 1 else len(levels))
    if len(steps) > 1:
        assert len(levels[-1]["start"]) == 1
    for number, level in enumerate(levels, 1):
        assert level["level"] == number
        assert len(level["start"]) == -(-len(steps) // PYRAMID_FANOUT**number)
        assert int(level["steps"].sum()) == len(steps)
        for entry in range(len(level["start"])):
            at = int(level["first_step"][entry]) - first
            inside = slice(at, at + int(level["steps"][entry]))
            of = {
                name: int(cycles[inside][np.isin(types[inside], [int(t) for t in kinds])].sum())
                for name, kinds in (("compute", COMPUTE), ("exchange", EXCHANGE), ("stream", STREAM))
            }
            assert {name: level[name][entry] for name in of} == of
            assert level["sync"][entry] == cycles[inside].sum() - sum(of.values())
            assert level["start"][entry] == starts[at]
            assert level["end"][entry] == starts[at] + cycles[inside].sum()
            assert level["most_cycles"][entry] == cycles[inside].max()
            computes = np.isin(types[inside], [int(t) for t in COMPUTE]) & (cycles[inside] > 0)
            balance = means[inside][computes] / cycles[inside][computes]
            expected = (balance.min(), balance.max()) if len(balance) else (1.0, 1.0)
            assert (level["low_balance"][entry], level["high_balance"][entry]) == expected


@given(st.lists(st.integers(0, 2**40), min_size=1, max_size=700))
def test_a_pyramid_of_liveness_bounds_it(values: list[int]) -> None:
    array = np.array(values)
    for number, level in enumerate(liveness_pyramid(1, array), 1):
        assert level["level"] == number
        found: dict[str, Any] = level
        assert int(found["count"].sum()) == len(values)
        for first, count, low, high, high_at in zip(
            *(found[name].tolist() for name in ("first", "count", "low", "high", "high_at")), strict=True
        ):
            inside = values[first : first + count]
            assert (low, high) == (min(inside), max(inside))
            assert values[high_at] == high
            assert first <= high_at < first + count
