"""A planner that shares its plans: between chips that differ in their clock only, and between sets of constants.

Costs are in cycles, so equal chips at another clock have equal plans. And a plan that read no fitted constant is
good for all of them: reads are watched while a plan is made. Fitting tries hundreds of sets, and the searches for
plans take most of the time.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from tremula.hardware.chip import Chip
from tremula.plan.constants import Constants
from tremula.plan.cost import Cost
from tremula.plan.planner import Planner
from tremula.program.work import Stencil, Work


@dataclass(frozen=True)
class _Made:
    """A plan, and the constants that were read for it."""

    cost: Cost
    read: frozenset[tuple[str, float]]


class _Watched:
    """Constants that note which of them are read."""

    def __init__(self, constants: Constants, reads: list[set[tuple[str, float]]]) -> None:
        self._constants = constants
        self._reads = reads

    def __getattr__(self, name: str) -> float:
        value: float = getattr(self._constants, name)
        for read in self._reads:
            read.add((name, value))
        return value


#: plans by what decides about cycles
_made: dict[tuple[Chip, Work], list[_Made]] = {}


def forget() -> None:
    """Let all plans be made anew."""
    _made.clear()


class SharingPlanner(Planner):
    """A planner whose plans outlive it."""

    def __init__(self, chip: Chip, constants: Constants) -> None:
        super().__init__(chip, constants)
        self._values = constants
        self._reads: list[set[tuple[str, float]]] = []
        self.constants = _Watched(constants, self._reads)  # type: ignore[assignment]
        self._alike = dataclasses.replace(chip, name="", title="", date="", clock_hz=1.0, **_unplanned(chip))

    def plan(self, work: Work) -> Cost:
        """The remembered plan, if it depends on nothing that is different now; else a new one."""
        # halos between chips cross in seconds, not cycles
        key = (self.chip if isinstance(work, Stencil) else self._alike, work)
        for made in _made.get(key, ()):
            if all(getattr(self._values, name) == value for name, value in made.read):
                for read in self._reads:
                    read.update(made.read)
                return made.cost
        self._reads.append(set())
        try:
            cost = super().plan(work)
        finally:
            read = self._reads.pop()
        _made.setdefault(key, []).append(_Made(cost, frozenset(read)))
        return cost


def _unplanned(chip: Chip) -> dict[str, Any]:
    """Fields that say nothing about plans."""
    blank: dict[str, Any] = {"busy_power_watts": None, "idle_power_watts": None}
    if hasattr(chip, "based_on"):
        blank["based_on"] = ""
    return blank
