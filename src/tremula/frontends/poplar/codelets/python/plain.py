"""Runs compute functions as the Python that they are, vertex by vertex: what every other way is checked against."""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from tremula.frontends.poplar.codelets.codelet import Base, Batch, Edges, Field, Kind, StateVectors
from tremula.frontends.poplar.codelets.python_classes import PythonVertex
from tremula.frontends.poplar.errors import ApplicationRuntimeError

Array = NDArray[Any]


class Size(int):
    """A number of elements that may be called."""

    def __call__(self) -> int:
        return int(self)


class FieldArray(np.ndarray[Any, Any]):
    """The elements of a vector. Whole numbers come out as Python's and wrap around when they are stored."""

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        if isinstance(found, np.integer | np.bool_):
            return found.item()
        return found

    def __setitem__(self, index: Any, value: Any) -> None:
        super().__setitem__(index, stored(value, self.dtype))

    @property
    def size(self) -> Size:
        """How many elements there are: as NumPy's attribute, or called as in C++."""
        return Size(super().size)


def stored(value: Any, dtype: np.dtype[Any]) -> Any:
    """A value as it is stored: whole numbers wrap around."""
    if dtype.kind in "iu":
        given = np.asarray(value)
        if given.dtype.kind in "iu" or given.dtype == object:
            mask = (1 << (8 * dtype.itemsize)) - 1
            if given.dtype == object:
                given = np.asarray([int(each) & mask for each in given.reshape(-1)], dtype=np.uint64).reshape(
                    given.shape
                )
            return given.astype(f"u{dtype.itemsize}", casting="unsafe").view(dtype)
        return given.astype(np.int64).astype(dtype)
    return value


class PlainRunner:
    """Runs a batch, or some of its vertices."""

    def __init__(
        self,
        vertex: type[PythonVertex],
        fields: Mapping[str, Field],
        batch: Batch,
        numbers: Sequence[int] | None = None,
    ) -> None:
        self._vertex, self._fields, self._batch = vertex, fields, batch
        self._numbers = range(batch.count) if numbers is None else numbers
        self._vectors = [each for each in fields.values() if each.kind in (Kind.VECTOR, Kind.STATE_VECTOR)]
        self._lists = [each for each in fields.values() if each.kind is Kind.VECTOR_LIST]
        self._scalars = [each for each in fields.values() if each.kind is Kind.SCALAR]
        self._states = [each for each in fields.values() if each.kind is Kind.STATE]

    def run(self) -> bool:
        """Compute all vertices; false if one of them returned false."""
        agreed = [self._compute(number) for number in self._numbers]
        return all(agreed)

    def _compute(self, number: int) -> bool:
        made: Any = object.__new__(self._vertex)
        arrays = {each.name: self._array(each, number) for each in self._vectors}
        vars(made).update(arrays)
        vars(made).update({each.name: self._rows(each, number) for each in self._lists})
        places = {each.name: self._place(each.name, number) for each in self._scalars}
        vars(made).update({name: _value(place[()]) for name, place in places.items()})
        vars(made)["numWorkers"] = lambda: self._batch.workers
        for state in self._states:
            column = self._batch.state.get(state.name)
            if isinstance(column, np.ndarray):
                vars(made)[state.name] = _value(column[number])
        agreed = self._call(made, number)
        found = vars(made)
        for name, array in arrays.items():
            if found[name] is not array:
                array[:] = found[name]
        for scalar in self._scalars:
            if scalar.direction.writes:
                places[scalar.name][()] = stored(found[scalar.name], places[scalar.name].dtype)
        for state in self._states:
            column = self._batch.state.get(state.name)
            if isinstance(column, np.ndarray):
                column[number] = stored(found[state.name], column.dtype)
        return agreed

    def _call(self, made: Any, number: int) -> bool:
        try:
            with np.errstate(all="ignore"):
                # in any order; the same as in C++, where the first worker comes last
                workers = range(self._batch.workers)[::-1] if self._vertex.base is Base.MULTI_VERTEX else None
                results = [made.compute()] if workers is None else [made.compute(each) for each in workers]
        except Exception as problem:
            where = traceback.extract_tb(problem.__traceback__)[-1]
            raise ApplicationRuntimeError(
                f"vertex {number} of type {self._vertex.__name__} failed at {where.filename}:{where.lineno}: "
                f"{type(problem).__name__}: {problem}"
            ) from problem
        return all(each is None or bool(each) for each in results)

    def _array(self, field: Field, number: int) -> Array:
        if field.kind is Kind.STATE_VECTOR:
            vectors = self._batch.state[field.name]
            if isinstance(vectors, StateVectors):
                return vectors.values[vectors.first[number] : vectors.first[number + 1]].view(FieldArray)
        return self._edge(field, self._batch.edges[field.name], number)

    def _rows(self, field: Field, number: int) -> list[Array]:
        edges = self._batch.edges[field.name]
        first, end = (
            (number, number + 1) if edges.first is None else edges.first[number : number + 2].tolist()
        )
        return [self._edge(field, edges, edge) for edge in range(first, end)]

    def _edge(self, field: Field, edges: Edges, edge: int) -> Array:
        count, stride = int(edges.counts[edge]), int(edges.strides[edge])
        array = elements(self._batch.buffer, int(edges.offsets[edge]), count, stride, edges.dtype).view(
            FieldArray
        )
        if not field.direction.writes:
            array.flags.writeable = False
        return array

    def _place(self, name: str, number: int) -> Array:
        edges = self._batch.edges[name]
        return elements(self._batch.buffer, int(edges.offsets[number]), 1, 1, edges.dtype)[0, ...]


def elements(buffer: NDArray[np.uint8], offset: int, count: int, stride: int, dtype: np.dtype[Any]) -> Array:
    """`count` elements from byte `offset` of a buffer, `stride` elements apart, without a copy."""
    size = dtype.itemsize
    if count == 0:
        return np.zeros(0, dtype=dtype)
    low = offset + min(0, (count - 1) * stride * size)
    high = offset + max(0, (count - 1) * stride * size) + size
    typed = buffer[low:high].view(dtype) if (high - low) % size == 0 else buffer[low:high]
    return as_strided(typed[(offset - low) // size :], shape=(count,), strides=(stride * size,))


def _value(value: Any) -> Any:
    return value.item() if isinstance(value, np.integer | np.bool_) else value
