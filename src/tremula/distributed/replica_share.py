"""Which replicas of one program are in this instance, in plain values.

All instances have as many replicas. Those of instance 0 come first, then those of instance 1, and so on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tremula.distributed import launch_environment
from tremula.errors import Error


@dataclass(frozen=True)
class ReplicaShare:
    """The replicas of this instance.

    Attributes:
        total: replicas of the run.
        first: number, in the run, of the first one of this instance.
        local: how many this instance has.
    """

    total: int = 1
    first: int = 0
    local: int = 1

    def __post_init__(self) -> None:
        """Raises Error if instances with as many replicas as this one do not make up the run."""
        if self.local < 1 or self.total < 1 or self.total % self.local:
            raise Error(
                f"{self.total} replicas of a run cannot be divided among instances with {self.local} each: the "
                "total must be a multiple of the replicas of one instance."
            )
        if not 0 <= self.first < self.total or self.first % self.local:
            raise Error(
                f"The first replica of this instance is said to be {self.first} of {self.total}, but instances with "
                f"{self.local} replicas each begin at a multiple of {self.local}."
            )

    @classmethod
    def alone(cls, replicas: int) -> ReplicaShare:
        """All replicas are in one instance."""
        return cls(replicas, 0, replicas)

    @property
    def several(self) -> bool:
        """Whether other instances have replicas as well."""
        return self.local < self.total

    @property
    def instances(self) -> int:
        """Instances of the run."""
        return self.total // self.local

    @property
    def instance(self) -> int:
        """Index of this instance."""
        return self.first // self.local

    def owner(self, replica: int) -> int:
        """The instance that has a replica of the run."""
        return replica // self.local

    def has(self, replica: int) -> bool:
        """Whether a replica of the run is in this instance."""
        return self.owner(replica) == self.instance

    def crosses(self, assignment: Sequence[int]) -> bool:
        """Whether a group has replicas in several instances; `assignment` gives the group of each replica."""
        owners: dict[int, int] = {}
        return any(
            owners.setdefault(group, self.owner(replica)) != self.owner(replica)
            for replica, group in enumerate(assignment)
        )

    def check_launched(self) -> None:
        """Raise Error if the launcher has started another number of instances."""
        started = launch_environment.instances()
        if self.several and launch_environment.is_launched() and started != self.instances:
            raise Error(
                f"The program has {self.total} replicas, {self.local} of them in this instance, which makes "
                f"{self.instances} instances; but {started} {'was' if started == 1 else 'were'} started. Give the "
                "program the launcher's numbers, or start as many instances."
            )
