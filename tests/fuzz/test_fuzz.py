"""The short form of `make fuzz`: a few cases of each target, and proof that a failing case is noticed."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from fuzz.__main__ import main  # noqa: E402
from fuzz.tally import Failure, Kind, Tally, print_summary  # noqa: E402
from fuzz.targets import TARGETS  # noqa: E402

from fuzz import processes, runner  # noqa: E402

#: targets of events, and so many cases that each sort is among them
_EVENTS = {"kills": 16, "interrupts": 18, "poplar_kills": 8}


@pytest.mark.parametrize(
    "name",
    [
        "profiles",
        "traces",
        "programs",
        "cosmictagger",
        "cosmoflow",
        "weights",
        "configurations",
        "logs",
        "cache",
        "executables",
        "session_executables",
        "onnx",
        "poplar",
        "codelets",
    ],
)
def test_hostile_files_are_read_or_refused(name: str) -> None:
    if name in ("onnx", "session_executables"):
        pytest.importorskip("onnx", reason="pip install 'tremula[onnx]'")
    assert _failures(name, 40) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in TARGETS if name not in _EVENTS])
def test_more_hostile_files_are_read_or_refused(name: str) -> None:
    assert _failures(name, 300) == []


@pytest.mark.parametrize("name", list(_EVENTS))
def test_kills_and_interrupts_do_no_harm(name: str) -> None:
    assert _failures(name, _EVENTS[name]) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", list(_EVENTS))
def test_more_kills_and_interrupts_do_no_harm(name: str) -> None:
    assert _failures(name, 100) == []


_OUTSIDE = """
import pathlib, subprocess, sys
from fuzz.watch import Watch
watch = Watch(pathlib.Path(sys.argv[1]))
watch.active = True
open(sys.argv[1] + "/inside", "w").close()
assert not watch.seen, watch.seen
open(sys.argv[2], "w").close()
subprocess.run(["true"])
print(watch.seen)
"""


def test_what_is_written_outside_of_the_folder_or_started_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    arguments = [str(tmp_path / "folder"), str(tmp_path / "outside")]
    done = subprocess.run(
        [sys.executable, "-c", _OUTSIDE, *arguments], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "outside" in done.stdout
    assert "subprocess.Popen" in done.stdout


def test_every_kind_of_harm_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "_GRACE_SECONDS", 0.2)
    with _run("tests.fuzz.harmful:HARMFUL") as run:
        outside = run.folder.with_name(f"{run.folder.name}-outside")
        tally = run.step(5)
        outside.unlink()
        assert [(each.number, each.kind) for each in tally.failures] == [
            (0, Kind.WRONG),
            (1, Kind.CRASH),
            (2, Kind.OUTSIDE),
        ]
        assert tally.events["harmless"] == 2
        assert tally.left_behind == ["sleep 600 "]
        assert processes.left(str(run.folder), 10) == [], "it is killed"


def test_the_summary_counts_every_kind(capsys: pytest.CaptureFixture[str]) -> None:
    tally = Tally("x", failures=[Failure(3, Kind.WRONG, "mixed")], left_behind=["sleep 600"])
    print_summary([tally, Tally("y", read=2)], seed=0)
    assert not tally.clean
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "3 tried, 2 survived, 1 failed",
        "0 crashes, 1 wrong results, 0 programs or pickles started, 0 writes outside of the folders, "
        "1 processes left behind",
    ]


def test_the_command_prints_what_was_tried(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--cases", "5", "--targets", "logs"]) == 0
    assert "5 tried, 5 survived, 0 failed" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["--targets", "nothing"])


@contextlib.contextmanager
def _run(name: str) -> Iterator[runner.Run]:
    run = runner.Run(name, seed=1)
    try:
        yield run
    finally:
        run.close()


def _failures(name: str, cases: int) -> list[Failure]:
    with _run(name) as run:
        tally = run.step(cases)
        assert tally.left_behind == []
        return tally.failures
