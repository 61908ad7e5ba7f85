"""Groups of replicas that exchange data with each other."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from tremula.frontends.poplar.libs.errors import PoplibsError


class CommGroupType(Enum):
    """How replicas form groups: all in one, neighbours, those with equal distances, or each alone."""

    ALL = 0
    CONSECUTIVE = 1
    ORTHOGONAL = 2
    NONE = 3


class CollectiveOperator(Enum):
    """What becomes of the elements of several replicas. LOCAL takes each replica's own."""

    ADD = 0
    MEAN = 1
    MUL = 2
    MIN = 3
    MAX = 4
    LOGICAL_AND = 5
    LOGICAL_OR = 6
    SQUARE_ADD = 7
    LOCAL = 8


@dataclass(frozen=True)
class CommGroup:
    """Groups of `replicaGroupSize` replicas, `replicaGroupStride` apart; a size of 0 stands for all replicas."""

    type: CommGroupType = CommGroupType.ALL
    replicaGroupSize: int = 0  # noqa: N815  the public name
    replicaGroupStride: int = 1  # noqa: N815


def groups_of(group: CommGroup, replicas: int) -> list[list[int]]:
    """The replicas of each group, in the order of their ranks."""
    size = group.replicaGroupSize or replicas
    if group.type is CommGroupType.ALL:
        return [list(range(replicas))]
    if group.type is CommGroupType.NONE:
        return [[replica] for replica in range(replicas)]
    stride = group.replicaGroupStride if group.type is CommGroupType.CONSECUTIVE else replicas // max(size, 1)
    if size < 1 or stride < 1 or replicas % (size * stride):
        raise PoplibsError(
            f"{replicas} replicas do not form groups of {size}, {stride} apart ({group.type.name})"
        )
    firsts = [block + place for block in range(0, replicas, size * stride) for place in range(stride)]
    return [[first + rank * stride for rank in range(size)] for first in firsts]
