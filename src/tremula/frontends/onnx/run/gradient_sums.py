"""The gradients of a batch: summed over its micro-batches, over replicas, and over the instances of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from tremula.distributed.replica_share import ReplicaShare
from tremula.frontends.onnx.run.anchors import Turn, Turns
from tremula.frontends.onnx.run.groups import WeightGroups, key_of, weight_of

if TYPE_CHECKING:
    from tremula.distributed.replica_exchange import ReplicaExchange


@dataclass(frozen=True)
class Reduction:
    """What becomes of the gradients of all micro-batches and replicas: their sum, or their mean, which may be kept as
    a running mean.
    """

    mean: bool = False
    running: bool = False


class GradientSums:
    """Sums by the optimizer's names of weights: one for each group of replicas.

    Attributes:
        sums: of the turns so far, in this instance.
    """

    def __init__(
        self,
        turns: Turns,
        share: ReplicaShare,
        reduction: Reduction,
        groups: Mapping[str, WeightGroups],
        accumulator: Callable[[Tensor], torch.dtype],
        watched: frozenset[str] = frozenset(),
    ) -> None:
        """`accumulator` gives the type in which the gradients of a weight are summed up; the accumulators of the
        weights `watched` can be read by replica.
        """
        self.sums: dict[str, Tensor] = {}
        self._turns = turns
        self._share = share
        self._reduction = reduction
        self._groups = groups
        self._accumulator = accumulator
        self._watched = watched
        self._own: dict[tuple[str, int], Tensor] = {}

    def accumulated(self, name: str, turn: Turn) -> Tensor:
        """The accumulator of a watched weight on the replica of a turn, after it."""
        return self._own[name, turn.replica]

    def add(self, gradients: Mapping[str, Tensor], turn: Turn, weights: Mapping[str, Tensor]) -> None:
        """Add the gradients of a turn to those of the turns before."""
        sums = self.sums
        for name, gradient in gradients.items():
            key = key_of(name, self._groups.get(name), self._share.first + turn.replica)
            if self._turns.accumulation * self._share.total == 1:
                sums[key] = gradient
                continue
            gradient = gradient.to(self._accumulator(weights[name]))
            sums[key] = self._with(sums.get(key), gradient, self._number(name, turn))
            if name in self._watched:
                place = (name, turn.replica)
                before = self._own.get(place) if turn.accumulation else None
                self._own[place] = self._with(before, gradient, turn.accumulation)

    def _with(self, total: Tensor | None, gradient: Tensor, number: int) -> Tensor:
        """A sum, or a running mean, of `number` gradients with one more; changed in place."""
        if total is None:
            return gradient.clone()
        if self._reduction.mean and self._reduction.running:
            return total.mul_(number / (number + 1)).add_(gradient, alpha=1 / (number + 1))
        return total.add_(gradient)

    def finish(self, weights: Mapping[str, Tensor], exchange: ReplicaExchange | None) -> dict[str, Tensor]:
        """The gradients of the whole batch, the same on all instances; begin anew.

        Args:
            weights: all that are trained, by the optimizer's names.
            exchange: talks to the other instances, if there are any.
        """
        found, self.sums = self.sums, {}
        running = self._reduction.mean and self._reduction.running
        if exchange is not None:
            found = self._over_instances(found, weights, exchange, running)
        if self._reduction.mean and not running:
            for key, gradient in found.items():
                count = self._turns.accumulation * len(self._members(weight_of(key), key))
                if count > 1:
                    found[key] = gradient / count
        return found

    def _over_instances(
        self,
        own: Mapping[str, Tensor],
        weights: Mapping[str, Tensor],
        exchange: ReplicaExchange,
        running: bool,
    ) -> dict[str, Tensor]:
        """The sums of all instances; one without replicas of a group adds zeros."""
        given = []
        for key, weight in weights.items():
            value = own.get(key)
            if value is None:
                value = torch.zeros(weight.shape, dtype=self._accumulator(weight))
            elif running:
                members = self._members(weight_of(key), key)
                # the mean of means; before the sum, for a running mean is there to stay in the range of half precision
                value = value * (sum(map(self._share.has, members)) / len(members))
            given.append(value)
        return dict(zip(weights, exchange.summed(given), strict=True))

    def _members(self, name: str, key: str) -> list[int]:
        """The replicas, of the run, whose gradients are in a sum."""
        groups = self._groups.get(name)
        if groups is None or not groups.split:
            return list(range(self._share.total))
        return next(list(each) for each in groups.replicas if key_of(name, groups, each[0]) == key)

    def _number(self, name: str, turn: Turn) -> int:
        """How many gradients of a weight the turns before this one have given in this instance."""
        replica = self._share.first + turn.replica
        key = key_of(name, self._groups.get(name), replica)
        members = [each for each in self._members(name, key) if self._share.has(each)]
        return turn.accumulation * len(members) + members.index(replica)
