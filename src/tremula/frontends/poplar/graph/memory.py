"""The variables of a graph: one range of bytes, in which each variable has its place.

Addresses are those of one replica; every replica has a memory of its own. Half is kept in four bytes where the target
computes it in single precision, so a variable's size on the host may be larger than on the device.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod

import numpy as np
from numpy.typing import NDArray

from tremula.frontends.poplar.graph.layout import Ints, Shape
from tremula.frontends.poplar.types import Type

#: variables begin at multiples of this, so that vector types can be loaded
ALIGNMENT = 16


@dataclass(eq=False)
class Variable:
    """One variable or constant of a graph."""

    number: int
    name: str
    type: Type
    shape: Shape
    address: int
    element_bytes: int
    constant: bool = False
    #: the user's file and line that made it
    source: str = ""
    #: pieces of a tile mapping in the order in which they were given: begin, count, step (elements), tile
    mapped: list[tuple[int, int, int, int]] = field(default_factory=list)
    #: mappings of many pieces at once: columns of the same four numbers
    mapped_columns: list[tuple[int, Ints]] = field(default_factory=list)
    #: initial values: addresses (None: all elements in order) and values
    initial: list[tuple[Ints | None, NDArray[np.generic]]] = field(default_factory=list)

    @property
    def elements(self) -> int:
        """How many elements it has."""
        return prod(self.shape)

    @property
    def bytes(self) -> int:
        """Its size on the host."""
        return self.elements * self.element_bytes


class Memory:
    """All variables of a graph and of the graphs made from it."""

    def __init__(self, accurate_half: bool) -> None:
        self.accurate_half = accurate_half
        self.variables: list[Variable] = []
        self.size = 0
        self._sizes: dict[str, int] = {}
        self._addresses: list[int] = []
        self._bases: Ints | None = None
        self._element_sizes: Ints | None = None
        self._constants: NDArray[np.bool_] | None = None

    def __iter__(self) -> Iterator[Variable]:
        return iter(self.variables)

    def storage(self, type: Type) -> np.dtype[np.generic]:
        """How elements of `type` are kept."""
        return type.storage(self.accurate_half)

    def element_size(self, type: Type) -> int:
        """Bytes of an element of `type`."""
        size = self._sizes.get(type.name)
        if size is None:
            size = self._sizes[type.name] = self.storage(type).itemsize
        return size

    def add(
        self, type: Type, shape: Shape, name: str, *, constant: bool = False, source: str = ""
    ) -> Variable:
        """Give a new variable its place."""
        size = self.element_size(type)
        variable = Variable(len(self.variables), name, type, shape, self.size, size, constant, source)
        self.variables.append(variable)
        self._addresses.append(self.size)
        # a variable without elements has an address of its own as well
        self.size += -(-max(variable.bytes, 1) // ALIGNMENT) * ALIGNMENT
        self._bases = self._element_sizes = self._constants = None
        return variable

    @property
    def bases(self) -> Ints:
        """The address of each variable."""
        if self._bases is None:
            self._bases = np.array(self._addresses, dtype=np.int64)
        return self._bases

    @property
    def element_sizes(self) -> Ints:
        """Bytes of an element of each variable, on the host."""
        if self._element_sizes is None:
            self._element_sizes = np.array([each.element_bytes for each in self.variables], dtype=np.int64)
        return self._element_sizes

    @property
    def constants(self) -> NDArray[np.bool_]:
        """Which variables are constants."""
        if self._constants is None:
            self._constants = np.array([each.constant for each in self.variables], dtype=np.bool_)
        return self._constants

    def numbers_of(self, addresses: Ints) -> Ints:
        """The variable that each address belongs to."""
        return np.asarray(np.searchsorted(self.bases, addresses, side="right") - 1, dtype=np.int64)

    def at(self, address: int) -> Variable:
        """The variable that an address belongs to."""
        return self.variables[bisect_right(self._addresses, address) - 1]
