"""Models from files and modules; nothing of them is allocated."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from tremula.ask.loading import load
from tremula.errors import Error
from tremula.frontends.torch.factory import make, subject_of
from tremula.study.answer import ask

FILE = """
    import torch
    from dataclasses import dataclass

    @dataclass
    class Config:
        width: int = 8

    class Net(torch.nn.Module):
        def __init__(self, config):
            super().__init__()
            self.layer = torch.nn.Linear(config.width, 4)

        def forward(self, x):
            return self.layer(x)

    def example():
        return Net(Config()), torch.zeros(2, 8)

    def trained():
        net = Net(Config())
        return net, {"x": torch.zeros(2, 8)}, torch.optim.Adam(net.parameters())
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "my_network.py"
    path.write_text(textwrap.dedent(FILE))
    return path


def test_a_file_with_a_function_of_a_usual_name_needs_no_more(file: Path) -> None:
    factory, name = load(str(file))
    subject = subject_of(make(factory), name)
    assert (name, subject.training, subject.micro_batch, subject.parameters) == (
        "my_network:example",
        False,
        2,
        36,
    )


def test_an_optimizer_means_training_and_a_missing_loss_is_told(file: Path) -> None:
    factory, name = load(f"{file}:trained")
    subject = subject_of(make(factory), name)
    assert subject.training
    assert "loss" in ask(subject).results[0].problem


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nowhere.py:make", "nowhere.py does not exist"),
        ("no.such.module:make", "No module or file named 'no.such.module'"),
        ("tremula.errors:make", "no function make"),
        ("tremula.errors", "No function was named"),
    ],
)
def test_what_is_not_there_is_named(name: str, message: str) -> None:
    with pytest.raises(Error, match=message):
        load(name)


def test_a_module_that_fails_by_itself_is_not_called_missing(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "broken_network.py").write_text("import surely_not_installed\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="surely_not_installed"):
        load("broken_network:make")


@pytest.mark.parametrize("returned", [None, (1, 2), (nn.Linear(2, 2), ()), (nn.Linear(2, 2), (3,))])
def test_something_else_than_model_and_inputs_is_refused(returned: Any) -> None:
    with pytest.raises(Error, match="factory"):
        subject_of(make(lambda: returned), "x")


def test_a_model_larger_than_memory_is_never_allocated() -> None:
    class Huge(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(2**20, 2**20)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.layer(x)

    subject = subject_of(make(lambda: (Huge(), torch.zeros(1, 2**20))), "huge")
    result = ask(subject).results[0]
    assert subject.parameters > 10**12
    assert result.fits == "no"


def test_a_constructor_that_reads_values_runs_on_the_host() -> None:
    class Rates(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rates = [rate.item() for rate in torch.linspace(0, 0.5, 3)]
            self.layer = nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.layer(x) * self.rates[1]

    assert ask(subject_of(make(lambda: (Rates(), torch.zeros(2, 4))), "rates")).results[0].fits == "yes"


def test_the_model_is_left_as_it_was() -> None:
    model = nn.Linear(4, 4)
    before = {name: (tensor.clone(), tensor.dtype) for name, tensor in model.state_dict().items()}
    subject = subject_of(make(lambda: (model, torch.zeros(2, 4))), "linear")
    from tremula.study.question import Question

    ask(subject, Question.of(precision=["fp16", "fp32"], micro_batch=[1, 3]))
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, before[name][0])
        assert tensor.dtype is before[name][1]
    assert not model._forward_pre_hooks


def test_the_one_number_that_forward_returns_is_what_is_trained() -> None:
    class Two(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            y = self.layer(x)
            return y, nn.functional.mse_loss(y, x) + nn.functional.l1_loss(y, x)

    subject = subject_of(make(lambda: (Two(), torch.zeros(2, 4))), "two losses")
    assert subject.training
    assert ask(subject).results[0].problem == ""
