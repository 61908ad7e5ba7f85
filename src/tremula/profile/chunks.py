"""Chunks of columns: arrays and texts as compressed bytes and back, checked.

Integers are stored with as few bytes as they need, as themselves or as differences; texts as their lengths and UTF-8.
Whatever the bytes hold, unpacking takes bounded memory and gives values of the column's kind or a ValueError.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.profile.schema import MAX_CHUNK_TEXT, MAX_FLOAT, MAX_INT, MAX_TEXT

Array = NDArray[Any]

_WIDTHS: dict[str, np.dtype[Any]] = {
    "1": np.dtype("<i1"),
    "2": np.dtype("<i2"),
    "4": np.dtype("<i4"),
    "8": np.dtype("<i8"),
}
_LEVEL = 5


def packed_ints(values: Array) -> tuple[str, bytes]:
    """How integers are stored, and the bytes."""
    plain = _width(int(values.min()), int(values.max()))
    if len(values) > 1:
        steps = np.diff(values)
        narrow = _width(int(steps.min()), int(steps.max()))
        if int(narrow) < int(plain):
            data = values[:1].astype("<i8").tobytes() + steps.astype(_WIDTHS[narrow]).tobytes()
            return f"d{narrow}", zlib.compress(data, _LEVEL)
    return f"i{plain}", zlib.compress(values.astype(_WIDTHS[plain]).tobytes(), _LEVEL)


def _width(low: int, high: int) -> str:
    for name, kind in _WIDTHS.items():
        limits = np.iinfo(kind)
        if limits.min <= low and high <= limits.max:
            return name
    return "8"


def packed_floats(values: Array) -> tuple[str, bytes]:
    """How floating-point numbers are stored, and the bytes."""
    return "f8", zlib.compress(values.astype("<f8").tobytes(), _LEVEL)


def packed_texts(texts: Sequence[str]) -> tuple[str, bytes]:
    """How texts are stored, and the bytes: the number of characters of each, then all of them in UTF-8."""
    lengths = np.fromiter(map(len, texts), dtype="<u4", count=len(texts))
    return "text", zlib.compress(lengths.tobytes() + "".join(texts).encode("utf-8"), _LEVEL)


def unpacked_numbers(stored: str, blob: bytes, rows: int) -> Array:
    """The `rows` numbers of a chunk."""
    if stored == "f8":
        data = _inflated(blob, 8 * rows)
        floats = np.frombuffer(data, dtype="<f8").astype(np.float64)
        if rows and not bool(np.all(np.abs(floats) <= MAX_FLOAT)):  # nor is there a NaN
            raise ValueError("impossible numbers")
        return floats
    width = _WIDTHS.get(stored[1:])
    if width is None or stored[:1] not in ("i", "d"):
        raise ValueError(f"unknown encoding of numbers: {stored[:8]!r}")
    if stored[0] == "i":
        plain: Array = np.frombuffer(_inflated(blob, rows * width.itemsize), dtype=width)
        return plain.astype(np.int64)
    data = _inflated(blob, 8 + (rows - 1) * width.itemsize)
    steps = np.empty(rows, dtype=np.int64)
    steps[0] = np.frombuffer(data, dtype="<i8", count=1)[0]
    steps[1:] = np.frombuffer(data, dtype=width, offset=8)
    if width.itemsize == 8 or abs(int(steps[0])) > MAX_INT:
        raise ValueError("differences that are too large")
    return np.cumsum(steps)


def unpacked_texts(stored: str, blob: bytes, rows: int) -> list[str]:
    """The `rows` texts of a chunk."""
    if stored != "text":
        raise ValueError(f"unknown encoding of texts: {stored[:8]!r}")
    data = _inflated(blob, None)
    if len(data) < 4 * rows:
        raise ValueError(f"a number of texts other than {rows:,}")
    lengths = np.frombuffer(data, dtype="<u4", count=rows)
    whole = data[4 * rows :].decode("utf-8")
    ends = np.cumsum(lengths, dtype=np.int64)
    if (rows and int(lengths.max()) > MAX_TEXT) or (int(ends[-1]) if rows else 0) != len(whole):
        raise ValueError("a text that is too long, or too many texts")
    listed: list[int] = ends.tolist()
    return [whole[begin:end] for begin, end in zip([0, *listed[:-1]], listed, strict=True)]


def _inflated(blob: bytes, size: int | None) -> bytes:
    most = MAX_CHUNK_TEXT if size is None else size
    inflate = zlib.decompressobj()
    try:
        data = inflate.decompress(blob, most + 1)
    except zlib.error as error:
        raise ValueError(f"not compressed as expected ({error})") from error
    if len(data) > most or (size is not None and len(data) != size) or not inflate.eof or inflate.unused_data:
        raise ValueError("a wrong number of bytes")
    return data
