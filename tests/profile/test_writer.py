"""Writing is all or nothing, whatever happens to the writer."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from tremula.errors import Error
from tremula.profile import Profile, ProfileWriter, model
from tremula.profile.writer import remove_leftovers

_WRITER = textwrap.dedent(
    """
    import sys, time
    from tremula.profile import ProfileWriter, model
    with ProfileWriter(sys.argv[1]) as writer:
        print("writing", flush=True)
        for number in range(200_000):
            writer.add(model.Superstep(0, f"step {number}", 1, 1.0, 1.0, 1.0, 1.0, 1, 1, 1.0))
    print("done", flush=True)
    """
)


def _small(path: Path, part: str) -> None:
    with ProfileWriter(path) as writer:
        writer.add(model.Part(part, 1.0))


def test_a_new_file_replaces_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "profile.pop"
    _small(path, "old")
    _small(path, "new")
    with Profile(path) as profile:
        assert profile.breakdown == {"new": 1.0}
    assert [each.name for each in path.parent.iterdir()] == ["profile.pop"]


def test_an_error_while_writing_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "profile.pop"
    _small(path, "old")

    def fail() -> None:
        with ProfileWriter(path) as writer:
            writer.add(model.Part("new", 1.0))
            raise KeyError("in between")

    with pytest.raises(KeyError):
        fail()
    with Profile(path) as profile:
        assert profile.breakdown == {"old": 1.0}
    assert [each.name for each in tmp_path.iterdir()] == ["profile.pop"]


def test_rows_beyond_the_limit_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "profile.pop"
    with ProfileWriter(path) as writer:
        writer.extend(model.Part(str(number), 1.0) for number in range(130))
    with Profile(path) as profile:
        assert len(profile.breakdown) == 100
        assert profile.meta["left_out:breakdown"] == "30"


def test_a_folder_that_cannot_be_written_to_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(Error, match=r"cannot be written.*autoReport\.directory"):
        _small(tmp_path / "file" / "profile.pop", "new")


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("delay", [0.0, 0.15, 0.5])
def test_a_killed_writer_leaves_the_old_file_or_none(tmp_path: Path, old: bool, delay: float) -> None:
    path = tmp_path / "profile.pop"
    if old:
        _small(path, "old")
    process = subprocess.Popen([sys.executable, "-c", _WRITER, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "writing\n"
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)
    process.wait()
    finished = "done" in process.stdout.read()
    process.stdout.close()
    if old or finished:
        with Profile(path) as profile:  # one or the other, whole
            assert profile.breakdown == ({} if finished else {"old": 1.0})
    else:
        assert not path.exists()
    _small(path, "next")
    assert [each.name for each in tmp_path.iterdir()] == ["profile.pop"], "the dead writer's file is gone"


def test_files_of_living_writers_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "profile.pop"
    with ProfileWriter(path) as writer:
        mine = [each.name for each in tmp_path.iterdir()]
        remove_leftovers(path)
        assert [each.name for each in tmp_path.iterdir()] == mine
        assert f".{os.getpid()}." in mine[0]
        writer.add(model.Part("compute", 1.0))
    (tmp_path / ".profile.pop.elsewhere.1.00000000.part").write_text("another host's")
    remove_leftovers(path)
    assert len(list(tmp_path.iterdir())) == 2
