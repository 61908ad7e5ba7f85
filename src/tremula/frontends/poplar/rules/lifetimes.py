"""Which variables keep their values: those that a program reads before it has written them.

A part of a variable that is written counts as the whole, so a variable that is filled piece by piece is not taken for
one that is kept. What the host reads, writes or set at the start is always kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from tremula.frontends.poplar.graph.layout import Ints
from tremula.program import placed, placed_steps
from tremula.program.placed import Runs


class Accesses:
    """The variables that each leaf of a program reads and writes."""

    def __init__(
        self,
        variables_of: Callable[[Ints], Ints],
        compute_sets: Sequence[placed.ComputeSet],
        copies: Sequence[placed.Copy],
        transfers: Sequence[placed.Transfer],
        libraries: Sequence[tuple[Runs, Runs]],
    ) -> None:
        self._variables_of = variables_of
        self._sets, self._copies, self._transfers, self._libraries = (
            compute_sets,
            copies,
            transfers,
            libraries,
        )
        self._known: dict[tuple[type, int], tuple[Ints, Ints]] = {}

    def of(self, step: placed_steps.Step) -> tuple[Ints, Ints] | None:
        """The variables that a leaf reads, and those that it writes; None for what is not a leaf."""
        match step:
            case placed_steps.Execute(_, place) | placed_steps.RunCopy(_, place):
                pass
            case placed_steps.RunTransfer(_, place) | placed_steps.RunLibrary(_, place):
                pass
            case _:
                return None
        key = (type(step), place)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._find(step, place)
        return found

    def _find(self, step: placed_steps.Step, place: int) -> tuple[Ints, Ints]:
        match step:
            case placed_steps.Execute():
                fields = [field for batch in self._sets[place].batches for field in batch.fields]
                reads = [field.runs for field in fields if field.reads]
                writes = [field.runs for field in fields if field.writes]
            case placed_steps.RunCopy():
                reads, writes = [self._copies[place].source], [self._copies[place].target]
            case placed_steps.RunLibrary():
                reads, writes = [self._libraries[place][0]], [self._libraries[place][1]]
            case _:
                transfer = self._transfers[place]
                reads, writes = ([], [transfer.elements]) if transfer.to_device else ([transfer.elements], [])
        return self._touched(reads), self._touched(writes)

    def _touched(self, runs: Sequence[Runs]) -> Ints:
        starts = [each.start[each.count > 0] for each in runs]
        return np.unique(self._variables_of(np.concatenate([np.zeros(0, dtype=np.int64), *starts])))


def kept(
    programs: Sequence[placed_steps.Step], functions: Mapping[str, placed_steps.Step], accesses: Accesses
) -> set[int]:
    """The variables that some program reads before it writes them."""
    found: set[int] = set()
    for program in programs:
        written: set[int] = set()
        for step in placed_steps.in_order(program, functions):
            both = accesses.of(step)
            if both is not None:
                found.update(set(both[0].tolist()) - written)
                written.update(both[1].tolist())
    return found
