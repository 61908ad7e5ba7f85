"""The placement of a weight on replicas: `VariableSettings`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._enums import CommGroupType, VariableRetrievalMode
from ._exceptions import popart_exception
from ._tensor_locations import CommGroup, ReplicaGrouping


class VariableSettings:
    """The replicas that share a weight, and the copies that are returned."""

    def __init__(self, *settings: Any, **named: Any) -> None:
        settings = (*settings, *named.values())
        numbers = [each for each in settings if isinstance(each, int) and not isinstance(each, bool)]
        self._domain: CommGroup | None = CommGroup(CommGroupType.All, 0)
        self._stride, self._group_size = 0, 0
        self._mode = VariableRetrievalMode.OnePerGroup
        if numbers:
            if len(numbers) != 2:
                raise TypeError(
                    "__init__(): incompatible constructor arguments: stride and groupSize go together."
                )
            self._domain = None
            self._stride, self._group_size = numbers
        for each in settings:
            if isinstance(each, VariableRetrievalMode):
                self._mode = each
            elif isinstance(each, CommGroup):
                self._domain = each
                self._group_size = each.replicaGroupSize
            elif not isinstance(each, int):
                raise TypeError(f"__init__(): incompatible constructor arguments: {each!r}.")
        self.verify()

    def verify(self) -> None:
        """Refuse groups without replicas."""
        if self._domain is None:
            if self._stride < 1 or self._group_size < 1:
                raise popart_exception(
                    f"VariableSettings: stride {self._stride} and group size {self._group_size} must be at least 1."
                )
            return
        sized = self._domain.type in (CommGroupType.Consecutive, CommGroupType.Orthogonal)
        if sized and self._domain.replicaGroupSize < 1:
            raise popart_exception(
                f"A CommGroup of type {self._domain.type.name} in VariableSettings needs a replicaGroupSize of at "
                f"least 1, not {self._domain.replicaGroupSize}."
            )

    def getSharedVariableDomain(self) -> CommGroup:
        """The replicas that share the weight."""
        if self._domain is None:
            raise popart_exception("These VariableSettings were made from a stride, not from a CommGroup.")
        return self._domain

    def isUsingCommGroup(self) -> bool:
        """Whether groups are given by a CommGroup."""
        return self._domain is not None

    def getCommGroupType(self) -> CommGroupType:
        """How groups are formed."""
        return self.getSharedVariableDomain().type

    def getStride(self) -> int:
        """The distance between replicas of a group."""
        return self._stride

    def getGroupSize(self) -> int:
        """Replicas of a group."""
        return self._group_size

    def getRetrievalMode(self) -> VariableRetrievalMode:
        """The copies that are returned."""
        return self._mode

    def getReplicaGrouping(self, numReplicas: int) -> ReplicaGrouping:
        """The groups for this number of replicas."""
        if self._domain is None:
            return ReplicaGrouping(numReplicas, self._stride, self._group_size)
        return self._domain.toReplicaGrouping(numReplicas)

    def getGroupCount(self, replicas: int) -> int:
        """The number of groups."""
        return self.getReplicaGrouping(replicas).getNumGroups()

    def getRealGroupSize(self, replicas: int) -> int:
        """Replicas of a group, where the settings leave it open too."""
        return self.getReplicaGrouping(replicas).getGroupSize()

    def getGroupRepresentative(self, group: int) -> int:
        """The first replica of a group."""
        if self._domain is not None and self._domain.type is CommGroupType.Orthogonal:
            return group
        if self._domain is not None and self._domain.type is CommGroupType.All:
            return 0
        return group * max(1, self._group_size)

    def numReplicasReturningVariable(self, replicas: int) -> int:
        """The number of copies that are returned to the host."""
        if self._mode is VariableRetrievalMode.AllReplicas:
            return replicas
        return self.getGroupCount(replicas)

    def shapeOnReplica(self, shape: Sequence[int], replicas: int, name: str = "") -> list[int]:
        """The shape on a replica of a weight that has this shape on the host."""
        groups = self.getGroupCount(replicas)
        if groups == 1:
            return list(shape)
        if not shape or shape[0] != groups:
            raise popart_exception(
                f"The weight {name} has the shape {list(shape)}, but {groups} groups of replicas: the first dimension "
                "should match the groups."
            )
        return list(shape[1:])

    def shapeOnHost(self, shape: Sequence[int], replicas: int) -> list[int]:
        """The shape on the host of a weight that has this shape on a replica."""
        groups = self.getGroupCount(replicas)
        return list(shape) if groups == 1 else [groups, *shape]

    def groups(self, replicas: int) -> list[list[int]]:
        """The replicas of each group."""
        grouping = self.getReplicaGrouping(replicas)
        return [grouping.getReplicasAt(group) for group in range(grouping.getNumGroups())]


__all__ = ["VariableSettings"]
