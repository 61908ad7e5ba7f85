"""Warns if instances train separate models instead of one shared model.

Such a run looks like data parallelism but is not. Instances write a note when they wrap a model that is not
distributed, or when they end.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tremula.distributed import protocol
from tremula.launch.logger import Logger

if TYPE_CHECKING:
    from tremula.distributed.rendezvous_server import RendezvousServer

_POLL_SECONDS = 0.5


class IndependentModelsWarning:
    """Reads the notes of the instances from time to time."""

    def __init__(self, rendezvous: RendezvousServer, instances: int, logger: Logger) -> None:
        self._rendezvous = rendezvous
        self._instances = instances
        self._logger = logger
        self._next = 0.0
        self._seen = False

    def poll(self, *, now: bool = False) -> None:
        """Read the notes if the interval has passed, and warn about the first ones."""
        if self._seen or self._instances < 2 or (not now and time.monotonic() < self._next):
            return
        self._next = time.monotonic() + _POLL_SECONDS
        try:
            found = self._rendezvous.notes(protocol.NOTE_INDEPENDENT)
            advice = self._rendezvous.notes(protocol.NOTE_ADVICE)
            reasons = self._rendezvous.notes(protocol.NOTE_REASON)
        except RuntimeError:
            return  # the store has failed; the run does not depend on these notes
        if not found:
            return
        self._seen = True
        rank, model = min(found.items())
        reason = reasons.get(rank) or (
            f"wrapped {model or 'a model'} with options that are not distributed, or wrapped it and then used the "
            "plain module"
        )
        remedy = (
            "configure the program as one of several processes and reduce its gradients (docs/poprun.md)"
            if rank in reasons
            else "call the wrapped model and use the options of a distributed run"
        )
        self._logger.warn(
            f"The {self._instances} instances train {self._instances} INDEPENDENT models: instance {rank} {reason}. "
            "The instances do not share gradients, so do not add up their throughput as for data "
            f"parallelism. To train one model on all replicas, {remedy}"
            f"{f':{chr(10)}    {advice[rank]}' if rank in advice else '.'}"
        )

    def finish(self) -> None:
        """Repeat the warning in one line at the end, or warn now if there was no warning before."""
        said = self._seen
        self.poll(now=True)
        if said:
            self._logger.warn(
                f"This run was {self._instances} independent trainings, not one data-parallel training "
                "(see the warning above)."
            )
