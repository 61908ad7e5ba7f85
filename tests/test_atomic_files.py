"""Files are there whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from tremula.atomic_files import whole_file


def test_a_file_is_replaced_when_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file.txt"
    for text in ("first", "second"):
        with whole_file(path) as file:
            file.write(text)
            assert not path.exists() or path.read_text() == "first"
        assert path.read_text() == text
    assert [each.name for each in path.parent.iterdir()] == ["file.txt"]


def test_what_was_there_stays_when_something_goes_wrong(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.write_text("old")

    def interrupted() -> None:
        with whole_file(path) as file:
            file.write("half of the ne")
            raise InterruptedError

    with pytest.raises(InterruptedError):
        interrupted()
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["file.txt"]
