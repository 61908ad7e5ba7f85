"""Put before the scripts that tests run in several instances, and imported by the tests for one process."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional

import popdist
import popdist.poptorch
import poptorch


class Dense(nn.Module):
    """Two layers and a loss."""

    def __init__(self, width: int = 16, dropout: float = 0.0) -> None:
        super().__init__()
        self.first = nn.Linear(6, width)
        self.dropout = nn.Dropout(dropout)
        self.second = nn.Linear(width, 4)

    def forward(self, x: torch.Tensor, y: torch.Tensor | None = None) -> Any:
        x = self.second(self.dropout(functional.relu(self.first(x))))
        return x if y is None else (x, functional.cross_entropy(x.float(), y))


class Convolutional(nn.Module):
    """Convolution, normalisation, a dense layer and a loss."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.dense = nn.Linear(8 * 4 * 4, 4)

    def forward(self, x: torch.Tensor, y: torch.Tensor | None = None) -> Any:
        x = functional.max_pool2d(functional.relu(self.norm(self.conv(x))), 2)
        x = self.dense(x.flatten(1))
        return x if y is None else (x, functional.cross_entropy(x, y))


def batches(samples: int, steps: int, image: bool = False) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Inputs and labels of each step of the whole run."""
    generator = torch.Generator().manual_seed(samples)
    shape = (samples, 3, 8, 8) if image else (samples, 6)
    return [
        (torch.randn(shape, generator=generator), torch.randint(0, 4, (samples,), generator=generator))
        for _ in range(steps)
    ]


def part(tensor: torch.Tensor, turns: int, replicas: int) -> torch.Tensor:
    """This instance's share of a combined batch, whose micro-batches are ordered by turn and then by replica."""
    instance, instances = popdist.getInstanceIndex(), popdist.getNumInstances()
    shares = tensor.unflatten(0, (turns, instances, replicas, -1))
    return shares[:, instance].flatten(0, 2)


def train(
    model: nn.Module,
    options: poptorch.Options,
    optimizer: Callable[..., torch.optim.Optimizer],
    *,
    samples: int = 8,
    steps: int = 5,
    accumulation: int = 1,
    iterations: int = 1,
    image: bool = False,
) -> dict[str, Any]:
    """Train on this instance's share of the data; weights, buffers, optimizer state and losses afterwards."""
    options.showCompilationProgressBar(False).deviceIterations(iterations)
    options.Training.gradientAccumulation(accumulation)
    options.outputMode(poptorch.OutputMode.All)
    rule = optimizer(model.parameters())
    wrapped = poptorch.trainingModel(model, options, rule)
    turns = accumulation * iterations
    replicas = options.replication_factor
    losses = []
    for x, y in batches(samples, steps, image):
        _, loss = wrapped(part(x, turns, replicas), part(y, turns, replicas))
        losses.append(loss.detach().clone().flatten())
    found: dict[str, Any] = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    training = wrapped._compiled().executable.training
    found.update({f"optimizer {name}": tensor.clone() for name, tensor in training.state.items()})
    return {"state": found, "losses": torch.stack(losses), "form": wrapped._compiled().executable.form}


class Blocks(nn.Module):
    """A pipeline of two stages."""

    def __init__(self) -> None:
        super().__init__()
        self.first = poptorch.BeginBlock(nn.Linear(6, 8), "first", ipu_id=0)
        self.second = poptorch.BeginBlock(nn.Linear(8, 4), "second", ipu_id=0)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        x = self.second(functional.relu(self.first(x)))
        return x, functional.cross_entropy(x, y)


class Wide(nn.Module):
    """More than a megabyte of parameters in several layers, so that they lie in several buckets."""

    def __init__(self) -> None:
        super().__init__()
        sizes = [6, 512, 512, 512, 4]
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in itertools.pairwise(sizes))

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        for layer in self.layers[:-1]:
            x = functional.relu(layer(x))
        x = self.layers[-1](x)
        return x, functional.cross_entropy(x, y)


def _adam(parameters: Any) -> torch.optim.Optimizer:
    return poptorch.optim.Adam(parameters, lr=0.01)


def _momentum(parameters: Any) -> torch.optim.Optimizer:
    return torch.optim.SGD(parameters, lr=0.05, momentum=0.9, weight_decay=0.01)


