"""Settings of executors that no framework is needed for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ExecutionSettings:
    """Where an executor keeps compiled code (None: the user's private folder), and its `label` in the listing.

    The program of a file is `untrusted`: its compiled code compares every index with the size, whatever the op.
    """

    cache_folder: str | None = None
    label: str = "model"
    untrusted: bool = False


@dataclass(frozen=True)
class ReplicaGrouping:
    """A parameter with one value per group of replicas: dimension 0 of the device's tensor is the group."""

    groups: int
    consecutive: bool

    def group_of(self, replica: int, replicas: int) -> int:
        """The group that a replica belongs to."""
        return replica // (replicas // self.groups) if self.consecutive else replica % self.groups
