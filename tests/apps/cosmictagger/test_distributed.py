"""Several processes that train one model: poprun, popdist, one set of files."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from cosmictagger.config import ConfigError, load
from cosmictagger.main import main
from cosmictagger.training import checkpoints
from cosmictagger.training.ranks import Ranks

APPS = Path(__file__).parents[3] / "apps"
#: no norms, and a plain mean as loss: then two batches of two are one of four
TINY = ["data.wires=32", "data.ticks=32", "data.downsample=0", "data.events=8", "data.aux_events=4"]
TINY += ["network=demo", "network.depth=1", "network.n_initial_filters=2", "network.bottleneck_deepest=2"]
TINY += ["network.normalization=none", "mode.optimizer.loss_balance_scheme=none", "mode.optimizer.name=sgd"]
TINY += ["mode.optimizer.schedule=constant", "mode.optimizer.learning_rate=0.01", "run.compute_mode=IPU"]
TINY += ["run.iterations=2", "run.aux_iterations=2", "run.aux_batches=0", "mode.no_summary_images=true"]


def poprun(folder: Path, *overrides: str) -> subprocess.CompletedProcess[str]:
    launch = "import sys; from tremula.launch.main import main; sys.exit(main())"
    command = [sys.executable, "-c", launch, "--num-instances", "2", "--num-replicas", "2"]
    command += [sys.executable, "-m", "cosmictagger", *TINY, f"output_dir={folder}", *overrides]
    environment = {**os.environ, "PYTHONPATH": str(APPS), "TREMULA_CHIP_MODEL": "off", "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=110, check=False)


@pytest.mark.slow
def test_two_instances_train_one_model_like_one_process_with_twice_the_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREMULA_CHIP_MODEL", "off")
    done = poprun(tmp_path, "run.id=two", "run.minibatch_size=2")
    assert done.returncode == 0, done.stderr
    two = tmp_path / "torch" / "demo" / "two"
    digests = [
        re.findall(r"Parameters after step 2: sha256 (\w+)", (two / name).read_text())
        for name in ("process.log", "process_rank_1.log")
    ]
    assert len(digests[0]) == 1
    assert digests[0] == digests[1]
    assert main([*TINY, f"output_dir={tmp_path}", "run.id=one", "run.minibatch_size=4"]) == 0
    one = tmp_path / "torch" / "demo" / "one"
    first, second = (checkpoints.read(each / "checkpoints" / "model-2.safetensors") for each in (one, two))
    for name, value in first.network.items():
        assert torch.allclose(value.float(), second.network[name].float(), atol=1e-6), name
    assert (
        (first.position.seen, first.position.done) == (second.position.seen, second.position.done) == (8, 8)
    )
    # metrics are those of all events, whoever computed them
    lines = [
        re.findall(r"(?:train|test) Step \d+ metrics: .* loss: \S+", (each / "process.log").read_text())
        for each in (one, two)
    ]
    assert lines[0] == lines[1]
    assert len(lines[0]) == 3
    # each line of the poprun log says which instance it is from
    assert "[1,0]<stdout>" in done.stdout
    assert "[1,1]<stdout>" in done.stdout
    assert not list((two / "checkpoints").glob("*rank*"))


@pytest.mark.slow
def test_instances_that_train_apart_do_not_share_a_folder(tmp_path: Path) -> None:
    done = poprun(tmp_path, "run.id=apart", "run.distributed=false", "run.aux_iterations=0")
    assert done.returncode == 0, done.stderr
    assert sorted(each.name for each in (tmp_path / "torch" / "demo").iterdir()) == [
        "apart-instance0",
        "apart-instance1",
    ]


def launched(monkeypatch: pytest.MonkeyPatch, **numbers: int) -> None:
    values = {"isPopdistEnvSet": True, "getNumInstances": 2, "getInstanceIndex": 1, "getNumTotalReplicas": 4}
    values |= {"getNumIpusPerReplica": 1, **numbers}
    for name, value in values.items():
        monkeypatch.setattr(f"popdist.{name}", lambda value=value: value)


def test_who_a_process_is(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Ranks.of(load("demo")) == Ranks()
    launched(monkeypatch)
    assert Ranks.of(load("demo")) == Ranks(1, 2, 4, True)
    assert Ranks.of(load("demo", ["run.distributed=false"])) == Ranks(launched=True, apart=1)


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("run.compute_mode=CPU", "one model per instance"),
        ("run.replicas=2", "--num-replicas"),
        ("run.ipus=2", "--ipus-per-replica 1"),
    ],
)
def test_what_does_not_go_with_the_launcher_is_refused(
    monkeypatch: pytest.MonkeyPatch, override: str, words: str
) -> None:
    launched(monkeypatch)
    with pytest.raises(ConfigError, match=words):
        Ranks.of(load("demo", [override, "mode.optimizer.gradient_accumulation=3"]))