def _lamb(parameters: Any) -> torch.optim.Optimizer:
    return poptorch.optim.LAMB(parameters, lr=0.01)


def _clipped(parameters: Any) -> torch.optim.Optimizer:
    return poptorch.optim.AdamW(parameters, lr=0.01, max_grad_norm=0.1)


def _scaled(parameters: Any) -> torch.optim.Optimizer:
    return poptorch.optim.SGD(parameters, lr=0.01, momentum=0.9, loss_scaling=128.0, use_combined_accum=False)


def _summed(options: poptorch.Options) -> None:
    options.Training.accumulationAndReplicationReductionType(poptorch.ReductionType.Sum)


def _running(options: poptorch.Options) -> None:
    options.Training.setMeanAccumulationAndReplicationReductionStrategy(
        poptorch.MeanReductionStrategy.Running
    )


def _automatic_scale(options: poptorch.Options) -> None:
    options.Training.setAutomaticLossScaling(True)


def _stochastic(options: poptorch.Options) -> None:
    options.Precision.enableStochasticRounding(True)


@dataclass(frozen=True)
class Case:
    """One way to train, in several instances or in one."""

    model: Callable[[], nn.Module] = Dense
    optimizer: Callable[[Any], torch.optim.Optimizer] = _adam
    set: Callable[[poptorch.Options], Any] = lambda options: None
    replicas: int = 1
    accumulation: int = 1
    iterations: int = 1
    image: bool = False
    half: bool = False
    #: whether one process with all replicas gets the same numbers
    like_one: bool = True

    def run(self, options: poptorch.Options, samples: int) -> dict[str, Any]:
        """Train."""
        torch.manual_seed(options.Distributed.processId)  # other weights on each; the first instance's count
        model = self.model()
        options.randomSeed(5)
        self.set(options)
        return train(
            model.half() if self.half else model,
            options,
            self.optimizer,
            samples=samples,
            accumulation=self.accumulation,
            iterations=self.iterations,
            image=self.image,
        )


CASES = {
    "adam": Case(),
    "momentum": Case(optimizer=_momentum),
    "lamb": Case(optimizer=_lamb),
    "clipped gradients": Case(optimizer=_clipped),
    "accumulation and iterations": Case(optimizer=_momentum, accumulation=2, iterations=2),
    "two replicas each": Case(replicas=2),
    "two replicas each, accumulating": Case(replicas=2, accumulation=2),
    "sum": Case(set=_summed, accumulation=2),
    "running mean": Case(set=_running, accumulation=2),
    "dropout": Case(model=lambda: Dense(dropout=0.5)),
    "dropout in two replicas each": Case(model=lambda: Dense(dropout=0.5), replicas=2),
    "batch norm": Case(model=Convolutional, image=True),
    "several buckets": Case(model=Wide, accumulation=2),
    "pipeline": Case(model=Blocks, accumulation=2),
    "half precision": Case(half=True, optimizer=_scaled),
    "automatic loss scaling": Case(half=True, optimizer=_scaled, set=_automatic_scale),
    "stochastic rounding": Case(half=True, optimizer=_scaled, set=_stochastic, like_one=False),
}


def in_instances(names: Iterable[str], samples: int) -> dict[str, Any]:
    """Train all these ways as one of several instances."""
    found = {}
    instance, instances = popdist.getInstanceIndex(), popdist.getNumInstances()
    for name in names:
        case = CASES[name]
        os.environ["POPDIST_NUM_TOTAL_REPLICAS"] = str(instances * case.replicas)
        os.environ["POPDIST_NUM_LOCAL_REPLICAS"] = str(case.replicas)
        os.environ["POPDIST_REPLICA_INDEX_OFFSET"] = str(instance * case.replicas)
        found[name] = case.run(popdist.poptorch.Options(), samples)
    return found


def in_one(name: str, instances: int, samples: int) -> dict[str, Any]:
    """Train with the replicas of all instances in this process."""
    case = CASES[name]
    return case.run(poptorch.Options().replicationFactor(instances * case.replicas), samples)


def leave(value: Any) -> None:
    """Hand a result to the test."""
    torch.save(value, sys.argv[1])
