"""The made-up profile of benchmarks is a profile like any other, and adds up; here a small one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tremula.profile import Profile
from tremula.profile.frames import FRAMES
from tremula.view.summary import summary


@pytest.fixture
def small(tmp_path: Path, benchmark: Any) -> Path:
    made_up = benchmark("made_up_profile")
    scale = made_up.Scale(ipus=4, ops=2_000, plans=50, steps=8_000, layers=16)
    path: Path = made_up.make(tmp_path / "profile.pop", scale)
    return path


#: frames that only profiles of programs with a tile mapping of their own have
_OF_PLACED_PROGRAMS = ("blocks", "tile_cycles")


def test_every_column_can_be_read(small: Path) -> None:
    with Profile(small) as profile:
        for name in FRAMES:
            frame = profile.frame(name)
            assert len(frame) > 0 or name in _OF_PLACED_PROGRAMS
            for column in frame.columns:
                assert len(frame.column(column)) == len(frame)
        assert len(profile.ops) == 2_000
        assert "made up" in str(summary(profile))


def test_lanes_and_variables_add_up(small: Path) -> None:
    with Profile(small) as profile:
        lanes, steps = profile.frame("lanes"), profile.frame("steps")
        sums = np.add.reduceat(steps.column("cycles"), lanes.column("first_step"))
        assert sums.tolist() == [profile.runs[run].cycles for run in lanes.column("run")]
        for row in profile.ipus:
            tiles = profile.tile_bytes(row.ipu)
            for tile in (0, 900, 1_471):
                expected = sum(int(values[tile]) for values in tiles.values())
                assert int(profile.variables_on_tile(row.ipu, tile)[1].sum()) == expected
