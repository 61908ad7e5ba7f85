"""Lists that create their items on first use, and lists of numbers over arrays.

Both behave as Python's lists do when they are read: negative indexes, slices (which are lists of the same kind and
copy nothing), comparison, iteration. Their text is bounded; `Report.listPrintLength` sets how many items it shows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")
Chosen = range | NDArray[np.int64]


class PrintLength:
    """How many items the text of a list shows; shared by all lists of a report."""

    def __init__(self, items: int = 10) -> None:
        self.items = items


class Items(Sequence[T], Generic[T]):
    """A list of objects. `make(number)` creates each when it is first used.

    `walk` makes many of them in a row faster than one by one, where there is such a way.
    """

    def __init__(
        self,
        chosen: Chosen,
        make: Callable[[int], T],
        print_length: PrintLength,
        walk: Callable[[Chosen], Iterator[T]] | None = None,
    ) -> None:
        self._chosen = chosen
        self._make = make
        self._print_length = print_length
        self._walk = walk

    def __len__(self) -> int:
        return len(self._chosen)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Items[T]: ...
    def __getitem__(self, index: int | slice) -> T | Items[T]:
        if isinstance(index, slice):
            return Items(self._chosen[index], self._make, self._print_length, self._walk)
        return self._make(int(self._chosen[_checked(index, len(self))]))

    def __iter__(self) -> Iterator[T]:
        if self._walk is not None:
            return self._walk(self._chosen)
        numbers = self._chosen if isinstance(self._chosen, range) else self._chosen.tolist()
        return map(self._make, numbers)

    def __eq__(self, other: object) -> Any:
        return _equal(self, other)

    __hash__ = None  # type: ignore[assignment]  # as of a list

    def __add__(self, other: Sequence[T]) -> list[T]:
        return [*self, *other]

    def __repr__(self) -> str:
        return _bounded(self, self._print_length.items)


class Numbers(Sequence[Any]):
    """A list of numbers; `array` is the NumPy array that is behind it, which NumPy functions take at once."""

    def __init__(self, array: NDArray[Any], print_length: PrintLength | None = None) -> None:
        self.array = array.view()
        self.array.flags.writeable = False
        self._print_length = print_length or PrintLength()

    def __len__(self) -> int:
        return len(self.array)

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> Numbers: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return Numbers(self.array[index], self._print_length)
        return self.array[_checked(index, len(self))].item()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.array.tolist())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        made = self.array if dtype is None else self.array.astype(dtype, copy=False)
        return made.copy() if copy else made

    def __eq__(self, other: object) -> Any:
        return _equal(self, other)

    __hash__ = None  # type: ignore[assignment]  # as of a list

    def __add__(self, other: Sequence[Any]) -> list[Any]:
        return [*self, *other]

    def __repr__(self) -> str:
        return _bounded(self, self._print_length.items)


def _checked(index: Any, length: int) -> int:
    if not hasattr(index, "__index__"):
        raise TypeError(f"list indices must be integers or slices, not {type(index).__name__}")
    number = int(index)
    if not -length <= number < length:
        raise IndexError(f"list index {number} out of range: there are {length:,} items")
    return number


def _equal(one: Sequence[Any], other: object) -> Any:
    if not isinstance(other, Items | Numbers | list | tuple):
        return NotImplemented
    return len(one) == len(other) and all(a == b for a, b in zip(one, other, strict=True))


def _bounded(items: Sequence[Any], shown: int) -> str:
    texts = [repr(item) for item in items[:shown]]
    if len(items) > shown:
        texts.append(f"... {len(items) - shown:,} more")
    return f"[{', '.join(texts)}]"
