"""What a piece of work costs on one chip, and why.

A cost is a list of supersteps (compute, exchange, sync: all tiles wait for the slowest) and the bytes that
the work needs on the fullest tile besides its inputs and outputs. Every cost carries a `Why`: the plan that
was chosen, what was rejected, the formula and where it comes from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Alternative:
    """A plan that was considered and not taken."""

    plan: str
    cycles: float
    reason: str


@dataclass(frozen=True)
class Why:
    """The reason for a cost, in words that a report can print."""

    #: the plan that was taken, e.g. "AMP 1x1, 8 rows x 4 columns x 46 tiles, 2 serial"
    plan: str
    #: the formula, in the words of the module that computes it
    formula: str
    #: where the formula and its numbers come from
    source: str
    #: the numbers that went into the formula
    figures: Mapping[str, float] = field(default_factory=dict)
    alternatives: tuple[Alternative, ...] = ()
    parts: tuple[Why, ...] = ()


@dataclass(frozen=True)
class Superstep:
    """One compute set with the exchange before it, `repeats` times over."""

    name: str
    #: cycles of the slowest tile
    compute_cycles: float = 0.0
    exchange_cycles: float = 0.0
    sync_cycles: float = 0.0
    #: tiles that compute
    tiles: int = 1
    #: compute of the mean tile (of those in use) over that of the slowest
    balance: float = 1.0
    repeats: int = 1
    flops: float = 0.0

    @property
    def cycles(self) -> float:
        """All cycles of this superstep, repeats included."""
        return self.repeats * (self.compute_cycles + self.exchange_cycles + self.sync_cycles)


@dataclass(frozen=True)
class Bytes:
    """Bytes on the fullest tile, besides inputs and outputs."""

    #: alive only while the work runs: rearranged operands, partial sums
    temporary: int = 0
    vertex_code: int = 0
    vertex_state: int = 0
    exchange_code: int = 0
    control_code: int = 0

    def __add__(self, other: Bytes) -> Bytes:
        """Both one after the other: temporaries share their place, code does not."""
        return Bytes(
            temporary=max(self.temporary, other.temporary),
            vertex_code=self.vertex_code + other.vertex_code,
            vertex_state=self.vertex_state + other.vertex_state,
            exchange_code=self.exchange_code + other.exchange_code,
            control_code=self.control_code + other.control_code,
        )


@dataclass(frozen=True)
class Cost:
    """The supersteps of a piece of work, its bytes and the reason for both."""

    supersteps: tuple[Superstep, ...]
    bytes: Bytes
    why: Why
    #: whether the fallback for unknown work was used
    fallback: bool = False

    @property
    def cycles(self) -> float:
        """All cycles."""
        return sum(step.cycles for step in self.supersteps)

    @property
    def compute_cycles(self) -> float:
        """Cycles in which the slowest tile computes."""
        return sum(step.repeats * step.compute_cycles for step in self.supersteps)

    @property
    def exchange_cycles(self) -> float:
        """Cycles in which data moves between tiles."""
        return sum(step.repeats * step.exchange_cycles for step in self.supersteps)

    @property
    def sync_cycles(self) -> float:
        """Cycles in which tiles wait for each other."""
        return sum(step.repeats * step.sync_cycles for step in self.supersteps)

    @property
    def flops(self) -> float:
        """Floating-point operations."""
        return sum(step.repeats * step.flops for step in self.supersteps)

    def repeated(self, times: int) -> Cost:
        """The same work `times` over, by the same code."""
        return replace(self, supersteps=tuple(replace(s, repeats=s.repeats * times) for s in self.supersteps))


def in_sequence(costs: Iterable[Cost], why: Why | None = None) -> Cost:
    """One cost for several, one after the other; by default their reasons are the parts of the new one."""
    listed = list(costs)
    total = Bytes()
    for cost in listed:
        total += cost.bytes
    parts = tuple(cost.why for cost in listed)
    if why is None:
        why = Why(plan=", then ".join(part.plan for part in parts), formula="sum of the parts", source="")
    return Cost(
        supersteps=tuple(step for cost in listed for step in cost.supersteps),
        bytes=total,
        why=replace(why, parts=(*why.parts, *parts)),
        fallback=any(cost.fallback for cost in listed),
    )
