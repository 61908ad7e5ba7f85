"""Writes frames: columns come in pieces of any length and go out in compressed chunks.

At most one chunk of each frame is held in memory. What a frame may not hold is counted and left out.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.errors import Error
from tremula.profile.chunks import packed_floats, packed_ints, packed_texts
from tremula.profile.frames import FrameColumn, FrameDefinition
from tremula.profile.model import ColumnChunk
from tremula.profile.rows import stored_text
from tremula.profile.schema import CHUNK_CHARACTERS, CHUNK_ROWS, MAX_COLUMN_TEXT, MAX_FLOAT, MAX_INT, MAX_TEXT

#: a column of a piece: one value for each row (a list, an array), or one for all of them (a number, a text)
Values = Any


class FrameSink:
    """Takes the rows of one frame."""

    def __init__(self, connection: sqlite3.Connection, definition: FrameDefinition) -> None:
        self.definition = definition
        self.rows = 0  #: taken so far, those that wait included
        self.left_out = 0
        self.chunks: list[ColumnChunk] = []
        self._connection = connection
        self._waiting: dict[str, list[Any]] = {column.name: [] for column in definition.columns}
        self._held = 0
        self._characters = 0
        self._column_characters: dict[str, int] = {}
        self._written = 0
        self._number = 0

    def add(self, columns: Mapping[str, Values]) -> None:
        """A piece: for each column of the frame its values, or one value for all rows of the piece.

        Raises Error if columns are missing, of different lengths or hold numbers that cannot be stored; that is a
        fault of the writer.
        """
        piece = self._piece(columns)
        count = _length(piece)
        room = self.definition.most_rows - self.rows
        if count > room:
            self.left_out += count - room
            count = room
        ends = self._character_ends(piece)
        start = 0
        while start < count:
            taken = min(count - start, CHUNK_ROWS - self._held)
            before = int(ends[start - 1]) if start else 0
            room = CHUNK_CHARACTERS - self._characters + before
            fitting = int(np.searchsorted(ends[start : start + taken], room, side="right"))
            if not fitting and self._held:
                self.flush()
                continue
            taken = max(1, fitting)
            for name, values in piece.items():
                self._waiting[name].append(values[start : start + taken])
            start += taken
            self._held += taken
            self.rows += taken
            self._characters += int(ends[start - 1]) - before
            if self._held == CHUNK_ROWS:
                self.flush()

    def _character_ends(self, piece: Mapping[str, Any]) -> NDArray[np.int64]:
        """Characters of all texts of a piece up to and with each row; texts beyond those of a column are cut off."""
        total = np.zeros(_length(piece), dtype=np.int64)
        for name, texts in piece.items():
            if isinstance(texts, list) and texts:
                lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
                whole = self._column_characters.get(name, 0) + int(lengths.sum())
                if whole > MAX_COLUMN_TEXT:
                    texts[:] = [text[:1] for text in texts]
                    lengths = np.minimum(lengths, 1)
                else:
                    self._column_characters[name] = whole
                total += lengths
        return np.cumsum(total)

    def flush(self) -> None:
        """Write what waits."""
        if not self._held:
            return
        for column in self.definition.columns:
            waiting = self._waiting[column.name]
            self.chunks.append(self._stored(column, waiting))
            waiting.clear()
        self._written += self._held
        self._number += 1
        self._held = self._characters = 0

    def _stored(self, column: FrameColumn, waiting: list[Any]) -> ColumnChunk:
        low = high = 0.0
        if column.kind == "str":
            stored, blob = packed_texts([text for part in waiting for text in part])
        else:
            values = np.concatenate(waiting)
            low, high = float(values.min()), float(values.max())
            stored, blob = packed_ints(values) if column.kind == "i8" else packed_floats(values)
        place = self._connection.execute("INSERT INTO blobs VALUES (?)", (blob,)).lastrowid
        return ColumnChunk(
            frame=self.definition.name,
            name=column.name,
            kind=column.kind,
            chunk=self._number,
            first=self._written,
            rows=self._held,
            low=low,
            high=high,
            stored=stored,
            blob=place or 0,
            hash=hashlib.sha256(blob).hexdigest(),
        )

    def _piece(self, columns: Mapping[str, Values]) -> dict[str, Any]:
        if set(columns) != set(self._waiting):
            wrong = ", ".join(sorted(set(columns) ^ set(self._waiting)))
            raise self._fault(f"{wrong} missing, or not of the frame")
        lengths = {len(values) for values in columns.values() if not _single(values)}
        if len(lengths) > 1:
            raise self._fault(f"columns of different lengths {sorted(lengths)}")
        count = lengths.pop() if lengths else 1
        return {c.name: self._converted(c, columns[c.name], count) for c in self.definition.columns}

    def _converted(self, column: FrameColumn, values: Any, count: int) -> Any:
        if column.kind == "str":
            return (
                [stored_text(values, MAX_TEXT)] * count
                if _single(values)
                else [stored_text(v, MAX_TEXT) for v in values]
            )
        kind = np.int64 if column.kind == "i8" else np.float64
        array = np.full(count, values, dtype=kind) if _single(values) else np.asarray(values, dtype=kind)
        if array.ndim != 1:
            raise self._fault(f"{column.name} is not a list")
        if count:
            low, high = array.min(), array.max()
            least, most = (-1, MAX_INT) if column.kind == "i8" else (-MAX_FLOAT, MAX_FLOAT)
            if not (least <= low and high <= most):
                raise self._fault(f"{column.name} has values from {low} to {high}")
        return array

    def _fault(self, what: str) -> Error:
        return Error(
            f"Rows of the frame {self.definition.name} cannot be written: {what}.", type="profile_error"
        )


def _single(values: Any) -> bool:
    return isinstance(values, (str, int, float, np.generic))


def _length(piece: Mapping[str, Any]) -> int:
    return len(next(iter(piece.values())))
