"""Small models with a loss, and ways to wrap them, for tests of how programs are executed."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

import poptorch
from tremula.frontends.torch.session import Session
from tremula.frontends.torch.settings import SessionSettings
from tremula.frontends.torch.structure import flattenTensorStructure


class _Dense(nn.Module):
    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        self.first = nn.Linear(6, 8)
        self.dropout = nn.Dropout(dropout)
        self.second = nn.Linear(8, 4)

    def forward(self, x, y=None):
        x = self.second(self.dropout(functional.relu(self.first(x))))
        return x if y is None else (x, functional.cross_entropy(x.float(), y))


class _Convolutional(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.dense = nn.Linear(8 * 4 * 4, 4)

    def forward(self, x, y=None):
        x = functional.max_pool2d(functional.relu(self.norm(self.conv(x))), 2)
        x = self.dense(x.flatten(1))
        return x if y is None else (x, functional.cross_entropy(x.float(), y))


@pytest.fixture
def dense() -> Callable[..., nn.Module]:
    """Makes two dense layers, with dropout between them if asked for."""
    return _Dense


@pytest.fixture
def convolutional() -> Callable[..., nn.Module]:
    """Makes convolution, normalisation, pooling and a dense layer."""
    return _Convolutional


@pytest.fixture
def data() -> Callable[..., tuple[torch.Tensor, torch.Tensor]]:
    """Makes inputs and labels for a number of samples."""

    def make(batch: int, image: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
        generator = torch.Generator().manual_seed(batch)
        shape = (batch, 3, 8, 8) if image else (batch, 6)
        return torch.randn(shape, generator=generator), torch.randint(0, 4, (batch,), generator=generator)

    return make


@pytest.fixture
def session() -> Callable[..., Session]:
    """Captures and loads a model for inference, without a shim: settings by name, and a micro-batch."""

    def load(model: nn.Module, *inputs: torch.Tensor, **settings: Any) -> Session:
        made = Session(SessionSettings(False, **settings))
        names = [f"input/{number}" for number in range(len(inputs))]
        made.compile(model, lambda values: model(*values), list(inputs), names, flattenTensorStructure)
        return made

    return load


@pytest.fixture
def training() -> Callable[..., poptorch.PoplarExecutor]:
    """Wraps a copy of a model for training: iterations, accumulation, replicas, optimizer."""

    def wrap(
        model: nn.Module, iterations: int = 1, accumulation: int = 1, replicas: int = 1, optimizer=None
    ) -> poptorch.PoplarExecutor:
        own = copy.deepcopy(model)
        options = poptorch.Options().deviceIterations(iterations).replicationFactor(replicas).randomSeed(5)
        options.showCompilationProgressBar(False)
        options.Training.gradientAccumulation(accumulation)
        make = optimizer or (lambda parameters: poptorch.optim.Adam(parameters, lr=0.01))
        return poptorch.trainingModel(own, options, make(own.parameters()))

    return wrap


@pytest.fixture
def inference() -> Callable[..., poptorch.PoplarExecutor]:
    """Wraps a copy of a model for inference."""

    def wrap(model: nn.Module, iterations: int = 1) -> poptorch.PoplarExecutor:
        options = poptorch.Options().deviceIterations(iterations).showCompilationProgressBar(False)
        return poptorch.inferenceModel(copy.deepcopy(model).eval(), options)

    return wrap
