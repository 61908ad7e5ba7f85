"""The tables of a profile as CSV: every row of every table, and nothing that a spreadsheet would run."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from tremula.errors import Error
from tremula.profile import Profile
from tremula.view.csv_export import write_csv_files


def _rows(path: Path) -> list[dict[str, str]]:
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_every_table_is_written_whole(profile_file: Path, tmp_path: Path) -> None:
    with Profile(profile_file) as profile:
        written = write_csv_files(profile, tmp_path / "tables")
        assert {path.stem for path in (tmp_path / "tables").iterdir()} == set(written)
        for name, count in written.items():
            assert len(_rows(tmp_path / "tables" / f"{name}.csv")) == count
        ops = _rows(tmp_path / "tables" / "ops.csv")
        assert [op["name"] for op in ops] == [op.name for op in profile.ops]
        assert sum(float(op["compute_cycles"]) for op in ops) == pytest.approx(
            sum(op.compute_cycles for op in profile.ops)
        )
        tiles = _rows(tmp_path / "tables" / "tiles.csv")
        assert len(tiles) == len(profile.ipus) * profile.target.tiles_per_ipu
        total = sum(int(row[use.name]) for row in tiles for use in profile.categories)
        assert total == sum(ipu.total_bytes for ipu in profile.ipus)


def test_no_text_is_a_formula(hostile_file: Path, tmp_path: Path) -> None:
    with Profile(hostile_file) as profile:
        written = write_csv_files(profile, tmp_path)
    assert "ops" in written
    for path in tmp_path.iterdir():
        for row in _rows(path):
            assert not [cell for cell in row.values() if cell.lstrip()[:1] in ("=", "@")]
            assert "\x1b" not in "".join(row.values())


def test_a_folder_that_cannot_be_written_is_told(profile_file: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with Profile(profile_file) as profile, pytest.raises(Error, match="cannot be written"):
        write_csv_files(profile, tmp_path / "file")
