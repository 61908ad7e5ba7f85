"""Addresses in the memory of a graph, as the chip model numbers elements: variable after variable, without gaps."""

from __future__ import annotations

import numpy as np

from tremula.frontends.poplar.graph import mapping
from tremula.frontends.poplar.graph.edges import Runs as AddressRuns
from tremula.frontends.poplar.graph.layout import Ints
from tremula.frontends.poplar.graph.memory import Memory
from tremula.frontends.poplar.graph.view import View
from tremula.program.placed import Runs, Variables


class ElementNumbers:
    """Turns addresses into numbers of elements."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        counts = np.array([each.elements for each in memory.variables], dtype=np.int64)
        self.counts = counts
        self.first = np.cumsum(counts) - counts
        self._sizes = np.array([each.element_bytes for each in memory.variables], dtype=np.int64)

    def of(self, addresses: Ints) -> Ints:
        """The number of the element at each address."""
        if not len(addresses):
            return addresses
        owner = self._memory.numbers_of(addresses)
        return np.asarray(self.first[owner] + (addresses - self._memory.bases[owner]) // self._sizes[owner])

    def variables_of(self, elements: Ints) -> Ints:
        """The variable of each element."""
        return np.asarray(np.searchsorted(self.first, elements, side="right") - 1)

    def of_runs(self, runs: AddressRuns) -> tuple[Runs, Ints | None]:
        """The same runs over elements, and the old run of each new one, or None where they are the same.

        A run that reaches into another variable is taken apart.
        """
        filled = np.maximum(runs.count - 1, 0)
        begin = self.of(runs.offset)
        far = self.of(np.asarray(runs.offset + filled * runs.step, dtype=np.int64))
        # where a run stays in its variable, elements are evenly spaced as addresses are
        step = np.where(filled > 0, (far - begin) // np.maximum(filled, 1), 1)
        crosses = self.variables_of(begin) != self.variables_of(far)
        if not crosses.any():
            return Runs(begin, runs.count, step), None
        origin = np.repeat(np.arange(len(runs)), runs.count)
        elements = self.of(runs.addresses())
        kept = Runs(elements, np.ones(len(elements), dtype=np.int64), np.ones(len(elements), dtype=np.int64))
        return kept, origin

    def of_view(self, view: View) -> Runs:
        """The elements of a view in order."""
        return self.of_runs(AddressRuns(*view.runs()))[0]


def variables(memory: Memory, numbers: ElementNumbers, always_live: Ints) -> Variables:
    """All variables of a graph with their tiles."""
    begins, ends, tiles = [], [], []
    for variable, first in zip(memory.variables, numbers.first.tolist(), strict=True):
        intervals = mapping.resolve(variable)
        begins.append(intervals.begin + first)
        ends.append(intervals.end + first)
        tiles.append(intervals.tile)
    none = np.zeros(0, dtype=np.int64)
    live = np.zeros(len(memory.variables), dtype=np.bool_)
    live[always_live] = True
    return Variables(
        names=[each.name for each in memory.variables],
        element_bytes=np.array([each.type.size for each in memory.variables], dtype=np.int64),
        elements=numbers.counts,
        first=numbers.first,
        constant=np.array([each.constant for each in memory.variables], dtype=np.bool_),
        always_live=live,
        begin=np.concatenate([none, *begins]),
        end=np.concatenate([none, *ends]),
        tile=np.concatenate([none, *tiles]),
    )
