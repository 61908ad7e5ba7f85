"""Anchored tensors: which of their values come back from a step, and where they go in the host's array."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tremula.errors import Error

FINAL, EVERY_N, ALL, SUM = "final", "every_n", "all", "sum"


@dataclass(frozen=True)
class AnchorRule:
    """Which values of a tensor come back: the last, every `period`-th, all, or their sum."""

    mode: str = ALL
    period: int = 1

    def check(self, batches: int) -> None:
        """Refuse a period that does not divide the batches of a step."""
        if self.mode == EVERY_N and batches % self.period:
            raise Error("Invalid anchor period, is not divisble by batchesPerStep")


@dataclass(frozen=True)
class Turns:
    """The loops of one step, outermost first."""

    batches: int = 1
    accumulation: int = 1
    replicas: int = 1

    @property
    def count(self) -> int:
        return self.batches * self.accumulation * self.replicas


@dataclass(frozen=True)
class Turn:
    """One micro-batch of a step."""

    batch: int
    accumulation: int
    replica: int


def returned_shape(rule: AnchorRule, turns: Turns, shape: Sequence[int]) -> tuple[int, ...]:
    """The shape of the host's array of a tensor: the loops that it has several values of, then its own."""
    rule.check(turns.batches)
    loops: tuple[int, ...] = (turns.replicas,)
    if rule.mode == ALL:
        loops = (turns.batches, turns.accumulation, turns.replicas)
    elif rule.mode == EVERY_N:
        loops = (turns.batches // rule.period, turns.accumulation, turns.replicas)
    return (*(extent for extent in loops if extent != 1), *shape)


def place_of(rule: AnchorRule, turns: Turns, turn: Turn) -> int | None:
    """The number of a value among those that come back; None if it does not."""
    number = turn.batch * turns.accumulation + turn.accumulation
    if rule.mode == ALL:
        return number * turns.replicas + turn.replica
    if rule.mode == EVERY_N:
        # the period counts micro-batches
        if (number + 1) % rule.period:
            return None
        return number // rule.period * turns.replicas + turn.replica
    last = number == turns.batches * turns.accumulation - 1
    return turn.replica if last or rule.mode == SUM else None
