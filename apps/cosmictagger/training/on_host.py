"""Training and evaluation with plain torch, on the processor or a GPU."""

from __future__ import annotations

import torch
from torch import nn

from cosmictagger.config.groups import ComputeMode, Config
from cosmictagger.config.keys import ConfigError
from cosmictagger.losses import SegmentationLoss
from cosmictagger.model import InferenceStep, TrainingStep
from cosmictagger.training import building
from cosmictagger.training.precision import loss_scaling, prepared

#: what torch calls the optimizer's tensors, and what checkpoints call them (as the device does)
_STATE = {
    "adam": {"exp_avg": "Accl1", "exp_avg_sq": "Accl2", "step": "Step"},
    "rmsprop": {"square_avg": "Accl1"},
    "sgd": {"momentum_buffer": "Accl1"},
}


def device_of(config: Config) -> torch.device:
    """The torch device.

    Raises:
        ConfigError: a GPU is asked for and there is none.
    """
    if config.run.compute_mode is ComputeMode.CPU:
        return torch.device("cpu")
    if not torch.cuda.is_available():
        raise ConfigError("run.compute_mode=GPU: torch sees no GPU here. Take CPU or IPU.")
    return torch.device("cuda")


class HostTraining:
    """Trains a network in this process.

    Args:
        config: the configuration of a training run.
        network: what to train; its parameters change in place.
    """

    def __init__(self, config: Config, network: nn.Module) -> None:
        settings = config.mode.optimizer
        self.device = device_of(config)
        self.network = network.to(self.device)
        self.micro_batch = config.run.minibatch_size
        self.step = TrainingStep(
            prepared(network, config.run.precision), SegmentationLoss(settings.loss_balance_scheme)
        ).to(self.device)
        self.scaling = loss_scaling(settings.loss_scaling, config.run.precision)
        self.kind = str(settings.name)
        self.optimizer = building.optimizer(settings, list(network.parameters()), False, self.scaling)
        self.combined = self.micro_batch * settings.gradient_accumulation
        self.options = None

    def train(
        self, image: torch.Tensor, label: torch.Tensor, rate: float
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """One weight update; counts of each event and the loss of each micro-batch."""
        self.network.train()
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.zero_grad(set_to_none=True)
        counts, losses = [], []
        pairs = list(zip(image.split(self.micro_batch), label.split(self.micro_batch), strict=True))
        for images, labels in pairs:
            found, loss = self.step(images.to(self.device), labels.to(self.device))
            (loss * (self.scaling / len(pairs))).backward()
            counts.append(found.detach().cpu())
            losses.append(loss.detach().cpu())
        if self.scaling != 1:
            for weight in self.network.parameters():
                if weight.grad is not None:
                    weight.grad /= self.scaling
        self.optimizer.step()
        return torch.cat(counts), torch.stack(losses)

    def weights(self) -> dict[str, torch.Tensor]:
        """The network's state."""
        return {name: value.detach().cpu() for name, value in self.network.state_dict().items()}

    def optimizer_state(self) -> dict[str, torch.Tensor]:
        """The optimizer's tensors, by kind and parameter."""
        found = {}
        for name, weight in self.network.named_parameters():
            for theirs, ours in _STATE[self.kind].items():
                value = self.optimizer.state.get(weight, {}).get(theirs)
                if value is not None:
                    found[f"{ours}___{name}"] = value.detach().cpu().float()
        return found

    def load(self, weights: dict[str, torch.Tensor], state: dict[str, torch.Tensor]) -> None:
        """Go on from somewhere else."""
        self.network.load_state_dict(weights)
        for name, weight in self.network.named_parameters():
            found = {
                theirs: state[f"{ours}___{name}"].clone()
                for theirs, ours in _STATE[self.kind].items()
                if f"{ours}___{name}" in state
            }
            if found:
                # torch wants a count of steps with any state, also where the device keeps none
                counted = {"step": found.pop("step", torch.zeros(()))} if self.kind != "sgd" else {}
                self.optimizer.state[weight] = counted | {
                    each: value.to(weight) for each, value in found.items()
                }

    def random_state(self) -> list[int]:
        """Random numbers of the device: none of its own."""
        return []

    def set_random_state(self, words: list[int]) -> None:
        """Nothing to set."""

    def release(self) -> None:
        """Nothing to give back."""


class HostEvaluation:
    """Evaluates a copy of a network in this process.

    Args:
        config: the configuration.
        network: the copy; it stays as it is.
        loss: how it is judged.
        wanted: what else to give; see `InferenceStep`.
    """

    def __init__(self, config: Config, network: nn.Module, loss: SegmentationLoss, **wanted: bool) -> None:
        self.device = device_of(config)
        self.network = network
        self.step = InferenceStep(prepared(network, config.run.precision), loss, **wanted).to(self.device)
        self.step.eval()
        self.combined = config.run.aux_minibatch_size or config.run.minibatch_size

    def load(self, weights: dict[str, torch.Tensor]) -> None:
        """Take over weights."""
        self.network.load_state_dict(weights)

    @torch.no_grad()
    def evaluate(self, image: torch.Tensor, label: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """What the step gives."""
        return tuple(each.cpu() for each in self.step(image.to(self.device), label.to(self.device)))

    def release(self) -> None:
        """Nothing to give back."""
