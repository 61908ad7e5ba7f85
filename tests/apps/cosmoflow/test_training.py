"""Training: it learns, it stops when it should, and it goes on where it was."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from cosmoflow import checkpoints
from cosmoflow.checkpoints import BadCheckpoint
from cosmoflow.processes import Processes
from cosmoflow.schedule import Schedule
from cosmoflow.settings import ConfigError
from cosmoflow.training import Interrupted, NotFinite, Trainer


def train(config: Any, lines: list[str] | None = None) -> Trainer:
    trainer = Trainer(config, Processes.of(config), [].append if lines is None else lines.append)
    trainer.run()
    return trainer


def newest(config: Any) -> dict[str, Any]:
    return checkpoints.load(checkpoints.numbered(Path(config.output) / "checkpoints")[-1])


def same_weights(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return all(torch.equal(value, other["network"][name]) for name, value in one["network"].items())


# -- schedule ---------------------------------------------------------------------------------------------------


def test_the_rate_warms_up_and_falls_in_steps() -> None:
    schedule = Schedule(0.001, 64, 256, warmup=4, decay_epochs=(32, 64), decay_factors=(0.25, 0.125))
    assert schedule.full_rate == pytest.approx(0.004)
    assert schedule.rate(1) == pytest.approx(0.001)
    assert schedule.rate(4) == schedule.rate(32) == pytest.approx(0.004)
    assert schedule.rate(32.01) == pytest.approx(0.001)
    assert schedule.rate(100) == pytest.approx(0.0005)
    assert Schedule(0.5, 0, 256).rate(0.1) == 0.5


def test_steps_that_do_not_fit_are_refused(settings: Callable[..., Any]) -> None:
    with pytest.raises(ConfigError, match="each epoch needs its factor"):
        train(settings("train.decay_epochs=[1]"))


# -- learning ---------------------------------------------------------------------------------------------------


def test_the_loss_falls(settings: Callable[..., Any]) -> None:
    history = train(settings("train.epochs=12", "train.rate=0.01")).history
    assert len(history) == 12
    assert history[-1]["train_loss"] < 0.6 * history[0]["train_loss"]
    assert history[-1]["validation_mae"] < 0.8 * history[0]["validation_mae"]


def test_half_precision_is_half_and_learns(settings: Callable[..., Any]) -> None:
    config = settings("train.epochs=6", "device.precision=half", "train.rate=0.01")
    trainer = train(config)
    assert {value.dtype for value in newest(config)["network"].values()} == {torch.float16}
    assert trainer.history[-1]["train_loss"] < 0.9 * trainer.history[0]["train_loss"]


def test_accumulation_and_replicas_are_a_larger_batch(settings: Callable[..., Any], tmp_path: Path) -> None:
    found = []
    for name, words in (
        ("plain", ["device.batch=8"]),
        ("accumulated", ["device.batch=2", "device.accumulation=4"]),
        ("replicated", ["device.batch=4", "device.replicas=2"]),
        ("pipelined", ["device.batch=2", "device.accumulation=4", "device.ipus=2"]),
        ("looped", ["device.batch=8", "device.iterations=3"]),
    ):
        config = settings("train.optimizer=sgd", "train.rate=0.02", *words, f"output={tmp_path / name}")
        trainer = train(config)
        assert trainer.global_batch == 8
        assert trainer.step == 6
        found.append(newest(config))
    for other in found[1:]:
        for name, value in found[0]["network"].items():
            torch.testing.assert_close(other["network"][name], value, rtol=1e-4, atol=1e-6)


def test_the_rate_follows_the_global_batch(settings: Callable[..., Any]) -> None:
    config = settings("train.rate_batch=2", "device.accumulation=3", "train.epochs=1")
    assert train(config).history[0]["rate"] == pytest.approx(0.005 * 12 / 2)


# -- stopping ---------------------------------------------------------------------------------------------------


def test_a_network_that_cannot_learn_any_more_is_told(settings: Callable[..., Any]) -> None:
    lines: list[str] = []
    train(settings("train.optimizer=sgd", "train.rate=1e6"), lines)
    assert any("at the ends of the tangent" in line for line in lines)


def test_training_stops_at_the_target(settings: Callable[..., Any]) -> None:
    lines: list[str] = []
    trainer = train(settings("train.target=2.0", "train.epochs=50"), lines)
    assert trainer.epoch == 1
    assert any(line.startswith("Target reached") for line in lines)


def test_a_loss_that_is_not_finite_ends_the_run_and_keeps_the_last_good_state(
    settings: Callable[..., Any],
) -> None:
    words = ["device.precision=half", "train.optimizer=sgd"]
    config = settings(*words, "train.epochs=1")
    train(config)
    good = newest(config)
    # gradients that are scaled beyond what half precision holds
    with pytest.raises(NotFinite, match=r"The loss is (nan|inf).*another device\.loss_scaling"):
        train(settings(*words, "train.epochs=5", "device.loss_scaling=1e9"))
    assert same_weights(newest(config), good)


def test_too_few_samples_are_named(settings: Callable[..., Any]) -> None:
    with pytest.raises(ConfigError, match="24 training samples do not fill one call"):
        train(settings("device.batch=5", "device.iterations=5"))


# -- going on ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_a_stopped_run_goes_on_to_the_bit(
    settings: Callable[..., Any], tmp_path: Path, optimizer: str
) -> None:
    words = [f"train.optimizer={optimizer}", "train.epochs=3", "network.dropout=0.3", "data.augment=true"]
    whole = settings(*words, f"output={tmp_path / 'whole'}")
    train(whole)
    parts = settings(*words, f"output={tmp_path / 'parts'}")
    trainer = Trainer(parts, Processes(), lambda line: None)
    real, calls = trainer.model.train, []

    def counted(x: torch.Tensor, y: torch.Tensor) -> Any:
        calls.append(1)
        if len(calls) == 8:  # in the second epoch, after a validation
            signal.raise_signal(signal.SIGINT)
        return real(x, y)

    trainer.model.train = counted  # type: ignore[method-assign]
    with pytest.raises(Interrupted, match="after 8 updates"):
        trainer.run()
    assert newest(parts)["done"] == 8
    going_on = train(parts)
    assert going_on.step == 18
    one, other = newest(whole), newest(parts)
    assert same_weights(one, other)
    assert one["history"][-1]["validation_mae"] == other["history"][-1]["validation_mae"]


def test_a_complete_run_is_left_alone_unless_told_otherwise(settings: Callable[..., Any]) -> None:
    config = settings()
    train(config)
    lines: list[str] = []
    assert train(config, lines).step == 12
    assert any("is complete" in line for line in lines)
    again = train(settings("train.resume=false", "train.epochs=1"))
    assert again.step == 6
    assert [path.name for path in checkpoints.numbered(Path(config.output) / "checkpoints")] == [
        "step-00000006.pt"
    ]


def test_the_newest_few_and_the_best_are_kept(settings: Callable[..., Any]) -> None:
    config = settings("train.epochs=4", "train.keep=2")
    train(config)
    folder = Path(config.output) / "checkpoints"
    assert sorted(path.name for path in folder.iterdir()) == [
        "best.pt",
        "step-00000018.pt",
        "step-00000024.pt",
    ]


def test_checkpoints_of_others_are_refused(settings: Callable[..., Any], tmp_path: Path) -> None:
    config = settings()
    train(config)
    with pytest.raises(BadCheckpoint, match=r"another network: conv_size 4 \(here 6\)"):
        train(settings("network.conv_size=6", "train.epochs=5"))
    with pytest.raises(BadCheckpoint, match="trained with Adam, but the settings say SGD"):
        train(settings("train.optimizer=sgd", "train.epochs=5"))
    path = checkpoints.numbered(Path(config.output) / "checkpoints")[-1]
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(BadCheckpoint, match="it is damaged"):
        train(settings("train.epochs=5"))
    torch.save({"format": 1}, tmp_path / "other.pt")
    with pytest.raises(BadCheckpoint, match="its entry 'network' is missing"):
        checkpoints.load(tmp_path / "other.pt")


def test_reading_ahead_changes_nothing(settings: Callable[..., Any], tmp_path: Path) -> None:
    plain = settings(f"output={tmp_path / 'plain'}")
    ahead = settings(f"output={tmp_path / 'ahead'}", "data.ahead=true", "data.workers=1")
    train(plain)
    train(ahead)
    assert same_weights(newest(plain), newest(ahead))


# -- several processes ------------------------------------------------------------------------------------------


@pytest.mark.timeout(180)
def test_two_instances_train_what_one_with_twice_the_batch_trains(
    settings: Callable[..., Any], words: list[str], tmp_path: Path
) -> None:
    common = ["train.optimizer=sgd", "train.rate=0.02", "train.epochs=2", "data.source=generated"]
    common += ["generate.train=24", "generate.validation=7", "generate.test=3"]
    one = settings(*common, f"output={tmp_path / 'one'}")
    train(one)
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("POPDIST_", "OMPI_"))
    }
    environment |= {"TREMULA_VIRTUAL_IPUS": "2", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "tremula.launch", "--num-instances", "2", "--num-replicas", "2"]
    command += [
        sys.executable,
        "-m",
        "cosmoflow",
        *words,
        *common,
        "device.batch=2",
        f"output={tmp_path / 'two'}",
    ]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=170, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    two = settings(f"output={tmp_path / 'two'}")
    a, b = newest(one), newest(two)
    assert a["step"] == b["step"] == 12
    for name, value in a["network"].items():
        torch.testing.assert_close(b["network"][name], value, rtol=1e-4, atol=1e-6)
    mine, theirs = a["history"][-1], b["history"][-1]
    assert mine["validation_mae"] == pytest.approx(theirs["validation_mae"], rel=1e-4)
    assert mine["train_mae"] == pytest.approx(theirs["train_mae"], rel=1e-4)


# -- the demo ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_demo_halves_the_error_on_universes_that_it_never_saw(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "cosmoflow", "--config-name=demo", "mode=train", f"output={tmp_path}"]
    subprocess.run(command, check=True, timeout=880)
    scores = json.loads((tmp_path / "scores.json").read_text())
    assert scores["mae"]["value"] < 0.5 * scores["mae_of_predicting_the_mean"]
    assert all(score["r2"]["value"] > 0.2 for score in scores["parameters"].values())
    assert (tmp_path / "report.html").is_file()
