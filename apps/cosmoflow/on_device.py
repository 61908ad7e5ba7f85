"""The wrapped models: one that is trained, and one that evaluates a copy of the network, in turns on the IPUs."""

from __future__ import annotations

import dataclasses
from typing import Any

import poptorch
import torch

from cosmoflow.checkpoints import BadCheckpoint
from cosmoflow.model import InferenceStep, TrainingStep
from cosmoflow.network import CosmoFlow
from cosmoflow.processes import Processes
from cosmoflow.settings import Config


def build_network(config: Config) -> CosmoFlow:
    """The network with its first weights, which the seed decides."""
    with torch.random.fork_rng():
        torch.manual_seed(config.seed)
        return CosmoFlow(config.variant)


def place(network: CosmoFlow, ipus: int) -> None:
    """Spread the network over IPUs: most activations are those of the first convolution, so it has one for itself."""
    if ipus > 1:
        poptorch.BeginBlock(network.convolutions[1], "rest", ipu_id=1)


def build_optimizer(config: Config, step: TrainingStep) -> torch.optim.Optimizer:
    """The optimizer; in half precision with loss scaling, and state and sums in single precision."""
    train, half = config.train, config.device.precision == "half"
    shared: dict[str, Any] = {
        "lr": train.rate,
        "weight_decay": train.weight_decay,
        "loss_scaling": config.device.loss_scaling if half else 1.0,
    }
    if half:
        shared["accum_type"] = torch.float32
    if train.optimizer == "sgd":
        return poptorch.optim.SGD(
            step.parameters(), momentum=train.momentum, use_combined_accum=False, **shared
        )
    return poptorch.optim.Adam(step.parameters(), **shared)


class TrainedModel:
    """The network in training.

    Args:
        config: the settings.
        processes: the processes of the run.
        iterations: device iterations; those of the settings by default.
    """

    def __init__(self, config: Config, processes: Processes, iterations: int | None = None) -> None:
        self.network = build_network(config)
        place(self.network, config.device.ipus)
        step = TrainingStep(self.network).train()
        if config.device.precision == "half":
            step.half()
        self.optimizer = build_optimizer(config, step)
        self.options = processes.options(
            config, training=True, iterations=config.device.iterations if iterations is None else iterations
        )
        self.model = poptorch.trainingModel(step, self.options, self.optimizer)
        self._rate: float | None = None

    def set_rate(self, rate: float) -> None:
        """Set the learning rate for what follows."""
        if rate != self._rate:
            for group in self.optimizer.param_groups:
                group["lr"] = rate
            self.model.setOptimizer(self.optimizer)
            self._rate = rate

    def train(self, counts: torch.Tensor, targets: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """One call. Mean absolute errors of each micro-batch [n, 4] and its loss [n]."""
        errors, losses = self.model(counts, targets)
        return errors, losses.reshape(-1)

    def weights(self) -> dict[str, torch.Tensor]:
        """The network's state, fetched from the device."""
        if self.model.isCompiled():
            self.model.copyWeightsToHost()
        return {name: value.detach().clone() for name, value in self.network.state_dict().items()}

    def state(self) -> dict[str, Any]:
        """What a checkpoint has to hold of the model."""
        return {
            "network": self.weights(),
            "optimizer": {
                "kind": type(self.optimizer).__name__,
                "state": self.optimizer.state_dict()["ipu_state"] or {},
            },
            "random": list(self.model.rng_state or []) if self.model.isCompiled() else [],
            "variant": dataclasses.asdict(self.network.variant),
        }

    def load(
        self, state: dict[str, Any], counts: torch.Tensor, targets: torch.Tensor, *, random: bool
    ) -> None:
        """Go on from a checkpoint, before the first call.

        Args:
            state: the checkpoint.
            counts, targets: a batch, for the model to be compiled.
            random: also go on with its random numbers.
        """
        load_weights(self.network, state)
        kept, kind = state["optimizer"], type(self.optimizer).__name__
        if kept.get("kind") != kind:
            raise BadCheckpoint(
                f"The checkpoint was trained with {kept.get('kind')}, but the settings say {kind}: set train.optimizer "
                "as it was, or train.resume=false."
            )
        if kept.get("state"):
            # not the rest: rate, momentum and the like are those of the settings, which may have changed
            content = {**self.optimizer.state_dict(), "ipu_state": kept["state"], "ipu_param": {}}
            self.optimizer.load_state_dict(content)
        self.model.compile(counts, targets)
        if random and state["random"]:
            self.model.rng_state = state["random"]

    def release(self) -> None:
        """Give the device back until the next call."""
        if self.model.isCompiled() and self.model.isAttachedToDevice():
            self.model.detachFromDevice()


class EvaluatedModel:
    """A copy of the network that predicts.

    Args:
        config: the settings.
        processes: the processes of the run.
    """

    def __init__(self, config: Config, processes: Processes) -> None:
        self.network = build_network(config)
        place(self.network, config.device.ipus)
        step = InferenceStep(self.network).eval()
        if config.device.precision == "half":
            step.half()
        self.options = processes.options(config, training=False, iterations=config.device.ipus)
        self.model = poptorch.inferenceModel(step, self.options)

    def load(self, weights: dict[str, torch.Tensor]) -> None:
        """Take over weights."""
        self.network.load_state_dict(weights)
        if self.model.isCompiled():
            self.model.copyWeightsToDevice()

    def evaluate(self, counts: torch.Tensor, targets: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Predictions and absolute errors [B, 4]."""
        predictions, errors = self.model(counts, targets)
        return predictions, errors

    def release(self) -> None:
        """Give the device back until the next call."""
        if self.model.isCompiled() and self.model.isAttachedToDevice():
            self.model.detachFromDevice()


def load_weights(network: CosmoFlow, state: dict[str, Any]) -> None:
    """Take over the weights of a checkpoint.

    Raises:
        BadCheckpoint: they are those of another network.
    """
    mine, its = dataclasses.asdict(network.variant), state["variant"]
    names = ("size", "conv_size", "kernel", "layers", "doubling", "padding")
    differing = [
        f"{name} {its.get(name)} (here {mine[name]})" for name in names if its.get(name) != mine[name]
    ]
    if differing:
        raise BadCheckpoint(f"The checkpoint is of another network: {', '.join(differing)}.")
    try:
        network.load_state_dict(state["network"])
    except (RuntimeError, TypeError) as problem:
        raise BadCheckpoint(f"The weights of the checkpoint do not fit the network: {problem}") from problem
