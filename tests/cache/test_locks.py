"""Locks: one holder at a time among threads and processes, freed by death, explained to those who wait."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from tremula.cache import Store, Waiting, key_of, locks

from .conftest import KEY

HOLDER = textwrap.dedent(
    """
    import pathlib, sys, time
    from tremula.cache import Store
    root, private, key = sys.argv[1:]
    with Store(root, private_dir=pathlib.Path(private)).lock(key) as held:
        print(held, flush=True)
        time.sleep(60)
    """
)


def holder(store: Store, tmp_path: Path) -> subprocess.Popen[bytes]:
    """Another process that holds the lock of KEY."""
    arguments = [sys.executable, "-c", HOLDER, str(store.root), str(tmp_path / "private"), KEY]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"True\n"
    process.stdout.close()
    return process


def test_the_lock_is_free_again_afterwards_and_leaves_nothing_in_the_cache(store: Store) -> None:
    for _ in range(2):
        with store.lock(KEY) as held:
            assert held
    with pytest.raises(ZeroDivisionError), store.lock(KEY):
        1 / 0
    with store.lock(KEY, timeout=0) as held:
        assert held
    assert not store.root.exists()


def test_different_entries_and_folders_have_different_locks(store: Store, tmp_path: Path) -> None:
    elsewhere = Store(tmp_path / "elsewhere", private_dir=tmp_path / "private")
    with (
        store.lock(KEY, timeout=0) as one,
        store.lock(key_of({"n": 2}), timeout=0) as two,
        elsewhere.lock(KEY, timeout=0) as three,
    ):
        assert (one, two, three) == (True, True, True)


def test_threads_exclude_each_other(store: Store) -> None:
    inside: list[int] = []
    most: list[int] = []

    def work() -> None:
        for _ in range(5):
            with store.lock(KEY):
                inside.append(1)
                most.append(len(inside))
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 20


def test_who_waits_learns_for_whom_and_gets_the_lock_when_the_holder_is_killed(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "FIRST_REPORT", 0.1)
    monkeypatch.setattr(locks, "STEP", 0.1)
    process = holder(store, tmp_path)
    waits: list[Waiting] = []

    def waiting(wait: Waiting) -> None:
        waits.append(wait)
        if len(waits) == 2:
            process.send_signal(signal.SIGKILL)

    with store.lock(KEY, on_wait=waiting) as held:
        assert held
    process.wait()
    assert waits[0].pid == process.pid
    assert waits[0].host is None
    assert waits[0].holder == f"process {process.pid}"
    assert waits[1].seconds > waits[0].seconds


def test_waiting_ends_when_the_time_is_up(
    store: Store, tmp_path: Path, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "FIRST_REPORT", 0.05)
    monkeypatch.setattr(locks, "STEP", 0.05)
    process = holder(store, tmp_path)
    try:
        with store.lock(KEY, timeout=0.3) as held:
            assert not held
    finally:
        process.kill()
        process.wait()
    [line] = said
    assert f"waiting for process {process.pid}, which compiles the same model" in line


@pytest.mark.parametrize(
    "note",
    ["", "{", "[]", '{"pid": 1}', '{"pid": "1", "host": ""}', '{"pid": 1, "host": "\\u001b"}', "[" * 1000],
)
def test_a_holders_note_that_cannot_be_read_is_no_harm(tmp_path: Path, note: str) -> None:
    (tmp_path / "note").write_text(note)
    assert locks._read_note(tmp_path / "note", 1.0).holder == "another process"
    (tmp_path / "note").write_text('{"pid": 12, "host": "far-away"}')
    assert locks._read_note(tmp_path / "note", 1.0).holder == "process 12 on far-away"


def test_without_a_place_for_locks_work_goes_on(tmp_path: Path, said: list[str]) -> None:
    (tmp_path / "file").write_text("")
    store = Store(tmp_path / "cache", private_dir=tmp_path / "file")
    for _ in range(2):
        with store.lock(KEY) as held:
            assert not held
    assert len(said) == 1


def test_locks_unused_for_long_are_swept_unless_held(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "private" / "locks"
    with store.lock(KEY):
        [path] = folder.glob("*.lock")
        os.utime(path, (1, 1))
        assert locks.sweep(folder) == 0
    assert locks.sweep(folder) == 1
    assert list(folder.iterdir()) == []
    with store.lock(KEY) as held:
        assert held
        assert locks.sweep(folder) == 0
