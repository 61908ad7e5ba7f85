"""Reads frames: only the chunks that are asked for, each compared with its hash and checked when it is first read.

A hash that matches says that the bytes are those that were written, not that they are true: types, ranges and
references are checked all the same.
"""

from __future__ import annotations

import hashlib
import itertools
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tremula.profile.chunks import Array, unpacked_numbers, unpacked_texts
from tremula.profile.frames import DEEPEST_TREE, FRAMES, FrameColumn, FrameDefinition
from tremula.profile.model import ColumnChunk
from tremula.profile.schema import CHUNK_ROWS, MAX_COLUMN_TEXT, MAX_INT

#: chunks of a frame that stay unpacked after a window was read
_KEPT_CHUNKS = 64

#: the bytes of a row of `blobs`
Fetch = Callable[[int], bytes]
#: number of rows of a frame or table
Count = Callable[[str], int]


class Frame:
    """A table that is kept column by column. The arrays that it hands out are not to be changed."""

    def __init__(
        self,
        definition: FrameDefinition,
        rows: int,
        chunks: Mapping[str, Sequence[ColumnChunk]],
        fetch: Fetch,
        count: Count,
        guarded: Callable[[], Any],
    ) -> None:
        self.name = definition.name
        self._definition = definition
        self._rows = rows
        self._chunks = chunks
        self._fetch = fetch
        self._count = count
        self._guarded = guarded
        self._whole: dict[str, Any] = {}
        self._recent: OrderedDict[tuple[str, int], Any] = OrderedDict()

    def __len__(self) -> int:
        return self._rows

    def __repr__(self) -> str:
        return f"<frame {self.name}: {self._rows:,} rows of {', '.join(self.columns)}>"

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self._definition.by_name)

    def kind(self, column: str) -> str:
        """What a column holds: "i8" integers, "f8" floating-point numbers, "str" texts."""
        return self._definition.by_name[column].kind

    def column(self, name: str) -> Any:
        """A whole column: an array of int64 or float64, or a list of texts."""
        if name not in self._whole:
            with self._guarded():
                definition = self._definition.by_name[name]
                parts, characters = [], 0
                for number in range(len(self._chunks[name])):
                    parts.append(self._read(definition, number))
                    if definition.kind == "str":
                        characters += sum(map(len, parts[-1]))
                        if characters > 2 * MAX_COLUMN_TEXT:
                            raise ValueError(f"{name} of the frame {self.name} has too many characters")
                self._whole[name] = _joined(definition, parts)
                if definition.parent:
                    _check_tree(self._whole[name], self.name)
        return self._whole[name]

    def window(self, name: str, first: int, rows: int) -> Any:
        """`rows` values of a column from row `first` on, as far as there are any; reads only the chunks needed."""
        first = min(max(0, first), self._rows)
        last = min(self._rows, first + max(0, rows))
        if name in self._whole:
            return self._whole[name][first:last]
        with self._guarded():
            definition = self._definition.by_name[name]
            parts = []
            for number, chunk in enumerate(self._chunks[name]):
                if chunk.first < last and first < chunk.first + chunk.rows:
                    values = self._kept(definition, number)
                    parts.append(values[max(0, first - chunk.first) : last - chunk.first])
            return _joined(definition, parts)

    def bounds(self, name: str) -> tuple[float, float]:
        """Least and largest value of a column of numbers, without reading it; (0, 0) if it has none."""
        chunks = self._chunks[name]
        return min((c.low for c in chunks), default=0.0), max((c.high for c in chunks), default=0.0)

    def _kept(self, column: FrameColumn, number: int) -> Any:
        key = (column.name, number)
        if key not in self._recent:
            self._recent[key] = self._read(column, number)
            if len(self._recent) > _KEPT_CHUNKS:
                self._recent.popitem(last=False)
        self._recent.move_to_end(key)
        return self._recent[key]

    def _read(self, column: FrameColumn, number: int) -> Any:
        """The values of a chunk, checked; a ValueError if anything is wrong with them."""
        chunk = self._chunks[column.name][number]
        blob = self._fetch(chunk.blob)
        what = f"{column.name} of the frame {self.name}"
        if hashlib.sha256(blob).hexdigest() != chunk.hash:
            raise ValueError(f"{what} does not match its hash")
        if column.kind == "str":
            return unpacked_texts(chunk.stored, blob, chunk.rows)
        values = unpacked_numbers(chunk.stored, blob, chunk.rows)
        if (chunk.stored == "f8") != (column.kind == "f8"):
            raise ValueError(f"{what} has numbers of another kind")
        low, high = values.min(), values.max()
        if (float(low), float(high)) != (chunk.low, chunk.high):
            raise ValueError(f"{what} has values outside the bounds in the directory")
        if column.kind == "i8" and not (low >= -1 and high <= MAX_INT):
            raise ValueError(f"{what} has impossible numbers")
        if column.refers and high >= self._count(column.refers):
            raise ValueError(f"{what} refers to rows that do not exist")
        if column.parent and not bool(np.all(values < chunk.first + np.arange(chunk.rows))):
            raise ValueError(f"{what} refers to later rows")
        values.flags.writeable = False
        return values


def _joined(column: FrameColumn, parts: Sequence[Any]) -> Any:
    if column.kind == "str":
        return list(itertools.chain.from_iterable(parts))
    if len(parts) == 1:
        return parts[0]
    found: Array = (
        np.concatenate(parts) if parts else np.zeros(0, np.int64 if column.kind == "i8" else np.float64)
    )
    found.flags.writeable = False
    return found


def _check_tree(parents: Array, name: str) -> None:
    """Insist that a tree is not deeper than viewers walk."""
    above = parents
    for _ in range(DEEPEST_TREE):
        above = above[above >= 0]
        if not len(above):
            return
        above = parents[np.unique(above)]
    raise ValueError(f"the tree of the frame {name} is too deep")


def frames_of(
    directory: Sequence[ColumnChunk], count: Count, fetch: Fetch, guarded: Callable[[], Any]
) -> dict[str, Frame]:
    """All frames of a file by name, from the rows of its table `columns`; a ValueError if they do not fit together."""
    chunks: dict[str, dict[str, list[ColumnChunk]]] = {
        name: {column.name: [] for column in definition.columns} for name, definition in FRAMES.items()
    }
    for each in directory:
        columns = chunks.get(each.frame)
        if columns is None or each.name not in columns:
            raise ValueError("the directory of columns has an unknown column")
        if each.kind != FRAMES[each.frame].by_name[each.name].kind or not 0 < each.rows <= CHUNK_ROWS:
            raise ValueError(f"a chunk of {each.frame} has no rows, too many, or another kind")
        columns[each.name].append(each)
    frames = {}
    for name, definition in FRAMES.items():
        rows = count(name)
        for column, listed in chunks[name].items():
            next_row = 0
            for number, chunk in enumerate(listed):
                if (chunk.chunk, chunk.first) != (number, next_row):
                    raise ValueError(f"the chunks of {column} of {name} do not follow each other")
                next_row += chunk.rows
            if next_row != rows:
                raise ValueError(f"{column} of {name} does not have {rows:,} rows")
        frames[name] = Frame(definition, rows, chunks[name], fetch, count, guarded)
    return frames
