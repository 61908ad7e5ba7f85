"""Checkpoints: whole or not at all, safe to read, newest and best kept; runs that are stopped or killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from cosmictagger.training.checkpoints import (
    BadCheckpoint,
    Checkpoint,
    Checkpoints,
    Position,
    difference,
    read,
)
from safetensors.torch import save_file

APPS = Path(__file__).parents[3] / "apps"


def checkpoint(step: int) -> Checkpoint:
    return Checkpoint(
        Position(step=step, epoch=1, done=4, seen=12, best=0.5, best_step=2, random_words=[1, 2**31]),
        {"a.weight": torch.full((2, 3), float(step)), "count": torch.tensor(step)},
        {"Accl1___a.weight": torch.ones(2, 3), "Step___a.weight": torch.tensor(3.0)},
        {"torch": torch.get_rng_state()},
        {"depth": 3, "name": "x"},
        "adam",
        "float32",
        "IPU",
    )


def test_what_is_read_is_what_was_written(tmp_path: Path) -> None:
    written = checkpoint(7)
    found = read(Checkpoints(tmp_path).save(written))
    assert found.position == written.position
    assert found.shape == written.shape
    for part in ("network", "optimizer", "random"):
        first, second = getattr(written, part), getattr(found, part)
        assert first.keys() == second.keys()
        assert all(
            torch.equal(first[name], second[name]) and first[name].dtype == second[name].dtype
            for name in first
        )


def test_the_newest_are_kept_and_the_best_beside_them(tmp_path: Path) -> None:
    kept = Checkpoints(tmp_path, keep=2)
    kept.save(checkpoint(1), best=True)
    for step in (1, 2, 10, 9):
        kept.save(checkpoint(step))
    assert kept.steps() == [9, 10]
    assert kept.for_inference() == tmp_path / "best.safetensors"
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "best.safetensors",
        "checkpoint",
        "model-10.safetensors",
        "model-9.safetensors",
    ]


def test_a_broken_file_is_passed_over_for_the_one_before(tmp_path: Path) -> None:
    kept = Checkpoints(tmp_path)
    kept.save(checkpoint(1))
    path = kept.save(checkpoint(2))
    path.write_bytes(path.read_bytes()[:200])
    found, problems = kept.newest()
    assert found is not None
    assert found.position.step == 1
    assert len(problems) == 1
    assert "model-2.safetensors cannot be read" in problems[0]


def test_a_draft_that_a_killed_run_left_is_cleared_away(tmp_path: Path) -> None:
    (tmp_path / ".model-3.safetensors.abcd.part").write_bytes(b"half")
    kept = Checkpoints(tmp_path)
    assert kept.newest() == (None, [])
    kept.save(checkpoint(4))
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("metadata", [{}, {"format": "cosmictagger-checkpoint-1", "about": "{}"}])
def test_another_file_is_refused(tmp_path: Path, metadata: dict[str, str]) -> None:
    path = tmp_path / "other.safetensors"
    save_file({"a": torch.ones(1)}, path, metadata)
    with pytest.raises(BadCheckpoint):
        read(path)


def test_a_pickle_is_refused_and_not_executed(tmp_path: Path) -> None:
    path = tmp_path / "model-1.safetensors"
    torch.save({"state_dict": {}}, path)
    with pytest.raises(BadCheckpoint):
        read(path)


def test_what_differs_between_two_networks_is_named() -> None:
    assert difference({"depth": 3, "name": "a"}, {"depth": 3, "name": "b"}) is None
    assert difference({"depth": 3}, {"depth": 6}) == "network.depth is 6 there and 3 here"


def start(folder: Path, *overrides: str) -> subprocess.Popen[str]:
    """A training run in a process of its own, long enough not to end by itself."""
    tiny = ["data.wires=32", "data.ticks=32", "data.downsample=0", "data.events=8", "data.aux_events=2"]
    tiny += ["network=demo", "network.depth=1", "network.n_initial_filters=2", "network.bottleneck_deepest=2"]
    tiny += [
        "run.compute_mode=CPU",
        "run.aux_iterations=0",
        "mode.summary_iteration=0",
        "run.iterations=100000",
    ]
    return subprocess.Popen(
        [sys.executable, "-m", "cosmictagger", *tiny, f"output_dir={folder}", "run.id=stopped", *overrides],
        env={**os.environ, "PYTHONPATH": str(APPS)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(process: subprocess.Popen[str], words: str) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if words in line:
            return
    raise AssertionError(f"{words!r} never came: {process.communicate()[1]}")


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow)]
)
def test_an_interrupted_run_saves_itself_and_goes_on(tmp_path: Path, number: int, code: int) -> None:
    process = start(tmp_path, "mode.checkpoint_iteration=0")
    wait_for(process, "train Step 3 ")
    process.send_signal(number)
    output, errors = process.communicate(timeout=100)
    assert process.returncode == code
    assert "Traceback" not in errors
    assert "start it again to continue from there" in output
    kept = Checkpoints(tmp_path / "torch" / "demo" / "stopped" / "checkpoints")
    (step,) = kept.steps()
    assert step > 3
    if number == signal.SIGINT:
        return
    again = start(tmp_path, f"run.iterations={step + 2}")
    output, errors = again.communicate(timeout=100)
    assert again.returncode == 0, errors
    assert f"Restored step {step}" in output
    assert f"train Step {step + 1} " in output


def test_a_killed_run_leaves_its_last_checkpoint(tmp_path: Path) -> None:
    process = start(tmp_path, "mode.checkpoint_iteration=1", "mode.keep_checkpoints=2")
    wait_for(process, "train Step 5 ")
    process.kill()
    process.communicate(timeout=100)
    kept = Checkpoints(tmp_path / "torch" / "demo" / "stopped" / "checkpoints")
    found, problems = kept.newest()
    assert found is not None
    assert problems == []
    assert found.position.step >= 5
