"""Two thousand damaged files: each is refused with an `Error`, or read as what was written."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tremula.errors import Error
from tremula.profile import Profile, database
from tremula.profile.frames import FRAMES
from tremula.profile.schema import META, TABLES


def _everything(path: Path) -> dict[str, Any]:
    """All that a reader can get out of a profile."""
    with Profile(path) as profile:
        found: dict[str, Any] = {
            name: profile.rows(table.row) for name, table in TABLES.items() if table is not META
        }
        found["meta"] = dict(profile.meta)
        found["tiles"] = [
            {name: values.tolist() for name, values in profile.tile_bytes(row.ipu).items()}
            for row in profile.ipus
        ]
        found["live"] = [[v.tolist() for v in profile.live_bytes(row.ipu)] for row in profile.ipus]
        found["steps"] = [values.tolist() for values in profile.program_steps]
        found["reasons"] = [profile.reason(plan) for plan in profile.plans]
        for name in FRAMES:
            frame = profile.frame(name)
            columns = {column: frame.column(column) for column in frame.columns}
            found[f"frame {name}"] = {c: v if isinstance(v, list) else v.tolist() for c, v in columns.items()}
        found["programs"] = profile.programs
        found["on tiles"] = [
            [v.tolist() for v in profile.variables_on_tile(row.ipu, 3)] for row in profile.ipus
        ]
        return found


def _mutated(data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data)
    kind = chance.randrange(6)
    for _ in range(chance.choice((1, 1, 2, 8, 64))):
        at = chance.randrange(len(changed))
        if kind == 0:
            changed[at] ^= 1 << chance.randrange(8)
        elif kind == 1:
            changed[at] = chance.randrange(256)
        elif kind == 2:  # in the header and the first page, where the schema is
            changed[at % 4096] = chance.choice((0, 1, 0x7F, 0x80, 0xFF))
        elif kind == 3:
            size = min(chance.randrange(1, 512), len(changed) - at)
            changed[at : at + size] = bytes(size)
        elif kind == 4:
            size, other = chance.randrange(1, 4096), chance.randrange(len(changed))
            changed[at : at + size] = changed[other : other + size]
        else:
            del changed[at : at + chance.randrange(1, 64)]
    return bytes(changed)


def _refused(source: Path, path: Path, count: int) -> int:
    """How many of `count` mutated files are refused; all others are read as what was written."""
    data, expected = source.read_bytes(), _everything(source)
    chance = random.Random(20)
    refused = 0
    for number in range(count):
        path.write_bytes(_mutated(data, chance))
        found, message = None, str(path)
        try:
            found = _everything(path)
        except Error as problem:
            refused += 1
            message = problem.message
        assert found in (None, expected), f"mutation {number} was read as something else"
        assert str(path) in message
    return refused


def test_two_thousand_mutated_files_are_refused_or_read_correctly(profile_file: Path, tmp_path: Path) -> None:
    refused = _refused(profile_file, tmp_path / "profile.pop", 2_000)
    assert refused > 1_000, "most damage is noticed; the rest lies in unused bytes"


def test_large_files_are_as_safe_without_a_look_at_every_page(
    profile_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "CHECKED_WHOLE_BYTES", 0)
    assert _refused(profile_file, tmp_path / "profile.pop", 500) > 250


@pytest.mark.parametrize("version", [1, 2, 3])
def test_mutated_files_of_older_versions(
    profile_file: Path, tmp_path: Path, older: Callable[..., Path], version: int
) -> None:
    source = older(profile_file, tmp_path / "source.pop", version)
    assert _refused(source, tmp_path / "profile.pop", 100) > 50
