"""When programs change from the quick to the compiled form, and what remains when they do not."""

import gc
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
import torch

from tremula.frontends.torch.execute import choice, compile_request

PROGRAM = textwrap.dedent(
    """
    import sys
    import torch, poptorch
    torch.manual_seed(0)
    layer = torch.nn.Linear(6, 3)

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.dropout = layer, torch.nn.Dropout(0.3)
        def forward(self, x):
            y = self.dropout(self.layer(x)).reshape(-1, 1, 1, 3)
            # compiled code has no direct way to the backward pass of this one
            y = torch.nn.functional.interpolate(y, scale_factor=2, mode="bilinear")
            return poptorch.identity_loss(y.square(), reduction="sum")

    options = poptorch.Options().randomSeed(3).deviceIterations(4)
    options.showCompilationProgressBar(False)
    options.Training.gradientAccumulation(2)
    optimizer = poptorch.optim.SGD(layer.parameters(), lr=0.01, momentum=0.9)
    model = poptorch.trainingModel(Model(), options, optimizer)
    print("ready", flush=True)
    for _ in range(3):
        model(torch.ones(16, 6))
    report = model._session.executable.choice.report
    print(model._session.executable.form, report.cache, report.compile_seconds > 0, sep="|")
    print(layer.weight.flatten().tolist())
    """
)


