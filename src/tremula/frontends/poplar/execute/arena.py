"""The memory of one replica: the bytes of all variables, and behind them scratch space for the edges of vertices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from tremula.frontends.poplar.graph.layout import Ints
from tremula.frontends.poplar.graph.memory import Memory, Variable

#: what an arena begins at a multiple of, in the memory of the host
_ALIGNMENT = 64
_WORDS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


class Arena:
    """The bytes of one replica. Addresses of the graph are positions in `bytes`."""

    def __init__(self, size: int, scratch: int = 0) -> None:
        length = rounded(size) + rounded(scratch)
        raw = np.zeros(length + _ALIGNMENT, dtype=np.uint8)
        skip = -raw.ctypes.data % _ALIGNMENT
        self.bytes: NDArray[np.uint8] = raw[skip : skip + length]
        self._words = {item: self.bytes.view(word) for item, word in _WORDS.items()}

    def words(self, size: int) -> NDArray[np.generic]:
        """All bytes as unsigned integers of `size` bytes, to move elements of any type of that size."""
        return self._words[size]

    def typed(self, dtype: np.dtype[np.generic]) -> NDArray[np.generic]:
        """All bytes as elements of a type."""
        return self.bytes.view(dtype)


def rounded(size: int) -> int:
    """`size` rounded up to a whole number of aligned blocks."""
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def scratch_begin(memory: Memory) -> int:
    """The address of the scratch space of an arena that holds the variables of `memory`."""
    return rounded(memory.size)


class InitialValues:
    """The values that variables have when a program is loaded, put together so that a load is a few calls."""

    def __init__(self, variables: Iterable[Variable]) -> None:
        pieces: dict[str, tuple[list[Ints], list[NDArray[np.generic]]]] = {}
        for variable in variables:
            for addresses, values in variable.initial:
                where, what = pieces.setdefault(values.dtype.str, ([], []))
                where.append(_all_of(variable) if addresses is None else addresses)
                what.append(values)
        self._pieces: Sequence[tuple[Ints, NDArray[np.generic]]] = [
            (np.concatenate(where) // what[0].itemsize, np.concatenate(what))
            for where, what in pieces.values()
        ]

    def write(self, arena: Arena) -> None:
        """Put the values into a memory; of several for one element the last counts."""
        for places, values in self._pieces:
            arena.typed(values.dtype)[places] = values


def _all_of(variable: Variable) -> Ints:
    return variable.address + np.arange(variable.elements, dtype=np.int64) * variable.element_bytes
