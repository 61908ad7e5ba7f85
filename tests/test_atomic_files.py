"""A file is replaced as a whole or not at all."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tremula.atomic_files import PendingFile, atomic_open, atomic_open_binary, atomic_path, write_problem


def test_a_file_is_replaced_when_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file.txt"
    for text in ("first", "second"):
        with atomic_open(path) as file:
            file.write(text)
            assert not path.exists() or path.read_text() == "first"
        assert path.read_text() == text
    assert [each.name for each in path.parent.iterdir()] == ["file.txt"]


def test_what_was_there_stays_when_something_goes_wrong(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.write_text("old")

    def interrupted() -> None:
        with atomic_open(path) as file:
            file.write("half of the ne")
            raise InterruptedError

    with pytest.raises(InterruptedError):
        interrupted()
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["file.txt"]


def test_permissions_are_exact_whatever_the_umask(tmp_path: Path) -> None:
    path = tmp_path / "key"
    before = os.umask(0o277)
    try:
        with atomic_open_binary(path, permissions=0o600) as file:
            file.write(b"secret")
            [temporary] = tmp_path.iterdir()
            assert stat.S_IMODE(temporary.stat().st_mode) == 0o600
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_bytes() == b"secret"


@pytest.mark.parametrize("hard_links", [True, False])
def test_a_file_that_must_be_new_replaces_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hard_links: bool
) -> None:
    def unsupported(*names: object) -> None:
        raise PermissionError

    if not hard_links:
        monkeypatch.setattr(os, "link", unsupported)
    path = tmp_path / "file"
    with atomic_open_binary(path, replace=False) as file:
        file.write(b"first")
    with pytest.raises(FileExistsError), atomic_open_binary(path, replace=False) as file:
        file.write(b"second")
    assert path.read_bytes() == b"first"
    assert os.listdir(tmp_path) == ["file"]


def test_a_folder_is_made_only_where_that_is_wanted(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), atomic_open_binary(tmp_path / "new" / "file", parents=False):
        pass
    assert not (tmp_path / "new").exists()


def test_a_path_for_a_library_that_opens_it_itself(tmp_path: Path) -> None:
    with atomic_path(tmp_path / "new" / "file") as path:
        path.write_bytes(b"content")
        assert not (tmp_path / "new" / "file").exists()
    assert (tmp_path / "new" / "file").read_bytes() == b"content"


def test_a_pending_file_says_who_writes_it_and_can_be_discarded(tmp_path: Path) -> None:
    pending = PendingFile(tmp_path / "file", "host.12")
    pending.create().close()
    [name] = os.listdir(tmp_path)
    assert name.startswith(".file.host.12.")
    assert name.endswith(".part")
    pending.discard()
    pending.discard()
    assert os.listdir(tmp_path) == []


def test_a_folder_is_tried_without_a_trace(tmp_path: Path) -> None:
    assert write_problem(tmp_path) is None
    assert write_problem(tmp_path / "not" / "there" / "yet") is None
    assert list(tmp_path.iterdir()) == []


def test_why_nothing_can_be_written_to_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert write_problem(tmp_path / "file" / "below") == "Not a directory"


@pytest.mark.skipif(sys.platform != "linux", reason="needs a file system that nobody can write to")
def test_a_file_system_that_is_not_for_files(tmp_path: Path) -> None:
    assert write_problem(Path("/proc/tremula")) is not None


def test_a_disk_without_room(tmp_path: Path) -> None:
    import resource

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, limits[1]))
    try:
        assert write_problem(tmp_path) == "File too large"
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_an_unfinished_file_goes_with_its_object(tmp_path: Path) -> None:
    pending = PendingFile(tmp_path / "file")
    pending.create().close()
    assert list(tmp_path.iterdir()) == [pending.temporary]
    del pending
    assert list(tmp_path.iterdir()) == []


def test_an_unfinished_file_goes_with_its_process(tmp_path: Path) -> None:
    program = f"""
from pathlib import Path
from tremula.atomic_files import PendingFile
pending = PendingFile(Path({str(tmp_path)!r}) / "file")
pending.create().close()
raise KeyboardInterrupt
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert b"KeyboardInterrupt" in ended.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_forked_process_leaves_the_file_to_its_writer(tmp_path: Path) -> None:
    pending = PendingFile(tmp_path / "file")
    pending.create().close()
    child = os.fork()
    if child == 0:
        pending.discard()
        os._exit(0)
    os.waitpid(child, 0)
    assert list(tmp_path.iterdir()) == [pending.temporary]
