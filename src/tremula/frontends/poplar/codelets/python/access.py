"""The elements of a field for several vertices of equal size at once: as a view where they are evenly spaced."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from tremula.frontends.poplar.codelets.python.plain import stored
from tremula.frontends.poplar.errors import ApplicationRuntimeError

Array = NDArray[Any]
Ints = NDArray[np.int64]
#: one number for all vertices, a slice, a list of numbers, or numbers for each vertex and iteration
Columns = int | slice | Ints


class Elements:
    """`size` elements of each vertex: element `i` of vertex `v` lies at `base[v] + i * step[v]` of `memory`."""

    def __init__(self, name: str, memory: Array, base: Ints, step: Ints, size: int) -> None:
        self.name, self.memory, self.base, self.step, self.size = name, memory, base, step, size
        self.view = self._view()

    def _view(self) -> Array | None:
        """All elements, a row for each vertex, without a copy; None where they are not evenly spaced."""
        vertices = len(self.base)
        if not vertices or not self.size:
            return np.zeros((vertices, self.size), dtype=self.memory.dtype)
        apart = np.diff(self.base)
        if (self.step != self.step[0]).any() or (vertices > 2 and (apart != apart[0]).any()):
            return None
        step, row = int(self.step[0]), int(apart[0]) if vertices > 1 else 0
        item = self.memory.dtype.itemsize
        low = min(int(self.base.min()), int(self.base.min()) + (self.size - 1) * step)
        first = int(self.base[0])
        part = self.memory[low:]
        return as_strided(part[first - low :], shape=(vertices, self.size), strides=(row * item, step * item))

    def load(self, columns: Columns) -> Array:
        """The elements, with a row for each vertex."""
        columns = self._checked(columns)
        if self.view is not None:
            if isinstance(columns, int):
                return self.view[:, columns : columns + 1]
            if isinstance(columns, slice) or columns.ndim == 1:
                return self.view[:, columns]
            return np.take_along_axis(
                self.view, np.broadcast_to(columns, (len(self.base), columns.shape[1])), axis=1
            )
        return self.memory[self._places(columns)]

    def store(self, columns: Columns, values: Any) -> None:
        """Write elements: those of one vertex are not named twice."""
        columns = self._checked(columns)
        values = stored(values, self.memory.dtype)
        if self.view is None:
            self.memory[self._places(columns)] = values
        elif isinstance(columns, int):
            self.view[:, columns : columns + 1] = values
        elif isinstance(columns, slice) or columns.ndim == 1:
            self.view[:, columns] = values
        else:
            rows = np.arange(len(self.base))[:, None]
            self.view[rows, columns] = values

    def store_where(self, mask: Array, columns: Any, values: Any) -> None:
        """Write the elements of those vertices and iterations for which the mask is true."""
        shape = np.broadcast_shapes(mask.shape, np.shape(columns), np.shape(values), (len(self.base), 1))
        rows, places = np.nonzero(np.broadcast_to(mask, shape))
        chosen = np.broadcast_to(np.asarray(columns), shape)[rows, places]
        if chosen.size and (int(chosen.max()) >= self.size or int(chosen.min()) < -self.size):
            self._outside(int(chosen.max() if chosen.max() >= self.size else chosen.min()))
        chosen = np.where(chosen < 0, chosen + self.size, chosen)
        given = np.broadcast_to(np.asarray(values), shape)[rows, places]
        self.memory[self.base[rows] + chosen * self.step[rows]] = stored(given, self.memory.dtype)

    def _places(self, columns: Columns) -> Ints:
        if isinstance(columns, slice):
            columns = np.arange(columns.start, columns.stop, columns.step)
        return np.asarray(self.base[:, None] + np.asarray(columns) * self.step[:, None], dtype=np.int64)

    def _checked(self, columns: Columns) -> Columns:
        """Numbers from the end as Python counts them; one outside is an error."""
        if isinstance(columns, slice):
            return columns
        if isinstance(columns, int):
            found = columns + self.size if columns < 0 else columns
            if not 0 <= found < self.size:
                self._outside(columns)
            return found
        if not columns.size:
            return columns
        low, high = int(columns.min()), int(columns.max())
        if high >= self.size or low < -self.size:
            self._outside(high if high >= self.size else low)
        return np.where(columns < 0, columns + self.size, columns) if low < 0 else columns

    def _outside(self, index: int) -> None:
        raise ApplicationRuntimeError(
            f"index {index} is outside field {self.name!r}, which has {self.size} elements"
        )
