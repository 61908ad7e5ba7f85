"""Lists that return whole columns of attributes, as NumPy arrays or as a pandas data frame."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from pva.sequences import Chosen, Items, PrintLength
from tremula.errors import Error

T = TypeVar("T")
Column = NDArray[Any] | Sequence[str]
Columns = Mapping[str, Callable[[], Column]]


class Table(Items[T]):
    """A list of objects with one column for each attribute that has a number or a text."""

    def __init__(
        self,
        chosen: Chosen,
        make: Callable[[int], T],
        print_length: PrintLength,
        columns: Columns,
        walk: Callable[[Chosen], Iterator[T]] | None = None,
    ) -> None:
        super().__init__(chosen, make, print_length, walk)
        self._columns = columns

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Table[T]: ...
    def __getitem__(self, index: int | slice) -> T | Table[T]:
        if isinstance(index, slice):
            return Table(self._chosen[index], self._make, self._print_length, self._columns, self._walk)
        return super().__getitem__(index)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self._columns)

    def to_numpy(self, *names: str) -> dict[str, NDArray[Any]]:
        """The columns `names`, or all of them, as arrays with one element for each item of the list."""
        unknown = [name for name in names if name not in self._columns]
        if unknown:
            raise Error(
                f"Unknown column {unknown[0]!r}; the columns are {', '.join(self._columns)}.",
                type="pva_error",
            )
        return {name: _picked(self._columns[name](), self._chosen) for name in names or self._columns}

    def to_dataframe(self, *names: str) -> Any:
        """The columns `names`, or all of them, as a pandas data frame. Raises Error where pandas is not installed."""
        try:
            import pandas  # type: ignore[import-untyped]
        except ImportError as error:
            raise Error(
                "to_dataframe() needs pandas: pip install pandas. to_numpy() gives the same columns without it.",
                type="pva_error",
            ) from error
        return pandas.DataFrame(self.to_numpy(*names))


def _picked(column: Column, chosen: Chosen) -> NDArray[Any]:
    if isinstance(column, np.ndarray):
        if isinstance(chosen, range) and chosen.step > 0:
            return np.array(column[chosen.start : chosen.stop : chosen.step])
        return np.array(column[np.asarray(chosen, dtype=np.int64)])
    numbers = chosen if isinstance(chosen, range) else chosen.tolist()
    found = np.empty(len(chosen), dtype=object)
    found[:] = [column[number] for number in numbers]
    return found
