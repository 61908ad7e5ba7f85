"""Groups of replicas."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import popart
import popart._internal.ir as _ir

if TYPE_CHECKING:
    from .ir import Ir

_NOT_CONSTANT = "A grouping whose strides differ has no stride, and cannot be used for collectives."


class ReplicaGrouping:
    """The group of each replica. `Ir.replica_grouping` creates groupings."""

    _ir: Ir
    _stride: int | None
    _group_size: int
    _num_groups: int
    _num_replicas: int
    _assignment: list[int]
    const_rg: ReplicaGrouping

    def __init__(self) -> None:
        raise RuntimeError("popxl.ReplicaGrouping cannot be called: use ir.replica_grouping.")

    @classmethod
    def _new(cls, ir: Ir, stride: int | None, assignment: list[int]) -> ReplicaGrouping:
        self = super().__new__(cls)
        self._ir, self._stride, self._assignment = ir, stride, assignment
        self._num_replicas = len(assignment)
        self._num_groups = len(set(assignment))
        self._group_size = self._num_replicas // self._num_groups
        self.const_rg = self
        return self

    @classmethod
    def _from_params(cls, ir: Ir, stride: int = 1, group_size: int | None = None) -> ReplicaGrouping:
        replicas = ir.replication_factor
        if not 0 < stride <= replicas or replicas % stride:
            raise ValueError(f"The stride must divide the number of replicas, {replicas}; it is {stride}.")
        size = replicas // stride if group_size is None else group_size
        if not 0 < size <= replicas or replicas % size:
            raise ValueError(f"The group size must divide the number of replicas, {replicas}; it is {size}.")
        stride = stride if size > 1 else 1
        if size * stride > replicas:
            raise ValueError(
                f"{size} replicas with a stride of {stride} are more than the {replicas} that there are."
            )
        assignment = [-1] * replicas
        for group in range(replicas // size):
            first = assignment.index(-1)
            for number in range(size):
                assignment[first + number * stride] = group
        return cls._new(ir, stride, assignment)

    @classmethod
    def _from_assignment(cls, ir: Ir, assignment: list[int]) -> ReplicaGrouping:
        replicas = ir.replication_factor
        groups = list(dict.fromkeys(assignment))
        if len(assignment) != replicas:
            raise ValueError(f"The assignment is for {len(assignment)} replicas, but there are {replicas}.")
        if groups != list(range(len(groups))):
            raise ValueError(
                f"Groups must be numbered from 0 in the order in which they appear, not as {groups}."
            )
        members = {group: [r for r, each in enumerate(assignment) if each == group] for group in groups}
        if len({len(each) for each in members.values()}) != 1:
            raise ValueError(f"All groups must have the same size: {members}.")
        strides = {b - a for each in members.values() for a, b in itertools.pairwise(each)}
        if len(strides) <= 1:
            stride = strides.pop() if strides else 1
            if cls._from_params(ir, stride, len(members[0]))._assignment == list(assignment):
                return cls._from_params(ir, stride, len(members[0]))
        self = cls._new(ir, None, list(assignment))
        self.const_rg = cls._constant(ir, members)
        return self

    @classmethod
    def _constant(cls, ir: Ir, members: dict[int, list[int]]) -> ReplicaGrouping:
        """The largest groups with one stride that these groups can be made of."""
        runs: list[list[int]] = []
        stride = min(b - a for each in members.values() for a, b in itertools.pairwise(each))
        for each in members.values():
            run = [each[0]]
            for before, after in itertools.pairwise(each):
                if after - before == stride:
                    run.append(after)
                else:
                    runs.append(run)
                    run = [after]
            runs.append(run)
        size = math.gcd(*(len(run) for run in runs))
        return cls._from_params(ir, stride if size > 1 else 1, size)

    @property
    def _pb_replica_grouping(self) -> Any:
        if self._stride is None:
            raise NotImplementedError(_NOT_CONSTANT)
        return _ir.ReplicaGrouping(
            self._num_replicas, self._stride, self._group_size, tuple(self._assignment)
        )

    @property
    def to_device_map(self) -> list[int] | None:
        """By group of `const_rg`, the host's group; None if they are the same."""
        if self.is_const:
            return None
        return [
            self._assignment[self.const_rg.assignment.index(group)]
            for group in range(self.const_rg.num_groups)
        ]

    @property
    def to_host_map(self) -> list[int] | None:
        """By the host's group, the first of its groups in `const_rg`; None if they are the same."""
        if self.is_const:
            return None
        return [self.const_rg.assignment[self._assignment.index(group)] for group in range(self._num_groups)]

    @property
    def stride(self) -> int:
        """The distance of neighbours in a group."""
        if self._stride is None:
            raise NotImplementedError(_NOT_CONSTANT)
        return self._stride

    @property
    def group_size(self) -> int:
        """Replicas in a group."""
        return self._group_size

    @property
    def num_groups(self) -> int:
        """Number of groups."""
        return self._num_groups

    @property
    def assignment(self) -> list[int]:
        """The group of each replica."""
        return self._assignment

    @property
    def is_const(self) -> bool:
        """Whether all groups have one stride."""
        return self._stride is not None

    def transpose(self) -> ReplicaGrouping:
        """Groups of the replicas that have the same place in their groups."""
        places: dict[int, int] = {}
        transposed = []
        for group in self._assignment:
            place = places.get(group, 0)
            places[group] = place + 1
            transposed.append(place)
        numbers = {place: number for number, place in enumerate(dict.fromkeys(transposed))}
        return self._ir.replica_grouping_from_assignments([numbers[place] for place in transposed])

    def _to_variable_settings(self, retrieval_mode: str | None = None) -> Any:
        modes = popart.VariableRetrievalMode
        mode = modes.AllReplicas if retrieval_mode == "all_replicas" else modes.OnePerGroup
        return popart.VariableSettings(self.stride, self.group_size, mode)

    def __repr__(self) -> str:
        if self._stride is None:
            return f"ReplicaGrouping(assignment={self._assignment})"
        return (
            f"ReplicaGrouping(num_replicas={self._num_replicas}, stride={self._stride}, "
            f"group_size={self._group_size}, num_groups={self._num_groups})"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ReplicaGrouping):
            raise TypeError(f"A replica grouping cannot be compared to {other!r} ({type(other).__name__}).")
        return self._ir == other._ir and self._assignment == other._assignment

    def __hash__(self) -> int:
        return hash((self._ir.id, tuple(self._assignment)))
