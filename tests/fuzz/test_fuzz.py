"""The short form of `make fuzz`: a few cases of each target, and proof that a failing case is noticed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from fuzz.__main__ import main  # noqa: E402
from fuzz.targets import TARGETS  # noqa: E402

from fuzz import runner  # noqa: E402


@pytest.mark.parametrize(
    "name", ["profiles", "programs", "cosmictagger", "cosmoflow", "configurations", "logs", "cache"]
)
def test_hostile_files_are_read_or_refused(name: str) -> None:
    assert _failures(name, 40) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", list(TARGETS))
def test_more_hostile_files_are_read_or_refused(name: str) -> None:
    assert _failures(name, 300) == []


_OUTSIDE = """
import pathlib, subprocess, sys
from fuzz.child import Watch
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


def test_the_command_prints_what_was_tried(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--cases", "5", "--targets", "logs"]) == 0
    assert "5 tried, 5 survived, 0 failed" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["--targets", "nothing"])


def _failures(name: str, cases: int) -> list[tuple[int, str]]:
    run = runner.Run(name, seed=1)
    try:
        return run.step(cases).failures
    finally:
        run.close()
