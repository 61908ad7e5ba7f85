"""Ctrl-C at random moments of training: an undisturbed training with as many calls has the same state to the bit.

A case is one interrupt. The same trainings go on from case to case, through all of them.
"""

from __future__ import annotations

import os
import random
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

import poptorch
from fuzz.target import Events

_BATCH = 8
_MOST_SECONDS = 0.006


@dataclass(frozen=True)
class Program:
    """A training program: what kind of network, loops and optimizer it has."""

    name: str
    iterations: int = 1
    accumulation: int = 1
    replicas: int = 1
    dropout: float = 0.0
    batch_norm: bool = False
    half: bool = False
    adam: bool = False


_PROGRAMS = (
    Program("SGD"),
    Program("Adam", adam=True, dropout=0.3, batch_norm=True),
    Program("device iterations", iterations=3, batch_norm=True),
    Program("device iterations, Adam", iterations=3, adam=True, dropout=0.3),
    Program("accumulation", accumulation=4, dropout=0.3),
    Program("accumulation, Adam", accumulation=2, iterations=2, adam=True, batch_norm=True),
    Program("replicas", replicas=2, dropout=0.3),
    Program("replicas, Adam", replicas=2, accumulation=2, iterations=2, adam=True),
    Program("stochastic rounding", half=True, iterations=2),
)


class _Network(torch.nn.Module):
    """Weights and, where the program has them, running statistics and random numbers."""

    def __init__(self, program: Program) -> None:
        super().__init__()
        torch.manual_seed(0)
        layers: list[torch.nn.Module] = [torch.nn.Linear(6, 16)]
        if program.batch_norm:
            layers.append(torch.nn.BatchNorm1d(16))
        layers += [torch.nn.ReLU(), torch.nn.Dropout(program.dropout), torch.nn.Linear(16, 3)]
        self.body = torch.nn.Sequential(*layers)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Classes and loss."""
        out = self.body(x)
        return out, torch.nn.functional.cross_entropy(out, y)


class Training:
    """A training that is interrupted, and the same one undisturbed."""

    def __init__(self, program: Program) -> None:
        torch.manual_seed(1)
        samples = _BATCH * program.iterations * program.accumulation * program.replicas
        x = torch.randn(samples, 6)
        self._inputs = (x.half() if program.half else x, torch.randint(0, 3, (samples,)))
        self._interrupted, self._undisturbed = _wrapped(program), _wrapped(program)
        for each in (self._interrupted, self._undisturbed):
            each(*self._inputs)

    def interrupt(self, seconds: float) -> None:
        """Train until an interrupt strikes, after so many seconds."""
        sender = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
        sender.daemon = True
        try:
            sender.start()
            while True:
                self._interrupted(*self._inputs)
        except KeyboardInterrupt:
            sender.join()

    def compare(self) -> None:
        """Train the undisturbed one as far; both have the same state."""
        while self._undisturbed._device.calls < self._interrupted._device.calls:
            self._undisturbed(*self._inputs)
        expected = _state(self._undisturbed)
        differing = [
            name for name, value in _state(self._interrupted).items() if not _same(value, expected[name])
        ]
        assert not differing, f"left the undisturbed trajectory in {', '.join(differing[:5])}"


def _wrapped(program: Program) -> poptorch.PoplarExecutor:
    options = poptorch.Options().showCompilationProgressBar(False).useIpuModel(True)
    options.deviceIterations(program.iterations).randomSeed(7).replicationFactor(program.replicas)
    options.Training.gradientAccumulation(program.accumulation)
    options.Precision.enableStochasticRounding(program.half)
    network = _Network(program).half() if program.half else _Network(program)
    optimizer = (
        poptorch.optim.AdamW(network.parameters(), lr=0.01)
        if program.adam
        else poptorch.optim.SGD(network.parameters(), lr=0.05, momentum=0.9)
    )
    return poptorch.trainingModel(network, options, optimizer)


def _state(model: poptorch.PoplarExecutor) -> dict[str, torch.Tensor]:
    """Weights, buffers and optimizer state on the device."""
    model.copyWeightsToHost()
    weights = {name: value.clone() for name, value in model.model.state_dict().items()}
    return {**weights, **model._device.program.executable.read_optimizer().tensors}


def _same(a: torch.Tensor, b: torch.Tensor) -> bool:
    return torch.equal(a, b) or bool((a.isnan() & b.isnan() | (a == b)).all())


def begin(folder: Path) -> Callable[[int, random.Random], str]:
    """Trainings are made when a case first needs them, and again after one that failed."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    trainings: dict[str, Training] = {}

    def attempt(number: int, rng: random.Random) -> str:
        program = _PROGRAMS[number % len(_PROGRAMS)]
        training = trainings.pop(program.name, None) or Training(program)
        training.interrupt(rng.uniform(0.0001, _MOST_SECONDS))
        training.compare()
        trainings[program.name] = training
        return program.name

    return attempt


INTERRUPTS = Events("interrupts", lambda folder: None, begin, batch=54)
