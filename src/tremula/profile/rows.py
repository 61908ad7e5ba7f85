"""Rows on their way into and out of a file: checked, encoded, and hashed.

Reader and writer use the same checks and the same hash. A flipped bit changes the digest, so the reader reports it. A
digest is not a signature: whoever can write the file can write a matching one, so the reader checks values as well.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.errors import Error
from tremula.profile.schema import MAX_ELEMENTS, MAX_FLOAT, MAX_INT, Table

Values = tuple[Any, ...]


def to_file(table: Table, row: object) -> Values:
    """The values of `row` as they are stored: text cut to its limit, numbers of the column's type.

    Raises Error if a number is not finite or out of range; that is a fault of the writer.
    """
    found = tuple(_CONVERTED[kind](getattr(row, name), limit) for name, kind, limit in table.forms)
    problem = fault(table, found)
    if problem:
        raise Error(f"A row of {table.name} cannot be written: {problem}.", type="profile_error")
    return found


def stored_text(value: Any, limit: int) -> str:
    """`value` as text that can be stored, cut to its limit."""
    text = str(value)
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode("utf-8")  # lone surrogates cannot be stored
    return text if len(text) <= limit else text[: limit - 1] + "…"


_CONVERTED: dict[type, Callable[[Any, int], Any]] = {
    str: stored_text,
    int: lambda value, _: int(value),
    float: lambda value, _: float(value) + 0.0,  # no negative zero: SQLite does not keep it
    bytes: lambda value, _: bytes(value),
}


def fault(table: Table, values: Sequence[Any]) -> str:
    """What is wrong with the values of a row; empty if nothing is."""
    value: Any
    for (name, expected, limit), value in zip(table.forms, values, strict=True):
        kind = type(value)
        if kind is not expected:
            return f"{name} is of type {kind.__name__} instead of {expected.__name__}"
        if kind is int:
            if not -1 <= value <= MAX_INT:
                return f"{name} is {value}"
        elif kind is float:
            if not -MAX_FLOAT <= value <= MAX_FLOAT:  # nor is it a NaN
                return f"{name} is {value}"
        elif len(value) > limit:
            return f"{name} has {len(value):,} characters or bytes; at most {limit:,} are allowed"
    return ""


class Digest:
    """A hash over the rows of a table, fed in batches of a fixed number of rows."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def add(self, rows: Iterable[Values]) -> None:
        """A batch more."""
        text = json.dumps(list(rows), default=bytes.hex, allow_nan=False, separators=(",", ":"))
        self._hash.update(text.encode("utf-8"))

    def text(self) -> str:
        """The hash so far."""
        return self._hash.hexdigest()


def digest_of(rows: Sequence[Values]) -> str:
    """The hash of a small table."""
    digest = Digest()
    digest.add(rows)
    return digest.text()


def packed(values: NDArray[np.int64]) -> bytes:
    """Integers as the file stores them."""
    return zlib.compress(np.ascontiguousarray(values, dtype="<i8").tobytes(), 6)


def unpacked(blob: bytes, count: int) -> NDArray[np.int64]:
    """The `count` integers of a blob.

    Raises ValueError if it holds something else, or more than a profile may hold.
    """
    if not 0 <= count <= MAX_ELEMENTS:
        raise ValueError(f"{count:,} elements; at most {MAX_ELEMENTS:,} are allowed")
    inflate = zlib.decompressobj()
    try:
        data = inflate.decompress(blob, count * 8 + 1)
    except zlib.error as error:
        raise ValueError(f"not compressed as expected ({error})") from error
    if len(data) != count * 8 or not inflate.eof or inflate.unused_data:
        raise ValueError(f"a number of elements other than {count:,}")
    return np.frombuffer(data, dtype="<i8").astype(np.int64)
