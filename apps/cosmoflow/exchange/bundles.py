"""Checkpoints of TensorFlow, as `tf.train.Saver`, estimators and `save_weights` write them.

`NAME.index` is a table: for each tensor its type, shape, place and checksum. Numbers lie in one or more files beside
it, `NAME.data-00000-of-00001`. Nothing in them is executed: entries are numbers, and each is checked before it is used.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosmoflow.exchange.checksums import masked
from cosmoflow.exchange.layers import BadWeights
from cosmoflow.exchange.tables import MOST_BYTES, BadTable, encoded, number, read_table, table
from tremula.atomic_files import atomic_open_binary

#: numbers of types in TensorFlow's format
_TYPES: dict[int, np.dtype[Any]] = {
    1: np.dtype("<f4"),
    2: np.dtype("<f8"),
    9: np.dtype("<i8"),
    19: np.dtype("<f2"),
}
_LATEST = re.compile(r'^model_checkpoint_path: "([^"\\]+)"$', re.MULTILINE)
#: fields of the header: shards, endianness; of an entry: type, shape, shard, place, size, checksum, slices
_SHARDS, _ENDIANNESS = 1, 2
_TYPE, _SHAPE, _SHARD, _OFFSET, _SIZE, _CHECKSUM, _SLICES = range(1, 8)


@dataclass(frozen=True)
class Entry:
    """Where a tensor lies.

    Attributes:
        dtype: the number of its type.
        shape: its shape.
        shard: which of the files with numbers.
        offset: the place in it.
        size: its bytes.
        checksum: that of its bytes.
        sliced: whether it lies in several pieces.
    """

    dtype: int
    shape: tuple[int, ...]
    shard: int
    offset: int
    size: int
    checksum: int
    sliced: bool


class Bundle:
    """A checkpoint that is read.

    Args:
        path: its name, its index, or a folder, whose newest checkpoint is taken.

    Raises:
        BadWeights: it is missing, damaged or no checkpoint.
    """

    def __init__(self, path: Path) -> None:
        self.prefix = _prefix(path)
        self._index = self.prefix.with_name(f"{self.prefix.name}.index")
        try:
            if self._index.stat().st_size > MOST_BYTES:
                raise BadWeights(
                    self._index, "", f"has more than {MOST_BYTES >> 20} MB; no index is so large."
                )
            rows = read_table(self._index.read_bytes())
            header = dict(_fields(rows.pop(b"", b"")))
            self.entries = {key.decode(errors="replace"): _entry(value) for key, value in rows.items()}
        except FileNotFoundError:
            raise BadWeights(self._index, "", "there is no such checkpoint.") from None
        except (BadTable, TypeError) as problem:
            raise BadWeights(
                self._index, "", f"is damaged or no checkpoint of TensorFlow: {problem}."
            ) from problem
        self._shards = header.get(_SHARDS, 0)
        if header.get(_ENDIANNESS, 0) or not isinstance(self._shards, int) or not 0 < self._shards < 100_000:
            raise BadWeights(self._index, "header", "is not that of a checkpoint with little-endian numbers.")

    def read(self, name: str, shape: tuple[int, ...]) -> NDArray[Any]:
        """A tensor, which has to have this shape.

        Raises:
            BadWeights: it has not, or cannot be read.
        """
        entry = self.entries[name]
        dtype = _TYPES.get(entry.dtype)
        if entry.shape != shape:
            raise BadWeights(
                self._index, name, f"has the shape {list(entry.shape)}; the network needs {list(shape)}."
            )
        if dtype is None or dtype.kind != "f" or entry.sliced:
            raise BadWeights(self._index, name, "is not a complete array of 16, 32 or 64 bit floats.")
        if entry.size != math.prod(shape) * dtype.itemsize or entry.shard >= self._shards:
            raise BadWeights(self._index, name, "has an entry that contradicts itself: the index is damaged.")
        path = self.prefix.with_name(f"{self.prefix.name}.data-{entry.shard:05d}-of-{self._shards:05d}")
        try:
            with open(path, "rb") as file:
                file.seek(entry.offset)
                data = file.read(entry.size)
        except FileNotFoundError:
            raise BadWeights(path, name, "the file is missing; it belongs to the index beside it.") from None
        except (OSError, OverflowError, ValueError) as problem:
            raise BadWeights(path, name, f"cannot be read ({problem}).") from problem
        if len(data) != entry.size:
            raise BadWeights(path, name, "the file ends before the end of the array: it is cut off.")
        if masked(data) != entry.checksum:
            raise BadWeights(path, name, "the checksum is wrong: the file is damaged.")
        return np.frombuffer(data, dtype)


def write_bundle(prefix: Path, arrays: dict[str, NDArray[Any]]) -> None:
    """Write a checkpoint, the index last: without it there is none. Checksums tell an index from numbers of another.

    Args:
        prefix: its name, without an ending.
        arrays: name -> array of float32, or int64.
    """
    codes = {dtype: code for code, dtype in _TYPES.items()}
    rows = {b"": b"\x08\x01\x1a\x02\x08\x01"}  # one shard, version 1
    offset = 0
    prefix.parent.mkdir(parents=True, exist_ok=True)
    with atomic_open_binary(prefix.with_name(f"{prefix.name}.data-00000-of-00001")) as file:
        for name, array in sorted(arrays.items()):
            data = np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()
            file.write(data)
            dims = b"".join(b"\x12" + _text(b"\x08" + encoded(size)) for size in array.shape)
            rows[name.encode()] = (
                b"\x08" + encoded(codes[array.dtype]) + b"\x12" + _text(dims)
                + b"\x20" + encoded(offset) + b"\x28" + encoded(len(data))
                + b"\x35" + masked(data).to_bytes(4, "little")
            )  # fmt: skip
            offset += len(data)
    with atomic_open_binary(prefix.with_name(f"{prefix.name}.index")) as file:
        file.write(table(rows))


def is_checkpoint(path: Path) -> bool:
    """Whether a path is meant to be a checkpoint of TensorFlow."""
    return path.is_dir() or path.suffix == ".index" or path.with_name(f"{path.name}.index").is_file()


def _prefix(path: Path) -> Path:
    if path.is_dir():
        listed = path / "checkpoint"
        try:
            with open(listed, "rb") as file:
                found = _LATEST.search(file.read(1 << 16).decode(errors="replace"))
        except OSError as problem:
            raise BadWeights(listed, "", f"cannot be read ({problem.strerror}); name a checkpoint.") from None
        if found is None:
            raise BadWeights(listed, "", "does not name a newest checkpoint; name one yourself.")
        # programs write absolute paths, which change when a folder is moved
        return path / Path(found[1]).name
    return path.with_suffix("") if path.suffix == ".index" else path


def _text(data: bytes) -> bytes:
    return encoded(len(data)) + data


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """Fields of a message: number, and a whole number or bytes."""
    place = 0
    while place < len(data):
        tag, place = number(data, place)
        kind = tag & 7
        if kind == 0:
            value, place = number(data, place)
            yield tag >> 3, value
            continue
        size = 4
        if kind == 2:
            size, place = number(data, place)
        elif kind != 5:
            raise BadTable(f"a field of kind {kind} is not known in checkpoints")
        if place + size > len(data):
            raise BadTable("a field reaches beyond its entry")
        piece = data[place : place + size]
        yield tag >> 3, piece if kind == 2 else int.from_bytes(piece, "little")
        place += size


def _entry(data: bytes) -> Entry:
    values: dict[int, Any] = {}
    for field, value in _fields(data):
        values[field] = value
        if isinstance(value, bytes) != (field in (_SHAPE, _SLICES)):
            raise BadTable(f"field {field} of an entry is of a wrong kind")
    shape = []
    for field, dimension in _fields(values.get(_SHAPE, b"")):
        if field == 2 and isinstance(dimension, bytes):
            size = dict(_fields(dimension)).get(1, 0)
            if not isinstance(size, int):
                raise BadTable("a shape is of a wrong kind")
            shape.append(size)
    shard, offset, size, checksum = (values.get(field, 0) for field in (_SHARD, _OFFSET, _SIZE, _CHECKSUM))
    return Entry(values.get(_TYPE, 0), tuple(shape), shard, offset, size, checksum, _SLICES in values)
