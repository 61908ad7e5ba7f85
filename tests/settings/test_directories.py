"""Where state is kept when the usual folder cannot be written."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

import pytest

from tremula.settings.directories import state_directory, state_folder


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files."""
    path = tmp_path / "temporary"
    path.mkdir(mode=0o700)
    monkeypatch.setattr(tempfile, "tempdir", str(path))
    return path


@pytest.fixture
def unwritable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place for state that even root cannot write to: below a file."""
    path = tmp_path / "file"
    path.write_text("")
    monkeypatch.delenv("TREMULA_STATE_DIR")
    monkeypatch.setenv("XDG_STATE_HOME", str(path))
    return path


def test_the_usual_folder_is_used_where_it_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TREMULA_STATE_DIR")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert state_folder().problem == ""
    assert state_directory() == tmp_path / "tremula"
    assert list(tmp_path.iterdir()) == [], "looking writes nothing"


def test_state_goes_to_a_temporary_folder_of_the_user(unwritable: Path, temporary: Path) -> None:
    found = state_folder()
    assert found.path == temporary / f"tremula-{os.getuid()}"
    assert stat.S_IMODE(found.path.stat().st_mode) == 0o700
    assert str(unwritable / "tremula") in found.warning
    assert "Not a directory" in found.warning
    assert "TREMULA_STATE_DIR" in found.warning


@pytest.mark.parametrize("trap", ["link", "open", "file", "shared"])
def test_a_temporary_folder_that_others_could_change_is_not_used(
    trap: str, unwritable: Path, temporary: Path, tmp_path: Path
) -> None:
    own = temporary / f"tremula-{os.getuid()}"
    if trap == "link":
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        own.symlink_to(tmp_path / "elsewhere")
    elif trap == "open":
        own.mkdir()
        own.chmod(0o777)
    elif trap == "file":
        own.write_text("")
    else:
        temporary.chmod(0o777)  # not sticky, as /tmp is
    assert state_folder().path == unwritable / "tremula"


def test_a_folder_that_the_user_named_is_taken_as_it_is(
    unwritable: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREMULA_STATE_DIR", str(unwritable / "mine"))
    assert state_directory() == unwritable / "mine"
