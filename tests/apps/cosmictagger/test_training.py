"""Training runs, from the command line to what they leave behind: on the processor and on IPUs."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from cosmictagger.config.groups import Optimizer, Precision, Schedule
from cosmictagger.main import main
from cosmictagger.training import checkpoints
from cosmictagger.training.precision import CastNetwork, loss_scaling
from cosmictagger.training.schedule import learning_rate
from cosmictagger.training.trainer import due

Run = Callable[..., Path]

#: a network and events that take milliseconds
TINY = [
    "data=synthetic",
    "data.wires=32",
    "data.ticks=32",
    "data.downsample=0",
    "data.events=8",
    "data.aux_events=3",
    "data.img_transform=true",
    "network=demo",
    "network.depth=1",
    "network.n_initial_filters=3",
    "network.bottleneck_deepest=4",
    "network.blocks_deepest_layer=1",
    "network.blocks_final=0",
    "run.compute_mode=CPU",
    "run.iterations=4",
    "run.aux_iterations=2",
    "mode.no_summary_images=true",
    "mode.checkpoint_iteration=2",
    "mode.optimizer.learning_rate=0.01",
    "mode.optimizer.loss_balance_scheme=light",
    "mode.optimizer.schedule=constant",
]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Trains in this process; gives the run's folder."""
    monkeypatch.setenv("TREMULA_CHIP_MODEL", "off")

    def start(name: str, *overrides: str, code: int = 0) -> Path:
        assert main([*TINY, f"output_dir={tmp_path}", f"run.id={name}", *overrides]) == code
        return tmp_path / "torch" / "demo" / name

    return start


def weights(folder: Path, step: int) -> checkpoints.Checkpoint:
    return checkpoints.read(folder / "checkpoints" / f"model-{step}.safetensors")


def same(first: dict[str, torch.Tensor], second: dict[str, torch.Tensor]) -> bool:
    return first.keys() == second.keys() and all(
        torch.equal(value, second[name]) for name, value in first.items()
    )


def near(first: dict[str, torch.Tensor], second: dict[str, torch.Tensor]) -> bool:
    return first.keys() == second.keys() and all(
        torch.allclose(value.float(), second[name].float(), atol=1e-4) for name, value in first.items()
    )


