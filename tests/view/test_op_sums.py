"""Sums over ops are those of the ops themselves, however they are grouped."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tremula.profile import Profile
from tremula.view.endpoints import answer
from tremula.view.op_sums import op_sums

_TEXTS = ("name", "target", "phase", "module", "source_file", "source_function")


@given(columns=st.lists(st.sampled_from(_TEXTS), min_size=1, max_size=3, unique=True))
def test_groups_have_the_cycles_of_their_ops(profile_file: Path, columns: list[str]) -> None:
    with Profile(profile_file) as profile:
        wanted: dict[tuple[str, ...], list[float]] = defaultdict(lambda: [0.0, 0.0])
        for op in profile.ops:
            entry = wanted[tuple(getattr(op, column) for column in columns)]
            entry[0] += op.cycles
            entry[1] += op.merged
        found = op_sums(profile, *columns)
    assert [each.texts for each in found] == list(wanted)
    for each in found:
        assert [each.cycles, each.ops] == pytest.approx(wanted[each.texts])


def test_the_work_by_pass_and_by_module_is_that_of_all_ops(profile_file: Path) -> None:
    with Profile(profile_file) as profile:
        work, modules = answer(profile, "work", {}), answer(profile, "modules", {})["modules"]
        cycles = sum(op.cycles for op in profile.ops)
    host = sum(sum(row[2:5]) for row in modules if row[0].startswith("(") and row[0] != "(outside modules)")
    assert sum(sum(row[1:4]) for row in work["phases"]) == pytest.approx(cycles)
    assert sum(row[4] for row in work["phases"]) == modules[0][5]
    assert sum(modules[0][2:5]) - host == pytest.approx(cycles, rel=1e-4)
