"""Whether everything has a tile: elements of variables, and vertices."""

from __future__ import annotations

import numpy as np

from tremula.frontends.poplar.errors import InvalidTileMapping
from tremula.frontends.poplar.graph import mapping
from tremula.frontends.poplar.graph.edges import vertex_name
from tremula.frontends.poplar.graph.layout import Ints
from tremula.frontends.poplar.graph.memory import Memory, Variable
from tremula.frontends.poplar.graph.vertices import ComputeSet, values


class TilesOfAddresses:
    """The tile of each address: mappings of all variables, sorted. Made when it is asked for."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._sorted: tuple[Ints, Ints] | None = None

    def of(self, addresses: Ints) -> Ints:
        """The tile of the element at each address."""
        if self._sorted is None:
            self._sorted = self._all()
        begin, tile = self._sorted
        return np.asarray(tile[np.searchsorted(begin, addresses, side="right") - 1])

    def _all(self) -> tuple[Ints, Ints]:
        begins, tiles = [], []
        for variable in self._memory.variables:
            found = mapping.resolve(variable)
            begins.append(variable.address + found.begin * variable.element_bytes)
            tiles.append(found.tile)
        return np.concatenate(begins), np.concatenate(tiles)


def check_variables(memory: Memory) -> None:
    """Raise unless every element of every variable lies on a tile."""
    for variable in memory.variables:
        if not _is_whole(variable):
            found = mapping.resolve(variable)
            if found.mapped_elements != variable.elements:
                raise InvalidTileMapping(_unmapped(variable, found))


def _is_whole(variable: Variable) -> bool:
    """Whether one assignment maps all elements: what most variables have."""
    if not variable.elements:
        return True
    return any(
        begin == 0 and step == 1 and count == variable.elements for begin, count, step, _ in variable.mapped
    )


def _unmapped(variable: Variable, found: mapping.Intervals) -> str:
    ends = np.concatenate(([0], found.end))
    begins = np.concatenate((found.begin, [variable.elements]))
    gap = int(np.flatnonzero(begins > ends)[0])
    first, last = int(ends[gap]), int(begins[gap]) - 1
    missing = variable.elements - found.mapped_elements
    kind = "constant" if variable.constant else "variable"
    which = f"element {first}" if first == last else f"elements {first} to {last}"
    more = f", and {missing - (last - first + 1)} more" if missing > last - first + 1 else ""
    made = f" (made at {variable.source})" if variable.source else ""
    return (
        f"{which}{more} of the {variable.elements} of {kind} {variable.name or variable.number!r}{made} "
        f"{'is' if missing == 1 else 'are'} on no tile: call setTileMapping for the whole tensor"
    )


def check_vertices(made: ComputeSet) -> None:
    """Raise unless every vertex of a compute set is on a tile."""
    for batch in made.batches.values():
        missing = np.flatnonzero(values(batch.tiles) == mapping.UNMAPPED)
        if len(missing):
            more = f", and {len(missing) - 1} more" if len(missing) > 1 else ""
            raise InvalidTileMapping(
                f"{vertex_name(batch, int(missing[0]))}{more} in compute set {made.name or made.number!r}: "
                "call setTileMapping for each vertex"
            )
