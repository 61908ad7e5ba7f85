"""Which checkpoint a run goes on from, and whether it may."""

from __future__ import annotations

import logging

from cosmictagger.config.groups import Config
from cosmictagger.config.keys import ConfigError
from cosmictagger.training.checkpoints import Checkpoint, Checkpoints
from cosmictagger.training.evaluation import check_network


def found_checkpoint(config: Config, checkpoints: Checkpoints, log: logging.Logger) -> Checkpoint | None:
    """The newest checkpoint of the run that can be read, or None for a new run.

    Raises:
        ConfigError: there are checkpoints, but they are not to be used, or cannot be.
        BadCheckpoint: they are of another network.
    """
    if not config.run.resume:
        if checkpoints.steps():
            raise ConfigError(
                f"{checkpoints.folder} already has checkpoints: run.resume=True continues from them; "
                "else take another run.id or remove the folder."
            )
        return None
    found, problems = checkpoints.newest()
    for problem in problems:
        log.warning(f"{problem} Looking for an older one.")
    if found is None:
        if problems:
            raise ConfigError("No checkpoint of this run can be read: remove them to start again.")
        return None
    path = checkpoints.path(found.position.step)
    check_network(path, found, config)
    ours, theirs = str(config.mode.optimizer.name), found.optimizer_name
    if ours != theirs:
        raise ConfigError(f"{path} was written with mode.optimizer.name={theirs}, but it is {ours} now.")
    return found