def test_a_run_leaves_everything_that_describes_it(run: Run) -> None:
    folder = run("whole", "mode.no_summary_images=false")
    names = {path.name for path in folder.iterdir()}
    assert names >= {
        "config.yaml",
        "provenance.json",
        "process.log",
        "train.csv",
        "test.csv",
        "metrics.jsonl",
    }
    for kind in ("train", "test"):
        (events,) = (folder / kind).iterdir()
        content = events.read_bytes()
        assert b"Average/Cosmic_IoU" in content
        assert b"plane2/Neutrino_IoU" in content
    assert b"learning_rate" in next((folder / "train").iterdir()).read_bytes()
    with open(folder / "train.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["step"] for row in rows] == ["0", "1", "2", "3"]
    assert {"loss", "Average/mIoU", "plane0/Total_Accuracy", "learning_rate", "io_fetch_time"} <= rows[
        0
    ].keys()
    provenance = json.loads((folder / "provenance.json").read_text())
    assert torch.__version__.startswith(provenance["packages"]["torch"].split("+")[0])
    assert provenance["config"]["run"]["iterations"] == 4
    assert provenance["host"]["cores"] >= 1
    log = (folder / "process.log").read_text()
    assert re.findall(r"test Step (\d+)", log) == ["2", "4"]
    assert "Total time to batch process except first two iterations: " in log
    assert (folder / "checkpoints" / "checkpoint").read_text() == "latest: model-4.safetensors\n"


@pytest.mark.parametrize("device", ["CPU", "IPU"])
def test_a_run_that_goes_on_equals_one_that_never_stopped_bit_for_bit(run: Run, device: str) -> None:
    mode = f"run.compute_mode={device}"
    whole = run("whole", mode)
    run("parts", mode, "run.iterations=2")
    parts = run("parts", mode)
    assert "Restored step 2" in (parts / "process.log").read_text()
    first, second = weights(whole, 4), weights(parts, 4)
    assert same(first.network, second.network)
    assert same(first.optimizer, second.optimizer)
    assert same(first.random, second.random)
    assert first.position == second.position
    assert len(first.optimizer) == 3 * sum(
        1 for name in first.network if not re.search("running|tracked", name)
    )
    with open(parts / "train.csv", newline="") as file:
        assert [row["step"] for row in csv.DictReader(file)] == ["0", "1", "2", "3"]


# a norm leaves the bias before it without a gradient but for rounding, which adam would blow up
@pytest.mark.parametrize(
    "settings",
    [
        ["network.normalization=none"],
        ["mode.optimizer.name=sgd"],
        pytest.param(["network.normalization=none", "mode.optimizer.name=rmsprop"], marks=pytest.mark.slow),
    ],
)
def test_a_run_can_change_between_cpu_and_ipu(run: Run, settings: list[str]) -> None:
    host = run("host", *settings)
    device = run("device", *settings, "run.compute_mode=IPU", "run.iterations=2")
    assert near(weights(host, 2).network, weights(device, 2).network)
    run("device", *settings)
    assert near(weights(host, 4).network, weights(device, 4).network)


def test_a_run_goes_on_with_another_number_of_replicas(run: Run) -> None:
    run("wider", "run.compute_mode=IPU", "run.iterations=2", "run.minibatch_size=1")
    folder = run("wider", "run.compute_mode=IPU", "run.replicas=2", "run.minibatch_size=1")
    position = weights(folder, 4).position
    # two steps with one event, then two with two
    assert (position.seen, position.done, position.replicas) == (6, 6, 2)
    assert position.epoch == 0


@pytest.mark.slow
def test_replicas_accumulation_and_batch_are_one_and_the_same(run: Run) -> None:
    """Without norms, and with a plain mean as loss, four events are four events."""
    plain = ["run.compute_mode=IPU", "network.normalization=none", "mode.optimizer.loss_balance_scheme=none"]
    plain += ["mode.optimizer.name=sgd", "run.iterations=2", "run.aux_iterations=0"]
    batch = weights(run("batch", *plain, "run.minibatch_size=4"), 2)
    replicas = weights(run("replicas", *plain, "run.minibatch_size=2", "run.replicas=2"), 2)
    accumulated = weights(run("accumulated", *plain, "mode.optimizer.gradient_accumulation=2"), 2)
    assert near(batch.network, replicas.network)
    assert near(batch.network, accumulated.network)


@pytest.mark.slow
def test_device_iterations_change_the_number_of_calls_and_nothing_else(run: Run) -> None:
    one = weights(run("one", "run.compute_mode=IPU", "run.aux_iterations=0"), 4)
    two = weights(run("two", "run.compute_mode=IPU", "run.aux_iterations=0", "run.device_iterations=2"), 4)
    assert same(one.network, two.network)


def test_a_pipeline_over_two_ipus_trains_the_same_network(run: Run) -> None:
    shared = ["run.compute_mode=IPU", "run.minibatch_size=1", "mode.optimizer.gradient_accumulation=3"]
    shared += ["run.iterations=2"]
    one = weights(run("one", *shared), 2)
    two = weights(run("two", *shared, "run.ipus=2", "run.recompute=blocks"), 2)
    assert near(one.network, two.network)


def test_float16_keeps_half_weights_and_single_statistics(run: Run) -> None:
    found = weights(run("half", "run.compute_mode=IPU", "run.precision=float16", "run.iterations=2"), 2)
    kinds = {name: value.dtype for name, value in found.network.items()}
    assert kinds["initial.conv.weight"] == torch.float16
    assert kinds["initial.norm.running_var"] == torch.float32
    assert all(value.dtype == torch.float32 for value in found.optimizer.values())


@pytest.mark.parametrize(
    ("device", "precision"),
    [pytest.param("IPU", "mixed", marks=pytest.mark.slow), ("CPU", "mixed"), ("CPU", "bfloat16")],
)
def test_mixed_precision_keeps_single_weights(run: Run, device: str, precision: str) -> None:
    settings = ["run.iterations=2", f"run.compute_mode={device}"]
    found = weights(run(precision, *settings, f"run.precision={precision}"), 2)
    full = weights(run("full", *settings), 2)
    assert found.network["initial.conv.weight"].dtype == torch.float32
    assert not same(found.network, full.network)
    assert torch.allclose(found.network["head.weight"], full.network["head.weight"], atol=0.02)


def test_a_cast_network_computes_in_the_shorter_format() -> None:
    class Inner(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.head = torch.nn.Linear(2, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            assert self.head.weight.dtype == x.dtype == torch.bfloat16
            return self.head(x)

    network = CastNetwork(Inner(), torch.bfloat16)
    network(torch.ones(1, 2)).sum().backward()
    assert network.head.weight.grad is not None
    assert network.head.weight.grad.dtype == torch.float32


def test_the_loss_is_scaled_where_something_is_half() -> None:
    assert loss_scaling(None, Precision.float32) == loss_scaling(None, Precision.bfloat16) == 1
    assert loss_scaling(None, Precision.mixed) == loss_scaling(None, Precision.float16) == 128
    assert loss_scaling(8.0, Precision.float16) == 8


def test_a_tiny_network_learns(run: Run) -> None:
    folder = run("learns", "run.iterations=40", "run.aux_iterations=0", "mode.optimizer.learning_rate=0.02")
    with open(folder / "train.csv", newline="") as file:
        losses = [float(row["loss"]) for row in csv.DictReader(file)]
    assert sum(losses[-8:]) < 0.7 * sum(losses[:8])


def test_a_loss_that_is_no_number_stops_the_run(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = ["network.normalization=none", "mode.optimizer.name=sgd", "mode.checkpoint_iteration=1"]
    folder = run("wild", *settings, "run.iterations=1", "mode.optimizer.learning_rate=1e-9")
    run("wild", *settings, "run.iterations=50", "mode.optimizer.learning_rate=1e3", code=1)
    error = capsys.readouterr().err
    assert re.fullmatch(
        r"cosmictagger: The loss is (nan|inf) at step \d+, with the learning rate 1e\+03 .*\n", error
    )
    assert "the last good checkpoint is" in error
    kept = checkpoints.Checkpoints(folder / "checkpoints").newest()[0]
    assert kept is not None
    assert all(torch.isfinite(value.float()).all() for value in kept.network.values())


def test_a_complete_run_is_left_alone(run: Run) -> None:
    folder = run("done", "run.iterations=2", "run.aux_iterations=0")
    before = (folder / "checkpoints" / "model-2.safetensors").stat().st_mtime_ns
    run("done", "run.iterations=2", "run.aux_iterations=0")
    assert (folder / "checkpoints" / "model-2.safetensors").stat().st_mtime_ns == before
    assert "has its 2 iterations already" in (folder / "process.log").read_text()


def test_inference_reports_and_writes_predictions(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    from cosmictagger.data import EventFile

    folder = run("seen", "run.iterations=2", "run.aux_iterations=1")
    trained = [each for each in TINY if not each.startswith("mode.")]
    args = [*trained, f"output_dir={folder.parents[2]}", "run.id=seen", "mode=inference", "mode.gallery=1"]
    assert main([*args, "mode.bootstrap=20", "mode.probabilities=true"]) == 0
    report = json.loads((folder / "inference.json").read_text())
    assert report["events"] == 3
    assert 0 <= report["metrics"]["Average/mIoU"]["low"] <= report["metrics"]["Average/mIoU"]["value"]
    with open(folder / "inference.csv", newline="") as file:
        assert len(list(csv.DictReader(file))) == 3
    predicted = EventFile(folder / "predictions.h5", labels="prediction", vertex=None, truth=None)
    assert len(predicted) == 3
    assert predicted[0].labels is not None
    assert "Inference report over 3 events" in capsys.readouterr().out
    assert (folder / "gallery.html").is_file()


def test_the_schedule_of_epochs_warms_up_stays_and_decays() -> None:
    settings = Optimizer(learning_rate=3e-4)
    rates = [learning_rate(settings, 500, 0, epochs) for epochs in (0, 0.5, 1, 10, 21, 22, 100)]
    assert rates[0] == pytest.approx(1e-5)
    assert rates[1] == pytest.approx((1e-5 + 3e-4) / 2)
    assert rates[2] == rates[3] == rates[4] == 3e-4
    assert rates[5] == pytest.approx(1e-4 + 2e-4 * 0.36824, rel=1e-4)
    assert rates[6] == pytest.approx(1e-4)


def test_one_cycle_goes_up_and_down_within_the_run() -> None:
    settings = Optimizer(learning_rate=1.0, schedule=Schedule.one_cycle)
    rates = [learning_rate(settings, 100, step, 0.0) for step in range(100)]
    assert max(rates) == rates[10] == 1.0
    assert rates[0] == pytest.approx(0.01)
    assert rates[99] < 0.02
    assert rates[10:] == sorted(rates[10:], reverse=True)


def test_what_is_due_is_found_within_a_call() -> None:
    assert [step for step in range(10) if due(3, step, step)] == [0, 3, 6, 9]
    assert not due(0, 0, 100)
    assert due(5, 4, 7)
    assert not due(5, 6, 9)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_demo_learns_to_tell_neutrinos_from_cosmics(tmp_path: Path) -> None:
    settings = ["--config-name=demo", f"output_dir={tmp_path}", "run.id=demo"]
    assert main(settings) == 0
    assert main([*settings, "mode=inference", "mode.gallery=0"]) == 0
    report = json.loads((tmp_path / "torch" / "demo" / "demo" / "inference.json").read_text())
    assert report["metrics"]["Average/Cosmic_IoU"]["value"] > 0.6
    assert report["metrics"]["Average/Neutrino_IoU"]["value"] > 0.3