@pytest.fixture
def run(tmp_path):
    """Runs the program in a process of its own, with a cache of this test's own."""
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)

    def start(**environment: str) -> subprocess.Popen:
        settings = {
            **os.environ,
            "TREMULA_STATE_DIR": str(tmp_path / "state"),
            "TREMULA_CACHE_DIR": str(tmp_path / "executables"),
            "TREMULA_LOG_LEVEL": "INFO",
            **environment,
        }
        return subprocess.Popen(
            [sys.executable, str(script)],
            env=settings,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    return start


def _finished(process: subprocess.Popen) -> tuple[list[str], list[float], str]:
    output, _ = process.communicate(timeout=600)
    assert process.returncode == 0, output
    lines = output.splitlines()
    last = next(line for line in reversed(lines) if line.startswith("["))
    report = next(line for line in lines if line.count("|") == 2)
    return report.split("|"), [float(number) for number in last.strip("[]").split(",")], output


def _leftovers(tmp_path: Path) -> list[str]:
    work = tmp_path / "state" / "cache" / "work"
    return [path.name for path in work.glob("*-*")] if work.exists() else []


@pytest.mark.timeout(900)
def test_compiled_code_trains_alike_and_is_found_again_by_the_next_process(run, tmp_path):
    (form, _, _), expected, _ = _finished(run(TREMULA_EXECUTION="quick"))
    assert form == "quick"
    (form, cache, compiled), weights, output = _finished(run(TREMULA_EXECUTION="compiled"))
    assert cache == "not in the cache"
    assert compiled == "True"
    if form == "quick":  # a busy machine may find it slower; the numbers are the point here
        assert "not faster" in output
    torch.testing.assert_close(torch.tensor(weights), torch.tensor(expected))
    (again, cache, compiled), repeated, _ = _finished(run(TREMULA_EXECUTION="compiled"))
    assert (again, cache, compiled) == (form, "hit", "False")
    assert repeated == weights
    assert _leftovers(tmp_path) == []


@pytest.mark.timeout(900)
def test_an_interrupt_while_the_compiler_runs_leaves_nothing_behind(run, tmp_path):
    process = run(TREMULA_EXECUTION="compiled")
    work = tmp_path / "state" / "cache" / "work"
    while not list(work.glob("compile-*/words")):
        assert process.poll() is None
        time.sleep(0.05)
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode != 0
    assert "KeyboardInterrupt" in output
    assert _leftovers(tmp_path) == []
    assert not list((tmp_path / "executables").glob("*"))


def test_without_a_compiler_the_quick_form_runs_and_it_is_said_once(run):
    (form, _, _), _, output = _finished(run(TREMULA_EXECUTION="compiled", CXX="/nowhere/c++"))
    assert form == "quick"
    assert output.count("No C++ compiler") == 1


@pytest.mark.timeout(300)
def test_a_compiler_that_fails_costs_nothing_but_the_compiled_form(run, tmp_path):
    (form, _, _), weights, output = _finished(run(TREMULA_EXECUTION="compiled", CXX="false"))
    assert form == "quick"
    assert "stays in the quick form" in output
    assert len(weights) == 18
    assert _leftovers(tmp_path) == []


@pytest.mark.timeout(900)
def test_a_program_that_runs_long_enough_changes_forms_between_two_calls(
    dense, data, training, monkeypatch, tmp_path
):
    monkeypatch.setattr(choice, "_SHARE_BEFORE_COMPILING", 0.0)
    monkeypatch.setenv("TREMULA_CACHE_DIR", str(tmp_path))
    model = dense(dropout=0.3)
    x, y = data(4)
    watched, steady = training(model), training(model)
    monkeypatch.setenv("TREMULA_EXECUTION", "quick")
    steady.compile(x, y)
    monkeypatch.setenv("TREMULA_EXECUTION", "auto")
    decided = watched
    decided(x, y)
    assert decided._session.executable.form == "quick"
    calls = 1
    while decided._session.executable.choice.open:
        decided(x, y)
        calls += 1
        time.sleep(0.02)
    for _ in range(calls):
        steady(x, y)
    expected = steady._session.executable.read_state()
    for name, value in decided._session.executable.read_state().items():
        # Adam makes steps of full size from gradients that are nothing but rounding noise
        torch.testing.assert_close(value, expected[name], rtol=1e-3, atol=2e-2)


def test_deterministic_programs_do_not_change_forms_as_they_run(dense, data, training):
    executor = training(dense())
    torch.use_deterministic_algorithms(True)
    try:
        executor(*data(4))
    finally:
        torch.use_deterministic_algorithms(False)
    assert not executor._session.executable.choice.open
    assert "deterministic" in executor._session.executable.choice.report.why_quick


def _half_training(model, options):
    import poptorch

    return poptorch.trainingModel(model.half(), options.randomSeed(1))


def test_floating_point_exceptions_are_followed_op_by_op(dense, data):
    import poptorch

    options = poptorch.Options()
    options.Precision.enableFloatingPointExceptions(True)
    x, y = data(4)
    executor = _half_training(dense(), options)
    executor(x.half(), y)
    assert "op by op" in executor._session.executable.choice.report.why_quick


def test_half_partials_and_stochastic_rounding_are_compiled(dense, data):
    """What is handed to the compiler is made of torch's operators alone, and depends on both options."""
    import poptorch

    x, y = data(4)
    keys = set()
    for partials, stochastic in ((torch.float, False), (torch.half, False), (torch.half, True)):
        options = poptorch.Options()
        options.Precision.setPartialsType(partials).enableStochasticRounding(stochastic)
        model = dense()
        model.first, model.second = torch.nn.Linear(6, 512), torch.nn.Linear(512, 4)
        executor = _half_training(model, options)
        keys.add(_key(executor, x.half(), y))
        assert executor._session.executable.choice.report.why_quick == ""
    assert len(keys) == 3


def _key(executor, x, y):
    executor(x, y)
    return executor._session.executable.choice._target.key


def test_the_key_of_compiled_code_covers_program_options_and_host(dense, data, training, monkeypatch):
    import poptorch

    x, y = data(8)
    key = _key(training(dense()), x, y)
    assert _key(training(dense()), x, y) == key  # other weights, same program
    assert _key(training(dense(dropout=0.5)), x, y) != key
    assert _key(training(dense(), iterations=2), x, y) != key
    assert _key(training(dense(), accumulation=2), x, y) != key
    assert _key(training(dense(), optimizer=lambda p: poptorch.optim.SGD(p, lr=0.01)), x, y) != key
    assert _key(training(dense()), *data(4)) != key
    host = compile_request.host_identity()
    for name in host:
        monkeypatch.setattr(compile_request, "host_identity", lambda name=name: {**host, name: "another"})
        assert _key(training(dense()), x, y) != key


def test_a_learning_rate_is_no_part_of_the_key(dense, data, training):
    import poptorch

    x, y = data(8)
    keys = {
        _key(training(dense(), optimizer=lambda p, lr=lr: poptorch.optim.SGD(p, lr=lr)), x, y)
        for lr in (0.1, 0.2)
    }
    assert len(keys) == 1


def test_the_compiler_ends_with_its_model(monkeypatch, tmp_path):
    """A model that goes away leaves no process behind."""
    import poptorch

    monkeypatch.setenv("TREMULA_EXECUTION", "auto")
    monkeypatch.setenv("TREMULA_CACHE_DIR", str(tmp_path / "executables"))
    monkeypatch.setattr(choice, "_SHARE_BEFORE_COMPILING", 0.0)
    model = poptorch.inferenceModel(torch.nn.Linear(5, 2))
    model(torch.ones(3, 5))
    process = model._session.executable.choice._compilation._process
    assert process.poll() is None
    model.destroy()
    del model
    gc.collect()
    assert process.poll() is not None
