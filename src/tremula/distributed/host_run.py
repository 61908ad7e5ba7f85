"""Measured on this host: a run of processes that trained a model together, and how fast data are read."""

from __future__ import annotations

import math
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
class Outcome:
    """What processes that trained together came to, before it is judged.

    Attributes:
        seconds_per_step: of an update.
        spread: largest difference of the weights between any two processes.
        random: whether the model draws random numbers.
        alike: whether all micro-batches are the same.
        size: of the gradient of one process alone; None: it was not computed.
        difference: of the summed gradient from that one.
        tolerance: up to which deviation is rounding.
    """

    seconds_per_step: float
    spread: float
    random: bool
    alike: bool
    size: float | None
    difference: float | None
    tolerance: float

    def judged(self, instances: int, steps: int, samples_per_step: int, *, replicas: int) -> HostRun:
        """The verdict; `replicas` are those of the program in one process."""
        notes, deviation = [], None
        if replicas > 1:
            notes.append(f"each process stands for one of the program's replicas, not for its {replicas}")
        if self.random:
            notes.append(
                "forward draws random numbers, other ones in each replica: only processes are compared"
            )
        elif self.size is not None and self.difference is not None:
            if self.alike:
                notes.append(
                    "all micro-batches are the same, so a sum of gradients cannot be told from one of them"
                )
            elif not math.isfinite(self.size) or self.size == 0.0:
                notes.append(
                    f"the gradient is {'not finite' if self.size else '0'}, so there is nothing to compare"
                )
            else:
                deviation = self.difference / self.size
        verdict = None if deviation is None else deviation <= self.tolerance
        if self.spread != 0.0:
            verdict = False
        return HostRun(
            instances=instances,
            steps=steps,
            samples_per_step=samples_per_step,
            seconds_per_step=self.seconds_per_step,
            spread=self.spread,
            deviation=deviation,
            tolerance=self.tolerance,
            equivalent=verdict,
            note="; ".join(notes),
        )


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
