"""Settings of executors that no framework is needed for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ExecutionSettings:
    """Where an executor keeps compiled code (None: the user's private folder), and its `label` in the listing."""

    cache_folder: str | None = None
    label: str = "model"


@dataclass(frozen=True)
class ReplicaGrouping:
    """A parameter with one value per group of replicas: dimension 0 of the device's tensor is the group."""

    groups: int
    consecutive: bool

    def group_of(self, replica: int, replicas: int) -> int:
        """The group that a replica belongs to."""
        return replica // (replicas // self.groups) if self.consecutive else replica % self.groups
