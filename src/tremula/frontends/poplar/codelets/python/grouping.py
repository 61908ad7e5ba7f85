"""Vertices of a batch in groups that do the same steps: equal sizes, and equal values of what loops depend on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tremula.frontends.poplar.codelets.codelet import Batch, Edges, Field, Kind, StateVectors
from tremula.frontends.poplar.codelets.python.access import Array, Elements, Ints
from tremula.frontends.poplar.codelets.python.lanes import Data, Rows
from tremula.invariants import instance

#: elements that one field may have in a group: larger ones are cut, so that intermediate values stay small
MOST_ELEMENTS = 1 << 21


def groups_of(fields: Mapping[str, Field], batch: Batch, keys: Iterable[str]) -> list[Ints]:
    """The numbers of the vertices in each group."""
    columns: list[Ints] = []
    widest = np.ones(batch.count, dtype=np.int64)
    for field in fields.values():
        sizes, per_vertex = _sizes(field, batch)
        columns += sizes
        if per_vertex is not None:
            widest = np.maximum(widest, per_vertex)
    columns += [_key_values(fields[name], batch) for name in sorted(keys)]
    if not columns:
        return _cut(np.arange(batch.count), widest)
    _, inverse = alike(columns)
    order = np.argsort(inverse, kind="stable")
    ends = np.flatnonzero(np.diff(inverse[order])) + 1
    return [part for group in np.split(order, ends) for part in _cut(group, widest)]


def alike(columns: Sequence[Array]) -> tuple[Ints, Ints]:
    """Rows of a table of columns that are equal: the first of each kind, and the kind of each row."""
    kind = np.zeros(len(columns[0]), dtype=np.int64)
    first = np.zeros(1, dtype=np.int64)
    for column in columns:
        if (column == column[0]).all():
            continue
        _, values = np.unique(column, return_inverse=True)
        both = kind * (int(values.max()) + 1) + values.reshape(-1)
        _, first, kind = np.unique(both, return_index=True, return_inverse=True)
        kind = kind.reshape(-1)
    return first.astype(np.int64), kind.astype(np.int64)


def _cut(group: Ints, widest: Ints) -> list[Ints]:
    most = max(1, MOST_ELEMENTS // max(1, int(widest[group].max(initial=1))))
    return [group[begin : begin + most] for begin in range(0, len(group), most)]


def _sizes(field: Field, batch: Batch) -> tuple[list[Ints], Ints | None]:
    """Columns with a value for each vertex that tell its sizes, and the largest of them."""
    if field.kind is Kind.STATE_VECTOR:
        counts = np.diff(instance(batch.state[field.name], StateVectors).first)
        return [counts], counts
    if field.kind is Kind.VECTOR:
        counts = batch.edges[field.name].counts
        return [counts], counts
    if field.kind is not Kind.VECTOR_LIST:
        return [], None
    edges = batch.edges[field.name]
    if edges.first is None:
        return [edges.counts], edges.counts
    lengths = np.diff(edges.first)
    most = int(lengths.max(initial=0))
    columns = [lengths]
    for row in range(most):
        has = lengths > row
        column = np.full(batch.count, -1, dtype=np.int64)
        column[has] = edges.counts[edges.first[:-1][has] + row]
        columns.append(column)
    return columns, np.max(columns, axis=0)


def _key_values(field: Field, batch: Batch) -> Ints:
    if field.kind is Kind.STATE:
        values = instance(batch.state[field.name], np.ndarray)
    else:
        edges = batch.edges[field.name]
        values = edge_memory(edges, batch)[edges.offsets // edges.dtype.itemsize]
    return values.astype(np.float64).view(np.int64) if values.dtype.kind == "f" else values.astype(np.int64)


def edge_memory(edges: Edges, batch: Batch) -> Array:
    """The batch's buffer as elements of the type of these edges."""
    size = edges.dtype.itemsize
    return batch.buffer[: len(batch.buffer) // size * size].view(edges.dtype)


def data_of(fields: Mapping[str, Field], batch: Batch, group: Ints, keys: Iterable[str]) -> Data:
    """The fields of a group."""
    vectors: dict[str, Elements] = {}
    scalars: dict[str, Elements] = {}
    states: dict[str, tuple[Array, Ints]] = {}
    row_counts: dict[str, int] = {}
    for field in fields.values():
        name = field.name
        if field.kind is Kind.STATE:
            column = batch.state.get(name)
            states[name] = (
                np.zeros(batch.count, np.float32) if column is None else instance(column, np.ndarray),
                group,
            )
        elif field.kind is Kind.STATE_VECTOR:
            own = instance(batch.state[name], StateVectors)
            first = own.first[group]
            size = int(own.first[group[0] + 1] - first[0])
            vectors[name] = Elements(name, own.values, first, np.ones(len(group), dtype=np.int64), size)
        elif field.kind is Kind.VECTOR_LIST:
            edges = batch.edges[name]
            row_counts[name] = (
                1 if edges.first is None else int(edges.first[group[0] + 1] - edges.first[group[0]])
            )
        else:
            chosen = scalars if field.kind is Kind.SCALAR else vectors
            chosen[name] = _elements(name, batch.edges[name], batch, group)
    found = {name: _number(_first_value(fields[name], batch, group)) for name in keys}
    return Data(len(group), vectors, _rows(batch, group), row_counts, scalars, states, found, batch.workers)


def _elements(name: str, edges: Edges, batch: Batch, numbers: Ints) -> Elements:
    size = edges.dtype.itemsize
    count = int(edges.counts[numbers[0]])
    return Elements(
        name, edge_memory(edges, batch), edges.offsets[numbers] // size, edges.strides[numbers], count
    )


def _rows(batch: Batch, group: Ints) -> Rows:
    made: dict[tuple[str, int], Elements] = {}

    def row_of(name: str, row: int) -> Elements:
        found = made.get((name, row))
        if found is None:
            edges = batch.edges[name]
            length = 1 if edges.first is None else int(edges.first[group[0] + 1] - edges.first[group[0]])
            if not -length <= row < length:
                raise IndexError(f"vector {row} is outside the list {name!r}, which has {length}")
            place = row % length
            numbers = group if edges.first is None else edges.first[group] + place
            found = made[name, row] = _elements(f"{name}[{row}]", edges, batch, numbers)
        return found

    return row_of


def _first_value(field: Field, batch: Batch, group: Ints) -> Any:
    if field.kind is Kind.STATE:
        return instance(batch.state[field.name], np.ndarray)[group[0]]
    edges = batch.edges[field.name]
    return edge_memory(edges, batch)[int(edges.offsets[group[0]]) // edges.dtype.itemsize]


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def overlapping(fields: Mapping[str, Field], batch: Batch) -> dict[str, str] | None:
    """Fields that lie on the elements of others, with one name for those that are the same; None where they differ.

    An output may be connected to what the vertex reads. Then both have to be the same elements in the same order for
    loops to run in parallel.
    """
    spans: dict[str, tuple[int, int]] = {}
    for name, edges in batch.edges.items():
        if len(edges.offsets):
            reach = (edges.counts - 1) * edges.strides * edges.dtype.itemsize
            low, high = (
                np.minimum(edges.offsets, edges.offsets + reach),
                np.maximum(edges.offsets, edges.offsets + reach),
            )
            spans[name] = (int(low.min()), int(high.max()) + edges.dtype.itemsize)
    same: dict[str, str] = {}
    for name in spans:
        if not fields[name].direction.writes:
            continue
        for other in spans:
            if other == name or spans[name][0] >= spans[other][1] or spans[other][0] >= spans[name][1]:
                continue
            mine, theirs = batch.edges[name], batch.edges[other]
            if not _touch(mine, theirs):
                continue
            if not _equal(mine, theirs):
                return None
            same[other] = same.get(name, name)
    return same


def _touch(first: Edges, second: Edges) -> bool:
    """Whether an element of a vertex's one field may be one of its other, from the range that each edge covers."""
    if len(first.offsets) != len(second.offsets) or first.first is not None or second.first is not None:
        return True
    ranges = []
    for edges in (first, second):
        reach = (edges.counts - 1) * edges.strides * edges.dtype.itemsize
        low = np.minimum(edges.offsets, edges.offsets + reach)
        ranges.append((low, np.maximum(edges.offsets, edges.offsets + reach) + edges.dtype.itemsize))
    (low, high), (other_low, other_high) = ranges
    return bool(((low < other_high) & (other_low < high) & (first.counts > 0) & (second.counts > 0)).any())


def _equal(first: Edges, second: Edges) -> bool:
    return first.dtype == second.dtype and all(
        np.array_equal(getattr(first, name), getattr(second, name))
        for name in ("offsets", "counts", "strides")
    )
