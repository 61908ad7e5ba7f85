"""Reading: what is there, on demand; and a clear error for whatever is not a profile."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tremula.errors import Error
from tremula.profile import Profile, ProfileWriter, model
from tremula.profile.model import Json
from tremula.profile.schema import SCHEMA_VERSION


def test_tables_are_read_when_they_are_asked_for(profile_file: Path) -> None:
    with Profile(profile_file) as profile:
        assert profile._tables == {}
        assert profile.target.ipus_per_replica == 2
        assert set(profile._tables) == {"target"}
        assert profile.version == SCHEMA_VERSION
    with pytest.raises(Error, match="closed"):
        profile.ops
    assert profile.target.replicas == 4


def test_reasons_come_back(profile_file: Path) -> None:
    with Profile(profile_file) as profile:
        reason = profile.reason(profile.plans[0])
        assert reason.plan
        assert any(reason.source in line for line in reason.lines())
        assert all(profile.reason(transfer).plan for transfer in profile.transfers)


def _copy(source: Path, folder: Path) -> tuple[Path, sqlite3.Connection]:
    path = folder / "profile.pop"
    shutil.copy(source, path)
    return path, sqlite3.connect(path, isolation_level=None)


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        (f"PRAGMA user_version={SCHEMA_VERSION + 1}", f"version {SCHEMA_VERSION + 1}.*newer Tremula"),
        ("PRAGMA user_version=0", "no known version"),
        ("PRAGMA application_id=7", "something else"),
        ("CREATE VIEW more AS SELECT * FROM stages", "views, triggers"),
        ("CREATE TRIGGER t AFTER INSERT ON stages BEGIN DELETE FROM stages; END", "views, triggers"),
        ("CREATE INDEX i ON stages(ipu)", "views, triggers"),
        ("CREATE TABLE more (x)", "tables are not those"),
        ("ALTER TABLE stages ADD COLUMN more AS (upper(phases))", "tables are not those"),
        ("DROP TABLE stages", "tables are not those"),
        ("UPDATE meta SET value='0' WHERE key='rows:stages'", "digest"),
        ("DELETE FROM meta", "digest"),
        ("DELETE FROM stages WHERE stage=1", "do not match"),
        ("UPDATE stages SET forward_cycles=forward_cycles+1 WHERE stage=1", "do not match"),
        ("UPDATE stages SET phases=7 WHERE stage=1", "do not match"),
        ("UPDATE stages SET phases=x'00ff' WHERE stage=1", "phases is of type bytes"),
        ("UPDATE stages SET ipu='many' WHERE stage=1", "ipu is of type str"),
        ("UPDATE stages SET ipu=-5 WHERE stage=1", "ipu is -5"),
        ("UPDATE stages SET forward_cycles=9e999 WHERE stage=1", "forward_cycles is inf"),
        ("UPDATE stages SET phases=cast(x'ff' as text) WHERE stage=1", "damaged"),
        ("INSERT INTO stages SELECT * FROM stages", "do not match"),
    ],
)
def test_changed_files_are_refused(profile_file: Path, tmp_path: Path, statement: str, said: str) -> None:
    path, connection = _copy(profile_file, tmp_path)
    connection.execute(statement)
    connection.close()

    def read() -> None:
        with Profile(path) as profile:
            profile.stages

    with pytest.raises(Error, match=said) as problem:
        read()
    assert str(path) in problem.value.message


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"", "not an SQLite"), (b"SQLite format 3\0", "not an SQLite"), (b"x" * 5000, "not an SQLite")],
)
def test_other_files_are_refused(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "profile.pop"
    path.write_bytes(content)
    with pytest.raises(Error, match=said):
        Profile(path)


def test_what_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(Error, match=r"cannot be opened.*tremula profile"):
        Profile(tmp_path / "profile.pop")
    with pytest.raises(Error, match="cannot be opened"):
        Profile(tmp_path)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_a_file_that_ends_too_early_is_refused(profile_file: Path, tmp_path: Path, share: float) -> None:
    data = profile_file.read_bytes()
    path = tmp_path / "profile.pop"
    path.write_bytes(data[: int(share * len(data))])
    with pytest.raises(Error, match="damaged"):
        Profile(path)


def test_reading_changes_nothing_and_leaves_nothing(profile_file: Path, tmp_path: Path) -> None:
    path, connection = _copy(profile_file, tmp_path)
    connection.close()
    before = path.read_bytes()
    with Profile(path) as profile:
        profile.ops
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["profile.pop"]


_HOSTILE: list[tuple[str, Callable[[Any], Any], Callable[[Profile], Any]]] = [
    ("plan", lambda r: replace(r, plan_id=9999) if isinstance(r, model.Op) else r, lambda p: p.ops),
    ("order", lambda r: replace(r, id=r.id + 1) if isinstance(r, model.Op) else r, lambda p: p.ops),
    ("tiles", lambda r: replace(r, tiles=3) if isinstance(r, model.TileMemory) else r, lambda p: p.tile_bytes(0)),
    ("sum", lambda r: replace(r, total_bytes=1) if isinstance(r, model.TileMemory) else r,
     lambda p: p.tile_bytes(0)),
    ("category", lambda r: None if isinstance(r, model.Category) else r, lambda p: p.tile_bytes(0)),
    ("target", lambda r: None if isinstance(r, model.Target) else r, lambda p: p.target),
    ("no tiles", lambda r: replace(r, tiles_per_ipu=0) if isinstance(r, model.Target) else r, lambda p: p.target),
    ("many tiles", lambda r: replace(r, tiles_per_ipu=2**50) if isinstance(r, model.Target) else r,
     lambda p: p.target),
    ("steps", lambda r: replace(r, steps=2**40) if isinstance(r, model.Liveness) else r, lambda p: p.live_bytes(0)),
    ("reason", lambda r: replace(r, why=Json("[" * 60_000)) if isinstance(r, model.Plan) else r,
     lambda p: p.reason(p.plans[0])),
    ("nested reason", lambda r: replace(r, why=Json('{"parts":[' * 50 + "]}" * 50)) if isinstance(r, model.Plan)
     else r, lambda p: p.reason(p.plans[0])),
    ("number", lambda r: replace(r, why=Json('{"figures":{"a":1e999}}')) if isinstance(r, model.Plan) else r,
     lambda p: p.reason(p.plans[0])),
]  # fmt: skip


@pytest.mark.parametrize(("change", "read"), [h[1:] for h in _HOSTILE], ids=[h[0] for h in _HOSTILE])
def test_values_that_cannot_be_are_refused_even_with_matching_digests(
    profile_file: Path,
    tmp_path: Path,
    rewrite_profile: Callable[..., Path],
    change: Callable[[Any], Any],
    read: Callable[[Profile], Any],
) -> None:
    path = rewrite_profile(profile_file, tmp_path / "profile.pop", change)
    with Profile(path) as profile, pytest.raises(Error, match="cannot be read as a profile"):
        read(profile)


def test_a_tree_that_is_too_deep_is_refused(tmp_path: Path) -> None:
    with ProfileWriter(tmp_path / "profile.pop") as writer:
        writer.frame("programs").add(
            {
                "parent": np.arange(-1, 99), "type": 1, "kind": "op", "name": "", "repeats": 1, "cycles": 1.0,
                "op_id": -1, "compute_set": -1, "context": -1, "code_bytes": 0,
            }
        )  # fmt: skip
    with Profile(tmp_path / "profile.pop") as profile, pytest.raises(Error, match="too deep"):
        profile.programs


def test_an_empty_profile_has_empty_tables(tmp_path: Path) -> None:
    with ProfileWriter(tmp_path / "profile.pop"):
        pass
    with Profile(tmp_path / "profile.pop") as profile:
        assert profile.ops == ()
        assert profile.tile_bytes is not None
        assert profile.live_bytes(0)[0].size == 0
        assert profile.program_steps[0].size == 0
        with pytest.raises(Error, match="does not say what was modelled"):
            profile.target
