"""Files of schema versions 1 and 2 are read as if they were written today, and are not changed."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from pathlib import Path

import pytest

from tremula.errors import Error
from tremula.profile import Profile
from tremula.profile.migrate import TABLES_OF_VERSION
from tremula.profile.rows import Digest, digest_of
from tremula.profile.schema import APPLICATION_ID, BATCH_ROWS, META, TABLES


def _older(source: Path, path: Path, version: int = 1) -> Path:
    """The profile at `source` as an earlier version wrote it."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version={version}")
    connection.execute("BEGIN")
    meta = {"format": "tremula profile", "written_by": "tremula 0.0"}
    with Profile(source) as profile:
        uses = {category.id: category.name for category in profile.categories}
        for name, table in TABLES_OF_VERSION[version].items():
            connection.execute(table.sql)
            if name == META.name:
                continue
            rows = []
            for row in profile.programs if name == "programs" else profile.rows(TABLES[name].row):
                values = {n: getattr(row, n) for n in type(row).__dataclass_fields__}
                if version == 1 and "category_id" in values:
                    values["category"] = uses[values["category_id"]]
                rows.append(tuple(values[column] for column in table.names))
            if name == "breakdown":  # the host was one part
                host = sum(cycles for part, cycles in rows if part.startswith("host_"))
                rows = [row for row in rows if not row[0].startswith("host_")] + [("host", host)]
            marks = ", ".join("?" * len(table.names))
            connection.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)
            digest = Digest()
            for start in range(0, len(rows), BATCH_ROWS):
                digest.add(rows[start : start + BATCH_ROWS])
            meta[f"rows:{name}"] = str(len(rows))
            meta[f"digest:{name}"] = digest.text()
    listed = sorted(meta.items())
    listed.append(("digest", digest_of([(key, value) for key, value in listed])))
    connection.executemany("INSERT INTO meta VALUES (?, ?)", listed)
    connection.execute("COMMIT")
    connection.close()
    return path


def _with_host(breakdown: Mapping[str, float]) -> dict[str, float]:
    """The parts with those of the host as one: old files were written when a call took another constant."""
    host = sum(cycles for part, cycles in breakdown.items() if part.startswith("host_"))
    return {
        **{part: cycles for part, cycles in breakdown.items() if not part.startswith("host_")},
        "host": host,
    }


def test_version_1_is_read(profile_file: Path, tmp_path: Path) -> None:
    old = _older(profile_file, tmp_path / "profile.pop")
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


def test_version_2_is_read_and_has_no_advice(profile_file: Path, tmp_path: Path) -> None:
    with (
        Profile(profile_file) as new,
        Profile(_older(profile_file, tmp_path / "profile.pop", version=2)) as migrated,
    ):
        assert new.advice
        assert migrated.version == 2
        assert migrated.meta["migrated_from_version"] == "2"
        assert not migrated.advice
        assert migrated.ops == new.ops
        assert migrated.plans == new.plans
        assert migrated.categories == new.categories
        assert _with_host(migrated.breakdown) == pytest.approx(_with_host(new.breakdown))


def test_a_damaged_version_1_is_refused(profile_file: Path, tmp_path: Path) -> None:
    old = _older(profile_file, tmp_path / "profile.pop")
    connection = sqlite3.connect(old)
    connection.execute("UPDATE ops SET flops=flops+1")
    connection.commit()
    connection.close()
    with pytest.raises(Error, match="do not match"):
        Profile(old)
