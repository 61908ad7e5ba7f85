"""Wrapped models as subjects of study: the same figures as those of the compiled program, and of a changed one."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

import poptorch
from tremula.ask import estimate_of
from tremula.ask import subject as subject_of
from tremula.estimate import Estimate
from tremula.frontends.torch.subject import TorchSubject
from tremula.study.answer import ask
from tremula.study.listeners import listening
from tremula.study.question import Question


class Net(nn.Module):
    def __init__(self, half: bool = False) -> None:
        super().__init__()
        self.first = nn.Linear(64, 128)
        self.second = nn.Linear(128, 128)
        self.last = nn.Linear(128, 10)
        if half:
            self.half()

    def forward(self, x: torch.Tensor, labels: torch.Tensor | None = None) -> Any:
        x = torch.relu(self.second(torch.relu(self.first(x))))
        x = self.last(x)
        return x if labels is None else (x, functional.cross_entropy(x, labels))


def wrapped(
    net: Net, options: poptorch.Options, batch: int, training: bool = True
) -> tuple[Any, tuple[torch.Tensor, ...]]:
    if not training:
        return poptorch.inferenceModel(net, options), (torch.randn(batch, 64, dtype=net.last.weight.dtype),)
    optimizer = poptorch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    inputs = (torch.randn(batch, 64, dtype=net.last.weight.dtype), torch.randint(0, 10, (batch,)))
    return poptorch.trainingModel(net, options, optimizer), inputs


def same(found: Estimate | None, compiled: Estimate) -> None:
    assert found is not None
    assert found.cycles_per_step == pytest.approx(compiled.cycles_per_step, rel=1e-9)
    assert found.throughput == pytest.approx(compiled.throughput, rel=1e-9)
    assert found.memory.max_tile_bytes == compiled.memory.max_tile_bytes


def _pipelined() -> tuple[Net, poptorch.Options]:
    net, options = Net(), poptorch.Options()
    poptorch.BeginBlock(net.second, "second", ipu_id=1)
    options.Training.gradientAccumulation(6)
    return net, options


def _sharded() -> tuple[Net, poptorch.Options]:
    net, options = Net(), poptorch.Options()
    poptorch.BeginBlock(net.last, "last", ipu_id=1)
    options.setExecutionStrategy(poptorch.ShardedExecution(poptorch.AutoStage.AutoIncrement))
    return net, options


def _listed() -> tuple[Net, poptorch.Options]:
    net, options = Net(), poptorch.Options().replicationFactor(2)
    for name, layer in (("a", net.first), ("b", net.second), ("c", net.last)):
        poptorch.BeginBlock(layer, name)
    stages = [poptorch.Stage("a").ipu(0), poptorch.Stage("b").ipu(1), poptorch.Stage("c").ipu(0)]
    options.setExecutionStrategy(poptorch.PipelinedExecution(*stages))
    options.Training.gradientAccumulation(8)
    return net, options


def _phased() -> tuple[Net, poptorch.Options]:
    net, options = Net(), poptorch.Options()
    for name, layer in (("a", net.first), ("b", net.second), ("c", net.last)):
        poptorch.BeginBlock(layer, name, ipu_id=0)
    options.setExecutionStrategy(
        poptorch.SerialPhasedExecution(*(poptorch.Phase(poptorch.Stage(name)) for name in "abc"))
    )
    return net, options


def _plain() -> tuple[Net, poptorch.Options]:
    options = poptorch.Options().deviceIterations(2).replicationFactor(2)
    options.Training.gradientAccumulation(3)
    options.setAvailableMemoryProportion({"IPU0": 0.3})
    return Net(), options


@pytest.mark.parametrize("program", [_plain, _pipelined, _sharded, _listed, _phased])
def test_a_study_finds_what_the_compiled_program_has(program: Any) -> None:
    net, options = program()
    factor = options.device_iterations * options.replication_factor * options.Training.gradient_accumulation
    model, inputs = wrapped(net, options, 4 * factor)
    found = ask(subject_of(model, *inputs)).answers[0]
    assert found.problem == ""
    model.compile(*inputs)
    same(found.estimate, estimate_of(model))


def test_another_micro_batch_is_what_a_program_with_it_has() -> None:
    model, inputs = wrapped(Net(), poptorch.Options(), 4, training=False)
    found = ask(subject_of(model, *inputs), Question.of(micro_batch=32)).answers[0].estimate
    other, inputs = wrapped(Net(), poptorch.Options(), 32, training=False)
    other.compile(*inputs)
    same(found, estimate_of(other))


@pytest.mark.parametrize("training", [True, False])
def test_half_precision_is_what_a_program_in_half_has(training: bool) -> None:
    options = poptorch.Options()
    if training:
        options.Training.gradientAccumulation(2)
    model, inputs = wrapped(Net(), options, 16, training)
    found = ask(subject_of(model, *inputs), Question.of(precision="fp16")).answers[0].estimate
    other, inputs = wrapped(Net(half=True), options, 16, training)
    other.compile(*inputs)
    same(found, estimate_of(other))


def test_studying_leaves_the_wrapped_model_ready() -> None:
    net = Net()
    model, inputs = wrapped(net, poptorch.Options(), 4)
    before = net.last.weight.detach().clone()
    ask(subject_of(model, *inputs), Question.of(precision=["fp16", "fp32"], stages=[1, 2]))
    assert torch.equal(net.last.weight, before)
    _, loss = model(*inputs)
    assert torch.isfinite(loss)
    assert not torch.equal(net.last.weight, before)


def test_who_listens_is_told_before_anything_is_loaded() -> None:
    class Enough(BaseException):
        pass

    heard: list[TorchSubject] = []

    def listen(subject: TorchSubject) -> None:
        heard.append(subject)
        raise Enough

    model, inputs = wrapped(Net(), poptorch.Options(), 4)
    with listening(listen), pytest.raises(Enough):
        model(*inputs)
    assert not model.isCompiled()
    assert heard[0].name == "Net"
    model(*inputs)  # nobody listens any more
    assert len(heard) == 1


PROGRAM = """
    import torch, poptorch
    model = torch.nn.Sequential(torch.nn.Linear(8, 8))
    run = poptorch.inferenceModel(model)
    print("result", tuple(run(torch.zeros(2, 8)).shape))
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(PROGRAM))
    return path


def _run(program: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(program)],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def test_a_variable_makes_any_program_tell(program: Path) -> None:
    done = _run(program, TREMULA_ESTIMATE="table", TREMULA_ESTIMATE_OPTIONS="--ipus 1,2 --target bow")
    assert done.returncode == 0, done.stderr
    assert "Sequential: inference, 72 parameters" in done.stdout
    assert done.stdout.count("bow") == 2
    assert "result (2, 8)" in done.stdout


def test_stop_ends_the_program_after_the_answer(program: Path) -> None:
    done = _run(program, TREMULA_ESTIMATE="stop", TREMULA_ESTIMATE_OPTIONS="--no-advice")
    assert done.returncode == 0, done.stderr
    assert "samples/s" in done.stdout
    assert "result" not in done.stdout


def test_a_bad_option_is_told_and_the_program_runs_on(program: Path) -> None:
    done = _run(program, TREMULA_ESTIMATE="table", TREMULA_ESTIMATE_OPTIONS="--ipus none")
    assert done.returncode == 0
    assert "TREMULA_ESTIMATE_OPTIONS" in done.stderr
    assert "result (2, 8)" in done.stdout
