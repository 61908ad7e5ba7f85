"""Batches for evaluation, each event once and in order, with the last batch filled up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
import torch.utils.data
from torch import nn

from cosmictagger.config.groups import ComputeMode, Config
from cosmictagger.data import EventDataset
from cosmictagger.losses import SegmentationLoss
from cosmictagger.network import upstream
from cosmictagger.training import checkpoints
from cosmictagger.training.checkpoints import BadCheckpoint
from cosmictagger.training.on_host import HostEvaluation
from cosmictagger.training.on_ipu import IpuEvaluation
from cosmictagger.training.ranks import Ranks


def evaluation(
    config: Config, network: nn.Module, ranks: Ranks, scheme: str, **wanted: bool
) -> HostEvaluation | IpuEvaluation:
    """What evaluates a network of its own, on the device that the configuration names."""
    loss = SegmentationLoss(scheme)
    if config.run.compute_mode is ComputeMode.IPU:
        return IpuEvaluation(config, network, ranks, loss, **wanted)
    return HostEvaluation(config, network, loss, **wanted)


def batches(
    dataset: EventDataset, positions: Sequence[int], size: int, workers: int = 0
) -> Iterator[tuple[list[torch.Tensor], int]]:
    """Batches of `size` events at these positions, and how many of each are not there to fill it up."""
    filled = list(positions) + [positions[-1]] * (-len(positions) % size)
    groups = [filled[start : start + size] for start in range(0, len(filled), size)]
    # a generator of its own: the program's random state is not touched
    loader = torch.utils.data.DataLoader(
        dataset, batch_sampler=groups, num_workers=workers, generator=torch.Generator()
    )
    left = len(positions)
    for batch in loader:
        yield batch, min(size, left)
        left -= size


class MeanLoss:
    """The mean loss of batches. One that was filled up counts only if there is no other: repeated events bias it."""

    def __init__(self) -> None:
        self._whole: list[float] = []
        self._filled: list[float] = []

    def add(self, loss: torch.Tensor, whole: bool) -> None:
        """Add the loss of a batch."""
        (self._whole if whole else self._filled).append(float(loss.float().mean()))

    @property
    def value(self) -> float:
        """The mean; 0 without any batch."""
        losses = self._whole or self._filled
        return sum(losses) / len(losses) if losses else 0.0


def weights_of(path: Path, config: Config) -> tuple[dict[str, torch.Tensor], Any]:
    """The weights in a checkpoint of ours, or of the original, and the step that they are from.

    Raises:
        BadCheckpoint: they are not there, or of another network.
    """
    if not path.is_file():
        raise BadCheckpoint(f"There is no checkpoint {path}.")
    if path.suffix != ".safetensors":
        try:
            theirs = upstream.load(path, config.network)
        except (ValueError, OSError) as error:
            raise BadCheckpoint(str(error)) from None
        return theirs.state, theirs.global_step
    found = checkpoints.read(path)
    check_network(path, found, config)
    return found.network, found.position.step


def check_network(path: Path, found: checkpoints.Checkpoint, config: Config) -> None:
    """Refuse a checkpoint of another network."""
    differs = checkpoints.difference(config.network.to_plain(), found.shape)
    if differs:
        raise BadCheckpoint(f"{path} is of another network: {differs}.")
