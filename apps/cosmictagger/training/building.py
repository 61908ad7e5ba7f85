"""What a run is made of: events, network, loss and optimizer, as the configuration says."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import poptorch
import torch
from torch import nn

from cosmictagger.config.groups import ComputeMode, Config, Optimizer, OptimizerName, SyntheticData
from cosmictagger.config.keys import ConfigError
from cosmictagger.data import EventDataset, EventFile, EventFiles, SyntheticEvents, split
from cosmictagger.network import build

#: generated events that validate begin at this number, far from those that train
_FIRST_AUX = 1_000_000
_RMSPROP_EPS = 1e-4


@dataclass
class Events:
    """The events of a run.

    Attributes:
        train: those that train.
        aux: those that validate, or None.
        files: where they were read from.
    """

    train: EventDataset
    aux: EventDataset | None
    files: list[Path]

    @property
    def unseen(self) -> EventDataset:
        """What inference runs over: validation events, or all there are."""
        return self.train if self.aux is None else self.aux


def events(config: Config) -> Events:
    """Open or generate the events.

    Raises:
        ConfigError: they cannot be used as configured.
        BadEventFile: a file is broken.
    """
    data = config.data
    try:
        if isinstance(data, SyntheticData):
            shape = (data.wires, data.ticks)
            train: Any = SyntheticEvents(data.events, data.seed, shape=shape, cosmics=data.cosmics)
            aux: Any = SyntheticEvents(
                data.aux_events, data.seed, shape=shape, cosmics=data.cosmics, first=_FIRST_AUX
            )
            sets = [EventDataset(each, data.downsample, log=data.img_transform) for each in (train, aux)]
            found = Events(sets[0], sets[1], [])
        else:
            found = _from_files(config)
        if config.mode.name != "iotest":
            config.network.check_image(*found.train.size)
    except ValueError as error:
        if type(error) is not ValueError:
            raise
        raise ConfigError(str(error)) from None
    return found


def _from_files(config: Config) -> Events:
    data = config.data
    training, aux = _paths(data.data_directory, data.file), _paths(data.data_directory, data.aux_file)
    if not training:
        raise ConfigError("data.file is empty: name the file with the events.")
    for path in (*training, *aux):
        if not path.is_file():
            hint = (
                " Set data.aux_file= (empty) to hold out a part of data.file instead." if path in aux else ""
            )
            raise ConfigError(f"There is no file {path}: check data.data_directory and data.file.{hint}")

    def opened(paths: list[Path], **choice: Any) -> EventDataset:
        source = EventFile(paths[0]) if len(paths) == 1 else EventFiles(paths)
        return EventDataset(source, data.downsample, log=data.img_transform, **choice)

    if aux:
        return Events(opened(training), opened(aux), [*training, *aux])
    everything = opened(training)
    if not data.held_out or len(everything) < 2:
        return Events(everything, None, training)
    kept = max(1, round(data.held_out * len(everything))) / len(everything)
    first, second = split(len(everything), (1 - kept, kept), config.run.seed)
    return Events(opened(training, events=first), opened(training, events=second), training)


def _paths(folder: str, names: str) -> list[Path]:
    return [Path(folder).expanduser() / each.strip() for each in names.split(",") if each.strip()]


def network(config: Config) -> nn.Module:
    """The network with fresh weights, drawn from run.seed."""
    fold = config.run.fold_planes
    if fold is None:
        fold = config.run.compute_mode is ComputeMode.IPU
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.run.seed)
        return build(config.network, fold)


def optimizer(
    settings: Optimizer, parameters: list[nn.Parameter], on_ipu: bool, scaling: float
) -> torch.optim.Optimizer:
    """The optimizer, with its learning rate free to change."""
    family = poptorch.optim if on_ipu else torch.optim
    own: dict[str, Any] = {"loss_scaling": scaling} if on_ipu and scaling != 1 else {}
    rate, decay = settings.learning_rate, settings.weight_decay
    if settings.name is OptimizerName.sgd:
        return family.SGD(parameters, lr=rate, momentum=settings.momentum, weight_decay=decay, **own)
    if settings.name is OptimizerName.rmsprop:
        return family.RMSprop(parameters, lr=rate, eps=_RMSPROP_EPS, weight_decay=decay, **own)
    return family.Adam(parameters, lr=rate, weight_decay=decay, **own)
