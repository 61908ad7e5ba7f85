"""Files of schema versions 1 to 3 are read as if they were written today, and are not changed."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from tremula.errors import Error
from tremula.profile import Profile
from tremula.profile.program_types import ProgramType

Older = Callable[..., Path]


def _with_host(breakdown: Mapping[str, float]) -> dict[str, float]:
    """The parts with those of the host as one: old files were written when a call took another constant."""
    host = sum(cycles for part, cycles in breakdown.items() if part.startswith("host_"))
    return {
        **{part: cycles for part, cycles in breakdown.items() if not part.startswith("host_")},
        "host": host,
    }


def test_version_1_is_read(profile_file: Path, tmp_path: Path, older: Older) -> None:
    old = older(profile_file, tmp_path / "profile.pop")
    before = old.read_bytes()
    with Profile(profile_file) as new, Profile(old) as migrated:
        assert migrated.version == 1
        assert migrated.meta["migrated_from_version"] == "1"
        assert migrated.meta["written_by"] == "tremula 0.0"
        assert migrated.figures == new.figures
        assert migrated.programs == new.programs
        assert _with_host(migrated.breakdown) == pytest.approx(_with_host(new.breakdown))
        assert [op.cycles for op in migrated.ops] == [op.cycles for op in new.ops]
        assert {op.module for op in migrated.ops} == {""}
        assert "not recorded" in migrated.reason(migrated.plans[0]).plan
        for ipu in (0, 1):
            expected = {name: values.tolist() for name, values in new.tile_bytes(ipu).items()}
            assert {name: values.tolist() for name, values in migrated.tile_bytes(ipu).items()} == expected
        kinds = {category.name: category.always_live for category in migrated.categories}
        assert kinds["activations"] == 0
        assert kinds["weights"] == 1
    assert old.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["profile.pop"]


def test_version_2_is_read_and_has_no_advice(profile_file: Path, tmp_path: Path, older: Older) -> None:
    with (
        Profile(profile_file) as new,
        Profile(older(profile_file, tmp_path / "profile.pop", version=2)) as migrated,
    ):
        assert new.advice
        assert migrated.version == 2
        assert migrated.meta["migrated_from_version"] == "2"
        assert not migrated.advice
        assert migrated.ops == new.ops
        assert migrated.plans == new.plans
        assert migrated.categories == new.categories
        assert _with_host(migrated.breakdown) == pytest.approx(_with_host(new.breakdown))


def test_a_damaged_version_1_is_refused(profile_file: Path, tmp_path: Path, older: Older) -> None:
    old = older(profile_file, tmp_path / "profile.pop")
    connection = sqlite3.connect(old)
    connection.execute("UPDATE ops SET flops=flops+1")
    connection.commit()
    connection.close()
    with pytest.raises(Error, match="do not match"):
        Profile(old)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_older_versions_have_frames_that_follow_from_their_tables(
    profile_file: Path, tmp_path: Path, older: Older, version: int
) -> None:
    with (
        Profile(profile_file) as new,
        Profile(older(profile_file, tmp_path / "profile.pop", version)) as migrated,
    ):
        assert migrated.version == version
        assert migrated.programs == new.programs
        tree = migrated.frame("programs")
        assert tree.column("type")[0] == ProgramType.OnEveryTileSwitch
        assert [tree.column("kind")[row] for row in np.flatnonzero(tree.column("parent") == 0)] == [
            "upload",
            "step",
        ]
        assert migrated.ops[3].name in tree.column("name")
        for name in ("steps", "lanes", "pyramid", "compute_sets", "vertices"):
            assert len(migrated.frame(name)) == 0
        assert migrated.runs == migrated.vertex_types == ()
        live = migrated.frame("liveness_pyramid")
        assert live.column("high").tolist() == new.frame("liveness_pyramid").column("high").tolist()
        names = [category.name for category in migrated.categories]
        frame = migrated.frame("variables")
        for row in migrated.ipus:
            tiles = migrated.tile_bytes(row.ipu)
            for tile in (0, 7, 1_471):
                rows, sizes = migrated.variables_on_tile(row.ipu, tile)
                found: dict[str, int] = {}
                for variable, size in zip(rows.tolist(), sizes.tolist(), strict=True):
                    use = names[frame.column("category")[variable]]
                    found[use] = found.get(use, 0) + size
                assert found == {name: int(values[tile]) for name, values in tiles.items() if values[tile]}
            now = migrated.alive_at(row.ipu, row.peak_step)
            assert int(frame.column("bytes")[now].sum()) == row.not_always_live_bytes
        lifetimes = {(each.name, each.ipu, each.bytes) for each in new.lifetimes}
        known = zip(
            frame.column("name"), frame.column("ipu").tolist(), frame.column("bytes").tolist(), strict=True
        )
        assert lifetimes <= set(known)
