"""Measured beside the model: real processes under poprun come to the weights of one."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
import torch
from tests.scale.models import stack

from tremula.errors import Error
from tremula.scale.equivalence import _compared, _Trained, train_together
from tremula.scale.measure import MeasureSettings, measure, with_words
from tremula.scale.row import HostRun, Measured

PROGRAM = """
    import sys
    import popdist, popdist.poptorch, poptorch, torch

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two = torch.nn.Linear(6, 16), torch.nn.Linear(16, 3)
            self.drop = torch.nn.Dropout(0.5 if "dropout" in sys.argv else 0.0)

        def forward(self, x, y):
            x = self.two(self.drop(torch.relu(self.one(x))))
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
    optimizer = poptorch.optim.Adam(model.parameters(), lr=0.0 if "still" in sys.argv else 0.01)
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
    (still,) = measured(program, "still", instances=(1,)).runs
    assert still.equivalent is None
    assert "did not move" in still.note


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
    assert "longer than 4 s" in found.problems[0]
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


def compared(off: float = 0.0, spread: float = 0.0) -> HostRun:
    """Weights that went 1.0 far, and ended `off` from where they should be."""
    start = {"w": torch.zeros(4)}
    alone = _Trained({"w": torch.tensor([1.0, 0.0, 0.0, 0.0])}, 0.1, random=False)
    together = _Trained({"w": torch.tensor([1.0, off, 0.0, 0.0])}, 0.1, random=False)
    return _compared(stack(), together, alone, start, instances=2, steps=3, spread=spread)


def test_processes_that_come_to_other_weights_are_found_out() -> None:
    assert compared().equivalent is True
    assert compared(off=1e-6).equivalent is True
    assert compared(off=0.01).equivalent is False
    assert compared(off=0.01).deviation == pytest.approx(0.01)
    assert compared(spread=1e-7).equivalent is False  # between processes nothing but the same bits will do


def test_only_what_is_trained_can_be_compared() -> None:
    subject = stack()
    object.__setattr__(subject.parts.settings, "training", False)
    with pytest.raises(Error, match="not trained"):
        train_together(subject, 0, 1, 2)
