"""Instances that were meant to train one model together and train one each: noticed, and said while they run.

A program that is started as several instances but does not train a distributed model gives figures that look like
data parallelism and are none. Instances leave a note when they wrap such a model, or at their end.
"""

from __future__ import annotations

import time

from tremula.launch.logger import Logger
from tremula.launch.rendezvous import Rendezvous

_POLL_SECONDS = 0.5


class IndependenceWatch:
    """Looks now and then for notes that instances leave."""

    def __init__(self, rendezvous: Rendezvous, instances: int, voice: Logger) -> None:
        self._rendezvous = rendezvous
        self._instances = instances
        self._voice = voice
        self._next = 0.0
        self._seen = False

    def look(self, *, now: bool = False) -> None:
        """Look if it is time to, and warn the first time that there is something to see."""
        if self._seen or self._instances < 2 or (not now and time.monotonic() < self._next):
            return
        self._next = time.monotonic() + _POLL_SECONDS
        try:
            found = self._rendezvous.independent()
        except RuntimeError:
            return  # the store is of no use any more; the run does not depend on this
        if not found:
            return
        self._seen = True
        rank, model = min(found.items())
        self._voice.warn(
            f"The {self._instances} instances train {self._instances} INDEPENDENT models: instance {rank} wrapped "
            f"{model or 'a model'} with options that are not distributed, or wrapped it and went on with the plain "
            "module. Nothing is reduced between the instances, so their throughput must not be added up as data "
            "parallelism. To train one model on all replicas, call the wrapped model, with these options:\n"
            "    import popdist.poptorch\n"
            "    options = popdist.poptorch.Options()  # instead of poptorch.Options()"
        )

    def conclude(self) -> None:
        """Say it again at the end, in one line; or now, if it has only come out now."""
        said = self._seen
        self.look(now=True)
        if said:
            self._voice.warn(
                f"These were {self._instances} independent trainings, not one data-parallel training "
                "(see the warning above)."
            )
