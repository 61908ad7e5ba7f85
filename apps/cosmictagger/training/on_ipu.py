"""Training and evaluation on IPUs, with poptorch.

The loss is computed inside the model, the wrapper is what is called, the optimizer is the one it was wrapped with,
and what comes back are counts, not images. Training and validation are two programs that take turns on the device.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import popdist
import popdist.poptorch
import poptorch
import torch
from torch import nn

from cosmictagger.config.groups import Config, Precision
from cosmictagger.losses import SegmentationLoss
from cosmictagger.model import InferenceStep, TrainingStep
from cosmictagger.training import building, splitting
from cosmictagger.training.precision import loss_scaling, prepared
from cosmictagger.training.ranks import Ranks


def _options(config: Config, ranks: Ranks, folder: Path | None, training: bool) -> poptorch.Options:
    run = config.run
    if ranks.launched and ranks.apart is None and run.distributed:
        options: Any = popdist.poptorch.Options(ipus_per_replica=run.ipus)
    else:
        options = poptorch.Options()
        options.Distributed.disable()
        options.replicationFactor(run.replicas)
    options.randomSeed(run.seed)
    options.outputMode(poptorch.OutputMode.All)
    # taken when it runs: the other program may have it until then
    options.connectionType(poptorch.ConnectionType.OnDemand)
    options.showCompilationProgressBar(bool(run.progress))
    if run.executable_cache:
        options.enableExecutableCaching(run.executable_cache)
    if training:
        options.modelName("cosmictagger")
        options.deviceIterations(run.device_iterations)
        options.Training.gradientAccumulation(config.mode.optimizer.gradient_accumulation)
        if run.off_chip_optimizer:
            elsewhere = poptorch.TensorLocationSettings().useOnChipStorage(False)
            options.TensorLocations.setOptimizerLocation(elsewhere)
        if run.stochastic_rounding:
            options.Precision.enableStochasticRounding(True)
        if run.profile and folder is not None:
            options.enableProfiling(str(folder / "profiles" / f"rank_{ranks.index}"))
    else:
        options.modelName("cosmictagger-validation")
        # an executing pipeline has to be filled
        options.deviceIterations(run.ipus)
    return options


class IpuTraining:
    """Trains a network on IPUs.

    Args:
        config: the configuration of a training run.
        network: what to train.
        ranks: the processes of the run.
        folder: where profiles go.
    """

    def __init__(self, config: Config, network: nn.Module, ranks: Ranks, folder: Path | None = None) -> None:
        settings = config.mode.optimizer
        self.network = network
        self.step = TrainingStep(
            prepared(network, config.run.precision), SegmentationLoss(settings.loss_balance_scheme)
        )
        self.step.train()
        self._prefix = "network.inner." if config.run.precision is Precision.mixed else "network."
        scaling = loss_scaling(settings.loss_scaling, config.run.precision)
        self.optimizer = building.optimizer(settings, list(self.step.parameters()), True, scaling)
        self.options = _options(config, ranks, folder, True)
        splitting.split_network(network, config.run, self.options)
        self.model = poptorch.trainingModel(self.step, self.options, self.optimizer)
        self._rate: float | None = None
        self._random_words: list[int] = []

    def train(
        self, image: torch.Tensor, label: torch.Tensor, rate: float
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """One call: as many weight updates as device iterations. Counts of each event, loss of each micro-batch."""
        if rate != self._rate:
            for group in self.optimizer.param_groups:
                group["lr"] = rate
            self.model.setOptimizer(self.optimizer)
            self._rate = rate
        if self._random_words:
            self.model.compile(image, label)
            self.model.rng_state = self._random_words
            self._random_words = []
        counts, losses = self.model(image, label)
        return counts.float(), losses.float().reshape(-1)

    def first_call(self, seconds: float, events: int) -> str:
        """What a log should say when the first call is done: without this line nobody can tell where it ran."""
        state = "done" if self.model.isCompiled() else "missing"
        return (
            f"Graph compilation {state}: the wrapped model's first call took {seconds:.2f} s with it; "
            f"events in a call of this process: {events}"
        )

    def weights(self) -> dict[str, torch.Tensor]:
        """The network's state, fetched from the device."""
        if self.model.isCompiled():
            self.model.copyWeightsToHost()
        return {name: value.detach().clone() for name, value in self.network.state_dict().items()}

    def optimizer_state(self) -> dict[str, torch.Tensor]:
        """The optimizer's tensors, by kind and parameter."""
        state = self.optimizer.state_dict()["ipu_state"] or {}
        return {name.replace(f"___{self._prefix}", "___", 1): value for name, value in state.items()}

    def load(self, weights: dict[str, torch.Tensor], state: dict[str, torch.Tensor]) -> None:
        """Go on from somewhere else; before the first call."""
        self.network.load_state_dict(weights)
        if not state:
            return
        values = {name.replace("___", f"___{self._prefix}", 1): value for name, value in state.items()}
        content = {**self.optimizer.state_dict(), "ipu_state": values, "ipu_param": {}}
        self.optimizer.load_state_dict(content)

    def random_state(self) -> list[int]:
        """The random numbers of the device."""
        return list(self.model.rng_state or []) if self.model.isCompiled() else self._random_words

    def set_random_state(self, words: list[int]) -> None:
        """Go on with the random numbers of another run; before the first call."""
        self._random_words = words

    def release(self) -> None:
        """Give the device back until the next call."""
        if self.model.isCompiled() and self.model.isAttachedToDevice():
            self.model.detachFromDevice()


class IpuEvaluation:
    """Evaluates a copy of a network on IPUs.

    Args:
        config: the configuration.
        network: the copy, which nothing else uses.
        ranks: the processes of the run.
        loss: how it is judged.
        wanted: what else to give; see `InferenceStep`.
    """

    def __init__(
        self,
        config: Config,
        network: nn.Module,
        ranks: Ranks,
        loss: SegmentationLoss,
        **wanted: bool,
    ) -> None:
        self.network = network
        self.step = InferenceStep(prepared(network, config.run.precision), loss, **wanted)
        self.step.eval()
        options = _options(config, ranks, None, False)
        splitting.split_network(network, config.run, options, training=False)
        micro_batch = config.run.aux_minibatch_size or config.run.minibatch_size
        replicas = ranks.replicas // ranks.count
        self.combined = micro_batch * config.run.ipus * replicas
        self.model = poptorch.inferenceModel(self.step, options)

    def load(self, weights: dict[str, torch.Tensor]) -> None:
        """Take over weights."""
        self.network.load_state_dict(weights)
        if self.model.isCompiled():
            self.model.copyWeightsToDevice()

    def evaluate(self, image: torch.Tensor, label: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """What the step gives, for all events of a combined batch."""
        return tuple(self.model(image, label))

    def release(self) -> None:
        """Give the device back until the next call."""
        if self.model.isCompiled() and self.model.isAttachedToDevice():
            self.model.detachFromDevice()
