"""Compares the first run of a batch that is computed at once with plain Python, for a few of its vertices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.frontends.poplar.codelets.codelet import Batch, Edges, Field, StateVectors
from tremula.frontends.poplar.codelets.python.plain import PlainRunner, elements
from tremula.frontends.poplar.codelets.python_classes import PythonVertex

#: larger batches are not copied for a check, and larger vertices not computed element by element
_MOST_BYTES = 256 << 20
_MOST_ELEMENTS = 1 << 16


class FirstRun:
    """Keeps what the batch held before its first run."""

    def __init__(self, vertex: type[PythonVertex], fields: Mapping[str, Field], batch: Batch) -> None:
        self._vertex, self._fields, self._batch = vertex, fields, batch
        self._copy: Batch | None = None
        self._done = not batch.count or len(batch.buffer) > _MOST_BYTES

    def before(self) -> None:
        """Called before each run."""
        if self._done:
            return
        self._copy = _copied(self._batch)

    def after(self) -> str:
        """Called after each run: what differs, or an empty text. Then the batch holds again what it held before."""
        before, self._copy = self._copy, None
        if self._done or before is None:
            return ""
        self._done = True
        numbers = self._sample()
        if not numbers:
            return ""
        copy = _copied(before)
        PlainRunner(self._vertex, self._fields, copy, numbers).run()
        problem = self._difference(copy, numbers)
        if problem:
            self._restore(before)
        return problem

    def _restore(self, before: Batch) -> None:
        self._batch.buffer[...] = before.buffer
        for name, column in self._batch.state.items():
            theirs = before.state[name]
            if isinstance(column, StateVectors) and isinstance(theirs, StateVectors):
                column.values[...] = theirs.values
            elif isinstance(column, np.ndarray) and isinstance(theirs, np.ndarray):
                column[...] = theirs

    def _difference(self, copy: Batch, numbers: list[int]) -> str:
        for number in numbers:
            for name, found, expected in self._results(copy, number):
                if not _close(found, expected):
                    return (
                        f"field {name!r} of vertex {number} is {found.ravel()[:4]} computed at once and "
                        f"{expected.ravel()[:4]} computed alone"
                    )
        return ""

    def _sample(self) -> list[int]:
        """The first, a middle and the last vertex, as far as they are small."""
        total = np.zeros(self._batch.count, dtype=np.int64)
        for edges in self._batch.edges.values():
            if edges.first is None:
                total += edges.counts
            else:
                whole = np.concatenate(([0], np.cumsum(edges.counts)))
                total += np.diff(whole[edges.first])
        chosen = {0, self._batch.count // 2, self._batch.count - 1}
        return [number for number in sorted(chosen) if total[number] <= _MOST_ELEMENTS]

    def _results(self, copy: Batch, number: int) -> list[tuple[str, NDArray[Any], NDArray[Any]]]:
        found = []
        for name, edges in self._batch.edges.items():
            if self._fields[name].direction.writes:
                found += [
                    (name, _edge(self._batch, edges, each), _edge(copy, edges, each))
                    for each in _numbers(edges, number)
                ]
        for name, column in self._batch.state.items():
            theirs = copy.state[name]
            if isinstance(column, np.ndarray) and isinstance(theirs, np.ndarray):
                found.append((name, np.asarray(column[number]), np.asarray(theirs[number])))
        return found


def _copied(batch: Batch) -> Batch:
    state = {
        name: StateVectors(each.values.copy(), each.first) if isinstance(each, StateVectors) else each.copy()
        for name, each in batch.state.items()
    }
    return replace(batch, buffer=batch.buffer.copy(), state=state)


def _numbers(edges: Edges, vertex: int) -> range:
    if edges.first is None:
        return range(vertex, vertex + 1)
    return range(int(edges.first[vertex]), int(edges.first[vertex + 1]))


def _edge(batch: Batch, edges: Edges, number: int) -> NDArray[Any]:
    return elements(
        batch.buffer,
        int(edges.offsets[number]),
        int(edges.counts[number]),
        int(edges.strides[number]),
        edges.dtype,
    )


def _close(found: NDArray[Any], expected: NDArray[Any]) -> bool:
    if found.dtype.kind != "f":
        return bool((found == expected).all())
    tolerance = 2e-2 if found.dtype.itemsize == 2 else 1e-3
    first, second = found.astype(np.float64), expected.astype(np.float64)
    scale = float(np.nanmax(np.abs(second[np.isfinite(second)]), initial=0.0))
    return bool(np.allclose(first, second, rtol=tolerance, atol=tolerance * scale, equal_nan=True))
