"""Views: ordered references to elements of variables, with a shape.

A view owns nothing. It says where its elements lie in the memory of its graph, which is one range of bytes for all
variables: by an offset and strides where that is possible, else by the address of each element. Both forms index the
memory of an executable directly, so slices and transpositions are never copied.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from tremula.frontends.poplar.errors import TensorCreationError
from tremula.frontends.poplar.graph import layout
from tremula.frontends.poplar.graph.layout import Ints, Shape
from tremula.frontends.poplar.types import Type

if TYPE_CHECKING:
    from tremula.frontends.poplar.graph.graph import Graph

Index = int | slice


class View:
    """Elements of variables in an order. `address_list` holds their addresses where `strides` cannot."""

    __slots__ = ("_size", "address_list", "graph", "offset", "shape", "strides", "type")

    def __init__(
        self,
        graph: Graph,
        type: Type,
        shape: Shape,
        offset: int = 0,
        strides: Shape = (),
        address_list: Ints | None = None,
    ) -> None:
        self.graph = graph
        self.type = type
        self.shape = shape
        self.offset = offset
        self.strides = strides
        self.address_list = address_list
        self._size = graph.element_size(type)

    # -- facts ------------------------------------------------------------------------------------------------

    @property
    def rank(self) -> int:
        """How many dimensions there are."""
        return len(self.shape)

    @property
    def elements(self) -> int:
        """How many elements there are."""
        return prod(self.shape)

    @property
    def element_bytes(self) -> int:
        """Bytes of an element in the memory of the host."""
        return self._size

    @property
    def is_contiguous(self) -> bool:
        """Whether the elements lie side by side in order."""
        starts, _, steps = self.runs()
        return len(starts) <= 1 and (not len(steps) or int(steps[0]) == self._size or self.elements == 1)

    def addresses(self) -> Ints:
        """The address of each element, in this shape."""
        if self.address_list is not None:
            return self.address_list
        return layout.addresses(self.offset, self.shape, self.strides)

    def runs(self) -> tuple[Ints, Ints, Ints]:
        """The elements in order as runs: start addresses, counts, and distances in bytes."""
        if self.address_list is not None:
            return layout.runs_of_addresses(self.address_list.reshape(-1), self._size)
        return layout.runs(self.offset, self.shape, self.strides, self._size)

    def variable_numbers(self) -> Ints:
        """The numbers of the variables that the elements belong to, each once."""
        memory = self.graph.memory
        starts, counts, steps = self.runs()
        filled = counts > 0
        first = memory.numbers_of(starts[filled])
        last = memory.numbers_of((starts + (counts - 1) * steps)[filled])
        if np.array_equal(first, last):
            return np.unique(first)
        return np.unique(memory.numbers_of(self.addresses().reshape(-1)))

    def single_run(self) -> tuple[int, int, int] | None:
        """Offset, count and distance in bytes, if the elements are one run; quick for vectors and scalars."""
        if self.address_list is not None:
            return None
        if len(self.shape) == 1:
            return self.offset, self.shape[0], self.strides[0]
        if not self.shape:
            return self.offset, 1, self._size
        lengths, steps = layout.merged(self.shape, self.strides)
        if len(lengths) > 1 or 0 in self.shape:
            return None
        return (self.offset, lengths[0], steps[0]) if lengths else (self.offset, 1, self._size)

    def has_aliases(self) -> bool:
        """Whether an element is named more than once."""
        if not self.elements:
            return False
        if self.address_list is None:
            lengths, steps = layout.merged(self.shape, self.strides)
            if 0 in steps:
                return True
            span = self._size
            for step, length in sorted(
                (abs(step), length) for step, length in zip(steps, lengths, strict=True)
            ):
                if step < span:
                    break
                span = step * length
            else:
                return False
        found = self.addresses().reshape(-1)
        return len(np.unique(found)) != len(found)

    # -- views of views -----------------------------------------------------------------------------------------

    def _strided(self, shape: Shape, offset: int, strides: Shape) -> Self:
        return self.__class__(self.graph, self.type, shape, offset, strides)

    def _indexed(self, index: Ints) -> Self:
        return self.__class__(self.graph, self.type, index.shape, 0, (), index)

    def _dimension(self, dimension: int) -> int:
        if not 0 <= dimension < len(self.shape):
            raise TensorCreationError(
                f"the tensor has {len(self.shape)} dimensions, so none with number {dimension}"
            )
        return dimension

    def slice_dimension(self, begin: int, end: int, dimension: int = 0) -> Self:
        """The elements from `begin` to `end`, not included, of one dimension."""
        shape = self.shape
        length = shape[self._dimension(dimension)]
        if not 0 <= begin <= end <= length:
            raise TensorCreationError(
                f"the slice [{begin}, {end}) is outside dimension {dimension} of a tensor of shape {list(shape)}"
            )
        new = (*shape[:dimension], end - begin, *shape[dimension + 1 :])
        if self.address_list is not None:
            return self._indexed(self.address_list[(slice(None),) * dimension + (slice(begin, end),)])
        return self._strided(new, self.offset + begin * self.strides[dimension], self.strides)

    def at(self, number: int) -> Self:
        """The part with this number of the first dimension, which goes away."""
        shape = self.shape
        if not shape:
            raise TensorCreationError("a scalar has no parts to choose from")
        place = number if number >= 0 else number + shape[0]
        if not 0 <= place < shape[0]:
            raise TensorCreationError(
                f"number {number} is outside the first dimension of a tensor of shape {list(shape)}"
            )
        if self.address_list is not None:
            return self._indexed(np.asarray(self.address_list[place]))
        strides = self.strides
        return self.__class__(self.graph, self.type, shape[1:], self.offset + place * strides[0], strides[1:])

    def __getitem__(self, key: Index | tuple[Index, ...]) -> Self:
        if key.__class__ is int:
            return self.at(key)
        view, dimension = self, 0
        for part in key if isinstance(key, tuple) else (key,):
            if isinstance(part, slice):
                begin, end, step = part.indices(view.shape[view._dimension(dimension)])
                if step < 0:
                    raise TensorCreationError("slices of a tensor go forwards; use reverse()")
                view = view.slice_dimension(begin, max(begin, end), dimension)
                view = view.sub_sample(step, dimension) if step > 1 else view
                dimension += 1
            else:
                place = layout.position(int(part), view.shape[view._dimension(dimension)])
                if place is None:
                    raise TensorCreationError(
                        f"number {part} is outside dimension {dimension} of {list(view.shape)}"
                    )
                view = view.slice_dimension(place, place + 1, dimension).squeeze([dimension])
        return view

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a scalar tensor has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[Self]:
        return (self.at(number) for number in range(len(self)))

    def reshape(self, shape: Sequence[int]) -> Self:
        """The same elements in another shape."""
        new = layout.as_shape(shape)
        if prod(new) != prod(self.shape):
            raise TensorCreationError(
                f"a tensor of shape {list(self.shape)} has {self.elements} elements; "
                f"shape {list(new)} needs {prod(new)}"
            )
        if self.address_list is not None:
            return self._indexed(self.address_list.reshape(new))
        if not prod(new):
            return self._strided(new, self.offset, layout.contiguous_strides(new, self._size))
        strides = layout.reshaped(self.shape, self.strides, new)
        if strides is None:
            return self._indexed(self.addresses().reshape(new))
        return self._strided(new, self.offset, strides)

    def flatten(self, begin: int = 0, end: int | None = None) -> Self:
        """Join the dimensions from `begin` to `end`, not included; without arguments all of them."""
        shape = self.shape
        if begin == 0 and end is None:
            return self if len(shape) == 1 else self.reshape((prod(shape),))
        last = len(shape) if end is None else end
        return self.reshape((*shape[:begin], prod(shape[begin:last]), *shape[last:]))

    def squeeze(self, dimensions: Sequence[int]) -> Self:
        """Remove dimensions of length 1."""
        for dimension in dimensions:
            if self.shape[self._dimension(dimension)] != 1:
                raise TensorCreationError(f"dimension {dimension} of {list(self.shape)} is not of length 1")
        kept = [number for number in range(len(self.shape)) if number not in dimensions]
        return self._keep(kept)

    def _keep(self, kept: Sequence[int]) -> Self:
        shape = tuple(self.shape[number] for number in kept)
        if self.address_list is not None:
            return self._indexed(self.address_list.reshape(shape))
        return self._strided(shape, self.offset, tuple(self.strides[number] for number in kept))

    def expand(self, positions: Sequence[int]) -> Self:
        """Insert a dimension of length 1 before each of these dimensions."""
        if any(not 0 <= place <= len(self.shape) for place in positions):
            raise TensorCreationError(
                f"{list(positions)} are not all dimensions of a tensor of rank {self.rank}"
            )
        shape: list[int] = []
        strides: list[int] = []
        for number in range(len(self.shape) + 1):
            extra = sum(place == number for place in positions)
            shape += [1] * extra
            strides += [0] * extra
            if number < len(self.shape):
                shape.append(self.shape[number])
                strides.append(self.strides[number] if self.address_list is None else 0)
        if self.address_list is not None:
            return self._indexed(self.address_list.reshape(tuple(shape)))
        return self._strided(tuple(shape), self.offset, tuple(strides))

    def dim_shuffle(self, permutation: Sequence[int]) -> Self:
        """Put the dimensions in another order: new dimension `i` is old dimension `permutation[i]`."""
        if sorted(permutation) != list(range(len(self.shape))):
            raise TensorCreationError(
                f"{list(permutation)} does not name each dimension of {list(self.shape)} once"
            )
        if self.address_list is not None:
            return self._indexed(self.address_list.transpose(tuple(permutation)))
        return self._strided(
            tuple(self.shape[number] for number in permutation),
            self.offset,
            tuple(self.strides[number] for number in permutation),
        )

    def transpose(self) -> Self:
        """The dimensions in reverse order."""
        return self.dim_shuffle(range(len(self.shape))[::-1])

    def broadcast(self, count: int, dimension: int) -> Self:
        """Repeat the tensor `count` times along a dimension."""
        self._dimension(dimension)
        shape = self.shape
        new = (*shape[:dimension], shape[dimension] * count, *shape[dimension + 1 :])
        if self.address_list is None and shape[dimension] == 1:
            strides = (*self.strides[:dimension], 0, *self.strides[dimension + 1 :])
            return self._strided(new, self.offset, strides)
        if count == 1:
            return self
        repeats = (1,) * dimension + (count,) + (1,) * (len(shape) - dimension - 1)
        return self._indexed(np.tile(self.addresses(), repeats))

    def upsample(self, scale: int, dimension: int) -> Self:
        """Repeat each element of a dimension `scale` times."""
        length = self.shape[self._dimension(dimension)]
        if self.address_list is None and length == 1:
            return self.broadcast(scale, dimension)
        return self._indexed(np.repeat(self.addresses(), scale, axis=dimension))

    def sub_sample(self, step: int, dimension: int) -> Self:
        """Every `step`-th element of a dimension."""
        length = self.shape[self._dimension(dimension)]
        if step < 1:
            raise TensorCreationError(f"a step of {step} is not possible; it must be at least 1")
        if self.address_list is not None:
            return self._indexed(self.address_list[(slice(None),) * dimension + (slice(None, None, step),)])
        new = (*self.shape[:dimension], -(-length // step), *self.shape[dimension + 1 :])
        strides = list(self.strides)
        strides[dimension] *= step
        return self._strided(new, self.offset, tuple(strides))

    def reverse(self, dimension: int) -> Self:
        """The elements of a dimension in reverse order."""
        length = self.shape[self._dimension(dimension)]
        if self.address_list is not None:
            return self._indexed(np.flip(self.address_list, dimension))
        strides = list(self.strides)
        offset = self.offset + max(length - 1, 0) * strides[dimension]
        strides[dimension] = -strides[dimension]
        return self._strided(self.shape, offset, tuple(strides))

    def reinterpret(self, type: Type) -> Self:
        """The same bits as elements of another type of equal size."""
        if type.size != self.type.size or self.graph.element_size(type) != self._size:
            raise TensorCreationError(
                f"elements of type {self.type} cannot be read as {type}: their sizes on the host differ"
            )
        return self.__class__(self.graph, type, self.shape, self.offset, self.strides, self.address_list)

    # -- memory -------------------------------------------------------------------------------------------------

    def array(self, memory: NDArray[np.uint8]) -> NDArray[np.generic] | None:
        """The elements in a replica's memory without a copy, or None where the addresses are a list."""
        if self.address_list is not None:
            return None
        dtype = self.graph.storage(self.type)
        return np.ndarray(self.shape, dtype, memory, self.offset, self.strides)

    def same_elements(self, other: View) -> bool:
        """Whether both name the same elements in the same order and shape."""
        if self.shape != other.shape or self.type is not other.type or self.graph is not other.graph:
            return False
        if self.address_list is None and other.address_list is None:
            if (self.offset, self.strides) == (other.offset, other.strides):
                return True
            if self.elements and self.offset != other.offset:
                return False
        return bool(np.array_equal(self.addresses(), other.addresses()))
