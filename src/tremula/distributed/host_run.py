"""Measured on this host: a run of processes that trained a model together, and how fast data are read."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class HostRun:
    """The figures of one run."""

    instances: int
    steps: int
    samples_per_step: int
    seconds_per_step: float
    spread: float  #: largest difference of the weights between the instances; 0.0: the same bits
    #: difference of the summed gradient to that of one process alone, over its size; None: not compared
    deviation: float | None
    tolerance: float  #: up to which deviation is rounding, in the type of the weights
    equivalent: bool | None
    note: str = ""

    @property
    def samples_per_second(self) -> float:
        """Of all instances."""
        return self.samples_per_step / self.seconds_per_step if self.seconds_per_step else 0.0


@dataclass(frozen=True)
class ReadingSpeed:
    """How fast a loader was read, once it was under way."""

    samples: int
    batches: int
    seconds: float
    #: processes that load; 0: the program's own
    workers: int

    @property
    def samples_per_second(self) -> float:
        """Measured by this machine's clock."""
        return self.samples / self.seconds
