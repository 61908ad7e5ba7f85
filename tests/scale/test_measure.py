"""Measured beside the model: real processes under poprun come to the weights of one."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
import torch
from tests.scale.models import Stack, stack

from tremula.distributed.host_run import HostRun
from tremula.distributed.instances import Instances
from tremula.errors import Error
from tremula.frontends.torch.factory import Made, subject_of
from tremula.frontends.torch.measured.equivalence import (
    TOLERANCES,
    _distance,
    _gradient,
    _Together,
    _variation,
    _weights,
    compared,
    train_together,
)
from tremula.scale.measure import MeasureSettings, measure, with_words
from tremula.scale.row import Measured

PROGRAM = """
    import sys
    import popdist, popdist.poptorch, poptorch, torch

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            # a bias in front of a norm has no gradient but rounding, of which Adam makes full steps
            self.one, self.two = torch.nn.Linear(6, 16), torch.nn.Linear(16, 3)
            self.norm = torch.nn.BatchNorm1d(16)
            self.drop = torch.nn.Dropout(0.5 if "dropout" in sys.argv else 0.0)

        def forward(self, x, y):
            x = self.two(self.drop(torch.relu(self.norm(self.one(x)))))
            return x, torch.nn.functional.cross_entropy(x, y)

    if "fails" in sys.argv:
        raise RuntimeError("the data are not here")
    if "seeded" in sys.argv:
        torch.manual_seed(3)
    options = popdist.poptorch.Options() if popdist.isPopdistEnvSet() and "popdist" in sys.argv else poptorch.Options()
    options.Training.gradientAccumulation(2)
    generator = torch.Generator().manual_seed(popdist.getInstanceIndex())
    x, y = torch.randn(8, 6, generator=generator), torch.randint(3, (8,), generator=generator)
    model = Model()
    optimizer = poptorch.optim.Adam(model.parameters(), lr=0.01)
    if "infers" in sys.argv:
        poptorch.inferenceModel(torch.nn.Linear(6, 6))(x)
    poptorch.trainingModel(model, options, optimizer)(x, y)
    print("not reached when it is measured")
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(PROGRAM))
    return path


def measured(program: Path, *words: str, **settings: object) -> Measured:
    given = MeasureSettings(**{"instances": (2,), **settings})  # type: ignore[arg-type]
    return measure(["run", str(program), *words], given, program.parent / "out", tell=lambda *_: None)


@pytest.mark.parametrize("words", [("popdist",), pytest.param(("seeded",), marks=pytest.mark.slow)])
def test_two_processes_come_to_the_weights_of_one(words: tuple[str, ...], program: Path) -> None:
    """Whether the program knows of popdist or not: what is measured is its model, on its own batches."""
    found = measured(program, *words)
    assert found.problems == ()
    (run,) = found.runs
    assert (run.instances, run.samples_per_step) == (2, 16)
    assert run.spread == 0.0
    assert run.deviation is not None
    assert run.deviation < 1e-5
    assert run.equivalent is True
    assert run.seconds_per_step > 0
    assert "not reached" not in (program.parent / "out" / "measured-2.log").read_text()


@pytest.mark.slow
def test_what_cannot_be_compared_is_not_called_equivalent(program: Path) -> None:
    (random,) = measured(program, "popdist", "dropout").runs
    assert random.spread == 0.0
    assert random.equivalent is None
    assert "random numbers" in random.note


def test_a_run_that_fails_is_told_with_its_last_words(program: Path) -> None:
    found = measured(program, "fails", instances=(1,))
    assert found.runs == ()
    assert "the data are not here" in found.problems[0]
    assert "measured-1.log" in found.problems[0]


@pytest.mark.slow
def test_a_model_that_only_infers_is_told(program: Path) -> None:
    found = measured(program, "infers", instances=(1,))
    assert "not trained" in found.problems[0]


def test_a_run_that_takes_too_long_is_ended(program: Path) -> None:
    program.write_text("import time\ntime.sleep(600)\n")
    found = measured(program, instances=(1,), most_seconds=4.0)
    assert "limit of 4 s" in found.problems[0]
    assert "--measure-with" in found.problems[0]


def test_what_is_added_for_a_measured_run_takes_the_place_of_what_it_changes() -> None:
    given = ["run", "-m", "program", "--size=8", "data.size=8", "name"]
    assert with_words(given, ["data.size=2", "--quick"]) == [
        "run", "-m", "program", "--size=8", "name", "data.size=2", "--quick",
    ]  # fmt: skip
    assert with_words(given, []) == given


@pytest.mark.parametrize("settings", [{"steps": 1}, {"instances": (0,)}, {"instances": (1, 1000)}])
def test_settings_that_make_no_sense_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(Error):
        MeasureSettings(**settings)  # type: ignore[arg-type]


def verdict(
    summed: list[float] | None = None,
    *,
    spread: float = 0.0,
    dtype: torch.dtype = torch.float32,
    alike: bool = False,
) -> HostRun:
    """Of two processes whose gradient is `summed`, where one process has 1.0 and nothing else."""
    together = _Together(0.1, spread, random=False, dtype=dtype)
    alone = {"w": torch.tensor([1.0, 0.0])}
    found = {"w": torch.tensor(summed or [1.0, 0.0])}
    return compared(stack(), together, found, alone, alike=alike, instances=2, steps=3)


def test_processes_that_come_to_something_else_are_found_out() -> None:
    assert verdict().equivalent is True
    assert verdict([1.0, 1e-6]).equivalent is True
    assert verdict([1.0, 0.01]).equivalent is False
    assert verdict([1.0, 0.01]).deviation == pytest.approx(0.01)
    assert verdict(spread=1e-7).equivalent is False  # between processes nothing but the same bits will do
    assert verdict([0.5, 0.0], dtype=torch.float16).equivalent is False  # a half is not a rounding


def test_a_proof_that_could_not_fail_is_none() -> None:
    same = verdict(alike=True)
    assert same.equivalent is None
    assert "all micro-batches are the same" in same.note
    together = _Together(0.1, 0.0, random=False, dtype=torch.float32)
    for value, said in ((0.0, "gradient is 0"), (float("inf"), "not finite")):
        gradient = {"w": torch.tensor([value])}
        run = compared(stack(), together, gradient, gradient, alike=False, instances=2, steps=3)
        assert run.equivalent is None
        assert said in run.note


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_one_process_that_counts_alone_would_be_found_out(dtype: torch.dtype) -> None:
    """The noise between micro-batches is more than what passes for rounding."""
    made = Made(Stack(16, 2).to(dtype), (torch.randn(4, 16, dtype=dtype),), {}, None)
    subject = subject_of(made, "stack", training=True, values=True)
    start = _weights(subject)
    first, second = subject.parts.inputs[0], _variation(subject.parts.inputs[0], 1)
    both = _gradient(subject, [[first], [second]], Instances(), start)
    one = _gradient(subject, [[first]], Instances(), start)
    assert _distance(both, one) / _distance(both, None) > 2 * TOLERANCES[dtype]


def test_only_what_is_trained_can_be_compared() -> None:
    subject = stack()
    subject.training = False
    with pytest.raises(Error, match="not trained"):
        train_together(subject, 0, 1, 2)
