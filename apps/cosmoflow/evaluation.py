"""Predictions for all samples of a source, by all processes of a run together, each sample once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from cosmoflow.data.dataset import Source, sample_loader
from cosmoflow.network import TARGETS
from cosmoflow.on_device import EvaluatedModel
from cosmoflow.processes import Processes


@dataclass(frozen=True)
class Predictions:
    """What was predicted: arrays [samples, 4]; `errors` are the absolute ones, as the device computed them."""

    truth: NDArray[np.float64]
    predicted: NDArray[np.float64]
    errors: NDArray[np.float64]

    @property
    def mae(self) -> NDArray[np.float64]:
        """Mean absolute error of each parameter."""
        return self.errors.mean(0)


def predict(
    model: EvaluatedModel,
    source: Source,
    processes: Processes,
    *,
    batch: int,
    workers: int = 0,
    ahead: bool = False,
) -> Predictions:
    """Predict all samples of a source; all processes must ask, and all get everything.

    Args:
        model: the model.
        source: the samples.
        processes: those of the run.
        batch: micro-batch.
        workers, ahead: as for `sample_loader`.
    """
    loader = sample_loader(
        source,
        model.options,
        batch,
        workers=workers,
        ahead=ahead,
        shuffle=False,
        remainder="repeat",  # the model takes full batches only; what came twice is written twice to one place
        rank=processes.index,
        ranks=processes.count,
    )
    found = np.full((3, len(source), TARGETS), np.nan)
    try:
        for counts, targets, numbers in loader:
            at = numbers.numpy().copy()
            truth = targets.clone()
            predictions, errors = model.evaluate(counts, targets)
            found[0, at], found[1, at], found[2, at] = truth.numpy(), predictions.numpy(), errors.numpy()
    finally:
        if ahead:
            loader.terminate()
    if processes.count > 1:
        found = _gathered(found, processes)
    return Predictions(*found)


def _gathered(found: NDArray[np.float64], processes: Processes) -> NDArray[np.float64]:
    mine = ~np.isnan(found[0, :, 0])
    sums = torch.tensor(
        processes.sums(np.append(np.where(mine[:, None], found, 0).ravel(), mine).tolist()),
        dtype=torch.float64,
    ).numpy()
    times = sums[-len(mine) :]  # what made up a full batch was predicted by two processes
    result: NDArray[np.float64] = sums[: -len(mine)].reshape(found.shape) / times[:, None]
    return result
