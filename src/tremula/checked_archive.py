"""Zip archives of one JSON document and one array per column, and nothing else, checked when they are read.

Entries, sizes, headers of arrays and the format of the document are checked before any of it is used; what the document
says is the caller's to check. Nothing is executed, and no more is unpacked than the archive says it holds.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from numpy.lib import format as npy
from numpy.typing import NDArray

from tremula.checked_json import BadValue
from tremula.errors import Error

Arrays = dict[str, NDArray[Any]]

_LONGEST_HEADER = 1000
_PACKING = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
#: the same date in every entry, so that equal contents give equal files
_DATE = (1980, 1, 1, 0, 0, 0)


def write_archive(
    file: str | Path | BinaryIO, name: str, document: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Write a document under the name `name`, and arrays beside it.

    Raises:
        OSError: the file cannot be written.
    """
    mode = "x" if isinstance(file, str | Path) else "w"
    with zipfile.ZipFile(file, mode, zipfile.ZIP_DEFLATED, compresslevel=3) as archive:  # type: ignore[call-overload]
        text = json.dumps(document, allow_nan=False)
        archive.writestr(_entry(name), text.encode("utf-8"))
        for column, array in arrays.items():
            buffer = io.BytesIO()
            npy.write_array(buffer, array, allow_pickle=False)
            archive.writestr(_entry(f"{column}.npy"), buffer.getvalue())


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _DATE)
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry


class Kind:
    """One kind of archive: its document's name and format, what it is called, and how large it may be."""

    def __init__(self, name: str, format: str, version: int, what: str, largest: int, remedy: str) -> None:
        self.name, self.format, self.version, self.what = name, format, version, what
        self.largest = largest
        #: what to do about a file that cannot be used
        self.remedy = remedy

    def is_one(self, path: str | Path) -> bool:
        """Whether a file looks like one."""
        try:
            with zipfile.ZipFile(path) as archive:
                return self.name in archive.namelist()
        except (OSError, zipfile.BadZipFile):
            return False

    def head(self) -> dict[str, Any]:
        """How a document begins."""
        return {"format": self.format, "version": self.version}

    def read(self, file: str | Path | BinaryIO, label: str) -> tuple[dict[str, Any], Arrays]:
        """The document and the arrays of an archive, which `label` names in errors.

        Raises:
            Error: it is not such an archive, of another version, or damaged.
        """
        try:
            with zipfile.ZipFile(file) as archive:
                return self._read(archive, label)
        except FileNotFoundError:
            raise Error(f"{label} does not exist.") from None
        except (OSError, zipfile.BadZipFile, zlib.error, EOFError) as problem:
            raise Error(f"{label} is not {self.what}: {problem}.") from None
        except (BadValue, KeyError, TypeError, ValueError, RecursionError, NotImplementedError) as problem:
            raise self.damaged(label, problem) from None

    def damaged(self, label: str, problem: Exception) -> Error:
        """The error about contents that make no sense. It is returned, not raised."""
        return Error(f"{label} is damaged: {str(problem)[:300]}. {self.remedy}.")

    def _read(self, archive: zipfile.ZipFile, label: str) -> tuple[dict[str, Any], Arrays]:
        entries = archive.infolist()
        names = [entry.filename for entry in entries]
        if self.name not in names:
            raise Error(f"{label} is not {self.what}.")
        if len(set(names)) != len(names) or any(n != self.name and not n.endswith(".npy") for n in names):
            raise BadValue("it holds something that does not belong there")
        if any(entry.flag_bits & 1 or entry.compress_type not in _PACKING for entry in entries):
            raise BadValue(f"it is encrypted, or packed in another way than {self.what}")
        size = sum(entry.file_size for entry in entries)
        if size > self.largest:
            raise Error(f"{label} unpacks to {size:,} bytes, more than {self.what} has. Is it another file?")
        document = json.loads(_bytes(archive, self.name))
        if not isinstance(document, dict) or document.get("format") != self.format:
            raise Error(f"{label} is not {self.what}.")
        if document.get("version") != self.version:
            raise Error(
                f"{label} has version {str(document.get('version'))[:20]} of the file format; this version of Tremula "
                f"reads version {self.version}. {self.remedy}."
            )
        arrays = {}
        for name in names:
            if name != self.name:
                arrays[name.removesuffix(".npy")] = _array(_bytes(archive, name), name)
        return document, arrays


def _array(data: bytes, name: str) -> NDArray[Any]:
    """An array of an entry, whose header claims no more than there is."""
    file = io.BytesIO(data)
    try:
        if npy.read_magic(file) != (1, 0):
            raise ValueError("another version")
        shape, _, dtype = npy.read_array_header_1_0(file, max_header_size=_LONGEST_HEADER)
        if math.prod(shape) * dtype.itemsize != len(data) - file.tell():
            raise ValueError("another size")
        file.seek(0)
        found: NDArray[Any] = npy.read_array(file, allow_pickle=False, max_header_size=_LONGEST_HEADER)
    except Exception:  # numpy parses the header as Python does, and raises what that raises
        raise BadValue(f"{name[:80]} is not an array") from None
    return found


def _bytes(archive: zipfile.ZipFile, name: str) -> bytes:
    """An entry, of which no more is unpacked than it says it has."""
    size = archive.getinfo(name).file_size
    with archive.open(name) as entry:
        data = entry.read(size + 1)
    if len(data) != size:
        raise BadValue(f"{name} has another size than it says")
    return data
