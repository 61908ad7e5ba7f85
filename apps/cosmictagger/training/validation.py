"""Validation: some events that training never sees, evaluated by a model of its own."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from cosmictagger.config.groups import Config
from cosmictagger.data import EventDataset
from cosmictagger.metrics.summary import Totals
from cosmictagger.training import building
from cosmictagger.training.evaluation import MeanLoss, batches, evaluation
from cosmictagger.training.ranks import Ranks


@dataclass(frozen=True)
class Validated:
    """What a validation found.

    Attributes:
        metrics: of the events of all processes.
        local_speed: events per second of this process.
        speed: events per second of all of them.
        shown: number and predicted classes of one event, if they are wanted.
    """

    metrics: dict[str, float]
    local_speed: float
    speed: float
    shown: tuple[int, NDArray[np.uint8]] | None


class Validation:
    """Validates weights, each time on the next events.

    Args:
        config: the configuration of a training run.
        ranks: the processes of the run.
        events: those to validate with.
        images: also give the classes that are predicted for an event.
    """

    def __init__(self, config: Config, ranks: Ranks, events: EventDataset, images: bool) -> None:
        self.config, self.ranks, self.events = config, ranks, events
        scheme = config.mode.optimizer.loss_balance_scheme
        self.model = evaluation(config, building.network(config), ranks, scheme, labels=images)

    def run(self, weights: dict[str, torch.Tensor], step: int) -> Validated:
        """Validate the weights of a step. The device must be free; it is free again afterwards."""
        run, ranks, size = self.config.run, self.ranks, self.model.combined
        everyone = list(range(len(self.events)))
        if run.aux_batches:
            # by the number of the step, so that a run that goes on takes the events that it would have taken
            count = run.aux_batches * size * ranks.count
            begin = step // run.aux_iterations * count
            everyone = [(begin + each) % len(self.events) for each in range(count)]
        mine = everyone[ranks.index :: ranks.count]
        self.model.load(weights)
        started = time.perf_counter()
        counts, mean, shown = [], MeanLoss(), None
        # a process may have none: fewer events than processes
        for (image, label, index), real in (
            batches(self.events, mine, size, self.config.data.workers) if mine else ()
        ):
            found, loss, *rest = self.model.evaluate(image, label)
            counts.append(found[:real])
            mean.add(loss, real == size)
            if rest and shown is None:
                shown = int(index[0]), rest[0][0].numpy()
        seconds = time.perf_counter() - started
        self.model.release()
        everything = torch.cat(counts).float().numpy() if counts else np.zeros((0, 3, 3, 3))
        metrics, _ = ranks.metrics(Totals.of(everything, mean.value))
        return Validated(metrics, len(mine) / seconds, len(everyone) / seconds, shown)
