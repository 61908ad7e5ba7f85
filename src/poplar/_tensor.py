"""`Tensor`: a view of elements of a graph's variables, with the names of the C++ class."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

import numpy as np

from tremula.frontends.poplar.errors import TensorCreationError
from tremula.frontends.poplar.graph import rearrange
from tremula.frontends.poplar.graph.concat import concat as _concat
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.types import Type

from ._snake import with_snake_case


class Interval:
    """The integers from `begin` up to, but not including, `end`."""

    __slots__ = ("_begin", "_end")

    def __init__(self, begin: int = 0, end: int = 0) -> None:
        self._begin, self._end = int(begin), int(end)

    def begin(self) -> int:
        """The first number."""
        return self._begin

    def end(self) -> int:
        """The number after the last."""
        return self._end

    def size(self) -> int:
        """The number of integers in the interval."""
        return self._end - self._begin

    lower, upper = begin, end

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Interval) and (self._begin, self._end) == (other._begin, other._end)

    def __hash__(self) -> int:
        return hash((self._begin, self._end))

    def __repr__(self) -> str:
        return f"Interval({self._begin}, {self._end})"


class VariableInterval:
    """An interval of the elements of one variable."""

    def __init__(self, var: int, interval: Interval) -> None:
        self.var, self.interval = var, interval

    def __repr__(self) -> str:
        return f"VariableInterval({self.var}, {self.interval})"


class Shape(tuple[int, ...]):
    """A shape that may be read as `t.shape` or, as in C++, as `t.shape()`."""

    __slots__ = ()

    def __call__(self) -> tuple[int, ...]:
        return self


class _Rank(int):
    """A rank that may be read as `t.rank` or, as in C++, as `t.rank()`."""

    __slots__ = ()

    def __call__(self) -> int:
        return int(self)


@with_snake_case
class Tensor(View):
    """A view of elements of variables, with a shape. Slices and transpositions copy nothing."""

    __slots__ = ()

    def __init__(
        self,
        graph: Any,
        type: Type,
        shape: Sequence[int],
        offset: int = 0,
        strides: tuple[int, ...] = (),
        address_list: np.ndarray | None = None,
    ) -> None:
        self.graph = graph
        self.type = type
        self.shape = Shape(shape)
        self.offset = offset
        self.strides = strides
        self.address_list = address_list
        self._size = graph.memory.element_size(type)

    @property
    def rank(self) -> _Rank:
        """The number of dimensions."""
        return _Rank(len(self.shape))

    def elementType(self) -> Type:
        """The type of the elements."""
        return self.type

    element_type = property(elementType)

    def dim(self, i: int) -> int:
        """The length of a dimension."""
        return self.shape[self._dimension(i)]

    def numElements(self) -> int:
        """The number of elements."""
        return self.elements

    def slice(self, begin: Any, end: Any = None, dimension: int | None = None) -> Tensor:
        """`slice(begin, end, dimension=0)`, `slice(Interval, dimension=0)`, or `slice(begins, ends)` for the leading
        dimensions."""
        if isinstance(begin, Interval):
            place = dimension if dimension is not None else end
            return self.slice_dimension(begin.begin(), begin.end(), 0 if place is None else place)
        if isinstance(begin, Sequence):
            if len(begin) != len(end) or len(begin) > len(self.shape):
                raise TensorCreationError(
                    f"a slice of a tensor of rank {self.rank} cannot go from {list(begin)} to {list(end)}"
                )
            result = self
            for place, (first, last) in enumerate(zip(begin, end, strict=True)):
                result = result.slice_dimension(first, last, place)
            return result
        return self.slice_dimension(begin, end, dimension or 0)

    def slices(self, intervals: Sequence[Any], dimension: int = 0) -> list[Tensor]:
        """A slice for each interval, or a concatenated one for each list of intervals."""
        return [
            concat([self.slice(one, dimension) for one in each], dimension)
            if isinstance(each, Sequence)
            else self.slice(each, dimension)
            for each in intervals
        ]

    def index(self, indices: Sequence[int]) -> Tensor:
        """The part at these indices of the leading dimensions."""
        result = self
        for number in indices:
            result = result.at(number)
        return result

    def reshapePartial(self, beginIndex: int, endIndex: int, newDims: Sequence[int]) -> Tensor:
        """Reshape some adjacent dimensions."""
        return rearrange.reshaped_part(self, beginIndex, endIndex, newDims)

    def dimShufflePartial(self, source: Sequence[int], destination: Sequence[int]) -> Tensor:
        """Move some dimensions; the others keep their order."""
        return rearrange.moved(self, source, destination)

    def dimRoll(self, dimIdx: int, newIdx: int = 0) -> Tensor:
        """Move one dimension."""
        return rearrange.moved(self, [dimIdx], [newIdx])

    def upsample(self, scale: int, dimension: int, method: Any = None) -> Tensor:
        """Repeat each element of a dimension."""
        return super().upsample(scale, dimension)

    dimShuffle = View.dim_shuffle
    subSample = View.sub_sample
    reshape_partial = reshapePartial
    dim_shuffle_partial = dimShufflePartial
    dim_roll = dimRoll
    num_elements = numElements

    def isContiguous(self) -> bool:
        """Whether the elements are contiguous in one variable."""
        return len(self.getContiguousRegions()) <= 1

    def containsAliases(self) -> bool:
        """Whether an element occurs more than once."""
        return self.has_aliases()

    def containsConstant(self) -> bool:
        """Whether an element belongs to a constant."""
        return bool(self.graph.memory.constants[self.variable_numbers()].any())

    def isParallelWriteable(self) -> bool:
        """Whether all elements may be written in parallel: no element is a constant or occurs twice."""
        return not self.containsConstant() and not self.containsAliases()

    def getConstantValue(self) -> Any:
        """The value of a tensor of one element that is a constant."""
        if self.elements != 1 or not self.containsConstant():
            raise TensorCreationError("the tensor is not a constant of one element")
        address = int(self.addresses().reshape(-1)[0])
        for addresses, values in reversed(self.graph.memory.at(address).initial):
            place = np.flatnonzero(addresses == address)
            if len(place):
                return values[place[-1]].item()
        return 0

    def getContiguousRegions(self) -> list[Interval]:
        """The intervals of the flattened tensor that are contiguous in a variable."""
        return [Interval(begin, end) for begin, end in rearrange.contiguous_regions(self)]

    def getVarRegions(self) -> list[VariableInterval]:
        """The contiguous regions of the tensor, as intervals of the elements of variables."""
        memory, flat = self.graph.memory, self.addresses().reshape(-1)
        found = []
        for begin, end in rearrange.contiguous_regions(self):
            variable = memory.at(int(flat[begin]))
            first = (int(flat[begin]) - variable.address) // variable.element_bytes
            found.append(VariableInterval(variable.number, Interval(first, first + end - begin)))
        return found

    def valid(self) -> bool:
        """Whether this is a tensor of a graph: always, in Python."""
        return True

    def getDebugStr(self) -> str:
        """The names of the variables that the elements belong to."""
        variables = self.graph.memory.variables
        numbers = self.variable_numbers().tolist()
        return ", ".join(variables[number].name or f"variable {number}" for number in numbers)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, View) and self.same_elements(other)

    def __hash__(self) -> int:
        return hash((self.type.name, tuple(self.shape), self.offset, self.strides))

    def __repr__(self) -> str:
        return f"Tensor({self.type}, {list(self.shape)}, {self.getDebugStr()!r})"


def as_tensor(view: View) -> Tensor:
    """The view as a tensor: all views of a `poplar.Graph` are tensors."""
    return cast("Tensor", view)


def as_tensors(views: Iterable[View]) -> list[Tensor]:
    """Several views as tensors."""
    return [as_tensor(each) for each in views]


def as_pair(views: tuple[View, View]) -> tuple[Tensor, Tensor]:
    """Two views as tensors."""
    return as_tensor(views[0]), as_tensor(views[1])


def concat(tensors: Sequence[Tensor] | Tensor, second: Any = 0, dimension: int = 0) -> Tensor:
    """`concat(tensors, dimension=0)` or `concat(first, second, dimension=0)`."""
    if isinstance(tensors, View):
        return as_tensor(_concat([tensors, second], dimension))
    joined: Tensor = _concat(list(tensors), second)
    return joined


def append(first: Tensor, second: Tensor, dimension: int) -> Tensor:
    """Append `second`, which has one dimension less, to `first`."""
    return _concat([first, second.expand([dimension])], dimension)
