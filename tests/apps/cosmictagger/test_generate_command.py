"""`cosmictagger generate`: a file of events, the same however many processes make it; whole or not there at all."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from cosmictagger.data import EventFile, Generator
from cosmictagger.data.generate.events import generate
from cosmictagger.main import main

SMALL = ["--wires", "64", "--ticks", "32"]


def made(path: Path, *words: str) -> list[list[object]]:
    """The events of a file that the command writes, each as plain values."""
    assert main(["generate", str(path), *SMALL, *words]) == 0
    return [plain(event) for event in EventFile(path)]


def plain(event: object) -> list[object]:
    arrays = (np.asarray(getattr(event, name)) for name in ("ids", "values", "labels", "offsets", "vertex"))
    return [
        *((each.dtype.str, each.shape, each.tobytes()) for each in arrays),
        repr((event.truth, event.event_id)),  # type: ignore[attr-defined]
    ]


def test_it_writes_a_file_and_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "new" / "events.h5"
    events = made(path, "--events", "3", "--seed", "5", "--first", "2", "--cosmics", "1", "--processes", "1")
    out = capsys.readouterr().out
    assert out == f"3 events in {path} ({path.stat().st_size / 1e6:.1f} MB)\n"
    generator = Generator(5, (64, 32), 1)
    assert events == [plain(generator.event(number)) for number in (2, 3, 4)]
    assert list(path.parent.iterdir()) == [path]


def test_any_number_of_processes_makes_the_same_events(tmp_path: Path) -> None:
    one = made(tmp_path / "one.h5", "--events", "11", "--processes", "1")
    two = made(tmp_path / "two.h5", "--events", "11", "--processes", "2")
    assert len(one) == 11
    assert one == two
    assert len({each[1] for each in one}) == 11


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--events", "0"], 1, "number of events and of processes must be 1"),
        (["--processes", "0"], 1, "of processes"),
        (["--first", "-1"], 1, "0 or more"),
        (["--seed", "-1"], 1, "0 or more"),
        (["--cosmics", "101"], 1, "0 to 100"),
        (["--wires", "8"], 1, "16 to 8192"),
        (["--events", "many"], 2, "'many'"),
        (["--event-count", "3"], 2, "--event-count"),
    ],
)
def test_what_cannot_be_made_is_told_and_leaves_nothing(
    words: list[str], code: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["generate", str(tmp_path / "deep" / "events.h5"), *words]) == code
    printed = capsys.readouterr()
    assert said in printed.err.splitlines()[-1]
    assert printed.err.startswith("cosmictagger: " if code == 1 else "usage: ")
    assert printed.err.count("\n") == 1 or code == 2
    assert printed.out == ""
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("mine")
    assert main(["generate", str(tmp_path / "file" / "events.h5"), *SMALL, "--events", "1"]) == 1
    assert capsys.readouterr().err.startswith("cosmictagger: ")
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize(
    ("processes", "number", "code"),
    [
        ("1", signal.SIGINT, 130),
        ("1", signal.SIGTERM, 143),
        pytest.param("2", signal.SIGINT, 130, marks=pytest.mark.slow),
    ],
)
def test_interrupted_it_leaves_nothing_and_what_was_there_stays(
    processes: str, number: signal.Signals, code: int, tmp_path: Path
) -> None:
    path = tmp_path / "events.h5"
    path.write_text("an old file")
    command = [sys.executable, "-m", "cosmictagger", "generate", str(path), *SMALL, "--events", "1000000"]
    with subprocess.Popen(
        [*command, "--processes", processes],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        try:
            end = time.monotonic() + 90
            while not list(tmp_path.glob(".events.h5.*")):
                assert running.poll() is None, running.communicate()
                assert time.monotonic() < end
                time.sleep(0.05)
            running.send_signal(number)
            out, error = running.communicate(timeout=90)
        finally:
            running.kill()
    assert running.returncode == code
    assert out == ""
    assert ("cosmictagger: interrupted." in error.splitlines()) == (number == signal.SIGINT)
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_text() == "an old file"


def test_ctrl_c_inside_a_weak_reference_callback_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Watched:
        pass

    def interrupt(_: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    def events(*_: object) -> Iterator[object]:
        watched = Watched()
        kept = weakref.ref(watched, interrupt)
        del watched
        assert kept() is None
        while True:
            yield Generator(0, (64, 32), 0).event(0)

    module = sys.modules["cosmictagger.data.generate.events"]
    monkeypatch.setattr(module, "_mapping", lambda _: contextlib.nullcontext(events))
    with pytest.raises(KeyboardInterrupt):
        generate(tmp_path / "events.h5", 50, progress=False)
    assert list(tmp_path.iterdir()) == []
