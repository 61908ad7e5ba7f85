"""What the consumer and the worker process of an asynchronous loader say to each other.

Two pipes: commands go to the worker, events come back. The data itself is in the slots of the ring; events
only tell of what is out of the ordinary. An epoch is one pass over the data set; numbering the epochs is what lets
both sides drop what belongs to a pass that the user abandoned, without waiting for each other.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch

from tremula.frontends.torch.data.item_structure import ItemLayout
from tremula.frontends.torch.structure import StructureParser


def default_logger() -> logging.Logger:
    """The engine's own logger."""
    return logging.getLogger("tremula")


@dataclass(frozen=True)
class WorkerSettings:
    """How a worker process loads.

    Attributes:
        start_method: how processes that the data set starts in the worker are started by default (a loader with
            workers of its own does); None keeps what the process has
    """

    slots: int = 3  #: number of slots of the ring
    #: how long the worker sleeps, at first, before it looks again for a free slot
    miss_sleep_seconds: float = 1e-4
    #: start the next epoch as soon as one ends, rather than when it is asked for
    load_indefinitely: bool = True
    early_preload: bool = False  #: fill the ring before the first epoch is asked for
    #: rows of the batches to hand out; None hands out the items as they are
    rebatched_size: int | None = None
    #: hand out the rows that are left at the end of an epoch (with `rebatched_size`)
    keep_remainder: bool = False
    start_method: str | None = None
    seed: int | None = None  #: for torch's random numbers in the worker; None keeps what the process has
    #: the user's parsers that the worker should know too
    parsers: tuple[tuple[type, StructureParser], ...] = ()
    #: gives the worker its logger; a function of a module, as it is sent to the worker
    make_logger: Callable[[], logging.Logger] = default_logger


class Attached(NamedTuple):
    """Command: the consumer has mapped the shared memory (the worker may go away from now on)."""


class StartEpoch(NamedTuple):
    """Command: the consumer iterates over this epoch now; what is left of earlier ones is of no use."""

    epoch: int


class Shutdown(NamedTuple):
    """Command: end the process."""


class Started(NamedTuple):
    """Event: the first item is loaded, here is what items look like and the memory they will be in."""

    layout: ItemLayout
    ring: tuple[list[torch.Tensor], torch.Tensor, torch.Tensor]


class Failed(NamedTuple):
    """Event: the worker stops because of an exception."""

    report: str


Command = Attached | StartEpoch | Shutdown
Event = Started | Failed
