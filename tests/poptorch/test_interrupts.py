"""Calls that are interrupted or that fail: a training step takes place as a whole, or not at all."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator

import pytest
import torch

import poptorch
from tremula import custom_ops


class Net(torch.nn.Module):
    """A small network with every kind of state: weights, running statistics, random numbers."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.body = torch.nn.Sequential(
            torch.nn.Linear(6, 16), torch.nn.BatchNorm1d(16), torch.nn.Dropout(0.3), torch.nn.Linear(16, 3)
        )

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        out = self.body(x)
        return out, torch.nn.functional.cross_entropy(out, y)


def batch(iterations: int = 1) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(1)
    return torch.randn(8 * iterations, 6), torch.randint(0, 3, (8 * iterations,))


def wrapped(
    model: torch.nn.Module, iterations: int = 1, *, stochastic: bool = False
) -> poptorch.PoplarExecutor:
    options = poptorch.Options().deviceIterations(iterations).randomSeed(7)
    options.Precision.enableStochasticRounding(stochastic)
    return poptorch.trainingModel(model, options, poptorch.optim.AdamW(model.parameters(), lr=0.01))


def state(model: poptorch.PoplarExecutor) -> dict[str, torch.Tensor]:
    """Weights, buffers and optimizer state on the device."""
    model.copyWeightsToHost()
    optimizer = model._device.program.executable.read_optimizer()
    return {**{k: v.clone() for k, v in model.model.state_dict().items()}, **optimizer.tensors}


def same(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


@pytest.fixture(autouse=True)
def quick_form(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last bits change when compiled code takes over."""
    monkeypatch.setenv("TREMULA_EXECUTION", "quick")


class Interrupts:
    """Ctrl-C at random moments, one after the other, from a thread of its own."""

    def __init__(self, count: int) -> None:
        self.left = count
        self._training = threading.Event()
        self._thread = threading.Thread(target=self._send)

    def _send(self) -> None:
        moments = random.Random(3)
        while self._training.wait() and self.left:
            time.sleep(moments.uniform(0.0001, 0.004))
            self._training.clear()
            os.kill(os.getpid(), signal.SIGINT)

    def train(self, step: Callable[[], object]) -> None:
        """Call `step` again and again, through all interrupts."""
        self._thread.start()
        while self.left:
            try:
                self._training.set()
                while True:
                    step()
            except KeyboardInterrupt:
                self.left -= 1
        self._training.set()
        self._thread.join()


@pytest.fixture
def default_interrupts() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("default_interrupts")
@pytest.mark.parametrize("iterations", [1, 3])
def test_interrupted_training_follows_the_undisturbed_one(iterations: int) -> None:
    inputs = batch(iterations)
    model, undisturbed = wrapped(Net(), iterations), wrapped(Net(), iterations)
    model(*inputs)
    Interrupts(count=60).train(lambda: model(*inputs))
    for _ in range(model._device.calls):
        undisturbed(*inputs)
    assert same(state(model), state(undisturbed))


class Checked(Net):
    """Runs a custom op of the user's in the forward pass."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        out = self.body(x)
        (checked,) = poptorch.custom_op([out], "Check", "test.interrupts", 1, example_outputs=[out])
        return checked, torch.nn.functional.cross_entropy(checked, y)


@pytest.mark.parametrize(("iterations", "stochastic"), [(1, False), (4, False), (4, True)])
def test_an_error_in_a_custom_op_undoes_the_call(iterations: int, stochastic: bool) -> None:
    calls, bad = [0], [0]

    def check(x: torch.Tensor) -> torch.Tensor:
        calls[0] += 1
        if calls[0] == bad[0]:
            raise ValueError("the data are bad")
        return x * 1.0

    custom_ops.register("test.interrupts", "Check", check, backward=lambda gradients, _inputs, _: gradients)
    inputs = batch(iterations)
    networks = [Checked().half() if stochastic else Checked() for _ in range(2)]
    model, undisturbed = (wrapped(each, iterations, stochastic=stochastic) for each in networks)
    inputs = (inputs[0].half(), inputs[1]) if stochastic else inputs
    model(*inputs)
    before = state(model)
    bad[0] = calls[0] + iterations
    with pytest.raises(Exception, match="the data are bad"):
        model(*inputs)
    assert same(state(model), before)
    model(*inputs)
    undisturbed(*inputs)
    undisturbed(*inputs)
    assert same(state(model), state(undisturbed))


class Lookup(torch.nn.Module):
    """Refuses words that it does not have."""

    def __init__(self) -> None:
        super().__init__()
        self.words = torch.nn.Embedding(4, 3)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        out = self.words(x)
        return out, torch.nn.functional.cross_entropy(out, y)


def test_the_error_of_an_op_says_how_many_updates_were_made() -> None:
    model = wrapped(Lookup(), 3)
    words, labels = torch.tensor([0, 1, 2, 3, 0, 1]), torch.zeros(6, dtype=torch.long)
    model(words, labels)
    with pytest.raises(IndexError) as caught:
        model(torch.tensor([0, 1, 2, 3, 0, 99]), labels)
    assert any("2 of 3 weight updates" in note for note in caught.value.__notes__)
    model(words, labels)


def test_an_update_that_is_cut_in_two_is_refused_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = batch()
    model = wrapped(Net())
    model(*inputs)

    def cut(*_arguments: object) -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    form = model._device.program.executable.choice.form
    update = form._update
    monkeypatch.setattr(form, "_update", cut)
    with pytest.raises(KeyboardInterrupt):
        model(*inputs)
    monkeypatch.setattr(form, "_update", update)
    with pytest.raises(poptorch.Error, match="interrupted in the middle of a weight update"):
        model(*inputs)
    model.copyWeightsToDevice()
    model(*inputs)
