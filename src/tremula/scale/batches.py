"""Batch arithmetic of a study: how many micro-batches each layout gets, so that layouts and sizes can be compared.

Within a size every layout does the same work per weight update: with w IPUs to a replica, each replica takes w times
the micro-batches of an IPU. A layout whose share is not a whole number, or shorter than its pipeline, is left out of
that size, with the reason.
"""

from __future__ import annotations

from dataclasses import dataclass

from tremula.errors import Error
from tremula.scale.question import WEAK


@dataclass(frozen=True)
class Batches:
    """What stays the same in a study."""

    micro_batch: int  #: samples of one run of forward
    per_ipu: int  #: micro-batches of an IPU per weight update, in weak scaling
    global_batch: int  #: samples of all replicas per weight update, in strong scaling

    def accumulation(self, mode: str, ipus: int, stages: int) -> int:
        """Micro-batches of one replica per weight update.

        Raises Error if the global batch cannot be shared out like this.
        """
        if mode == WEAK:
            return self.per_ipu * stages
        replicas = ipus // stages
        each, left = divmod(self.global_batch, replicas * self.micro_batch)
        if left or not each:
            raise Error(
                f"a global batch of {self.global_batch:,} cannot be divided among {replicas} "
                f"replica{'' if replicas == 1 else 's'} in micro-batches of {self.micro_batch}"
            )
        return each

    def samples(self, mode: str, ipus: int) -> int:
        """The global batch at a size."""
        return self.micro_batch * self.per_ipu * ipus if mode == WEAK else self.global_batch
