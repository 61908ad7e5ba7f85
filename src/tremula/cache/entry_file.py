"""The file of one entry: a signed container for named blobs of bytes and their description.

Layout (little endian): 8 bytes of magic, format version (u32), length of the header (u32), the header (JSON:
key, time, blobs with name, length and SHA-256, metadata), the blobs one after the other, and 32 bytes of
HMAC-SHA256 over all that precedes. Nothing is compressed and nothing is executed to read it.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any

MAGIC = b"TREMULA\x1a"
FORMAT_VERSION = 1

MAX_HEADER = 16 << 20
MAX_BLOBS = 4096
MAX_NAME = 255
#: a file beyond this size is not read into memory, whatever it claims to be
MAX_FILE = 16 << 30

_PREFIX = struct.Struct("<8sII")
_TAG = hashlib.sha256().digest_size
_FIELDS = {"key", "created", "blobs", "metadata"}


class BadEntry(ValueError):
    """A file that is not a valid entry. The text gives the reason, to follow "it is ignored:"."""


@dataclass(frozen=True)
class Entry:
    """An entry whose bytes have been verified."""

    key: str
    metadata: dict[str, Any]
    blobs: dict[str, bytes]
    created: float = 0.0  #: when it was made, in seconds since 1970


@dataclass(frozen=True)
class Header:
    """The header of a file. Do not trust it before the signature is checked."""

    key: str
    created: float
    #: name, length and SHA-256 (hexadecimal) of each blob, in the order of the file
    blobs: tuple[tuple[str, int, str], ...]
    metadata: dict[str, Any]
    end: int  #: where the blobs begin

    @property
    def file_size(self) -> int:
        """The size that a file with this header has."""
        return self.end + sum(length for _, length, _ in self.blobs) + _TAG


def encode(
    key: str, metadata: Mapping[str, Any], blobs: Mapping[str, bytes], secret: bytes, created: float
) -> Iterator[bytes]:
    """The bytes of the file, in pieces.

    Raises ValueError if it is more than a file may hold, TypeError if the metadata is not JSON data.
    """
    if len(blobs) > MAX_BLOBS:
        raise ValueError(f"an entry contains at most {MAX_BLOBS} blobs, not {len(blobs)}")
    for name in blobs:
        if not isinstance(name, str) or not 0 < len(name) <= MAX_NAME:
            raise ValueError(f"the name of a blob must have 1 to {MAX_NAME} characters: {name!r:.300}")
    document = {
        "key": key,
        "created": created,
        "blobs": [[name, len(blob), hashlib.sha256(blob).hexdigest()] for name, blob in blobs.items()],
        "metadata": dict(metadata),
    }
    header = json.dumps(document, allow_nan=False, separators=(",", ":")).encode("ascii")
    if len(header) > MAX_HEADER:
        raise ValueError(f"the description of an entry takes {len(header)} bytes; {MAX_HEADER} are allowed")
    signature = hmac.new(secret, digestmod="sha256")
    for piece in (_PREFIX.pack(MAGIC, FORMAT_VERSION, len(header)), header, *blobs.values()):
        signature.update(piece)
        yield piece
    yield signature.digest()


def decode(key: str, data: bytes, secret: bytes | None) -> Entry:
    """The entry `key` out of the bytes of its file, after their signature was found good; else BadEntry."""
    _check_prefix(data)
    view = memoryview(data)
    if secret is None or not hmac.compare_digest(
        hmac.new(secret, view[:-_TAG], "sha256").digest(), bytes(view[-_TAG:])
    ):
        raise BadEntry(_why_unsigned(data))
    header = _parse(data)
    if header.file_size != len(data):
        raise BadEntry("corrupt: its size differs from the size in its header")
    if header.key != key:
        raise BadEntry("the file was renamed")
    blobs = {}
    place = header.end
    for name, length, _ in header.blobs:  # the signature vouches for the blobs; their sums are for diagnosis
        blobs[name] = bytes(view[place : place + length])
        place += length
    return Entry(key, header.metadata, blobs, header.created)


def read_header(file: IO[bytes]) -> Header:
    """The unverified header of an open file. Reads nothing else.

    Raises BadEntry if it has no header that can be read.
    """
    start = file.read(_PREFIX.size)
    _check_prefix(start, whole=False)
    length = _PREFIX.unpack(start)[2]
    return _parse(start + file.read(min(length, MAX_HEADER + 1)))


def _check_prefix(data: bytes, whole: bool = True) -> None:
    if len(data) < len(MAGIC) or not data.startswith(MAGIC):
        if data and MAGIC.startswith(data):
            raise BadEntry("corrupt: cut short")
        raise BadEntry("empty" if not data else "not a cache entry")
    if len(data) < _PREFIX.size + (_TAG if whole else 0):
        raise BadEntry("corrupt: cut short")
    version = _PREFIX.unpack_from(data)[1]
    if version != FORMAT_VERSION:
        raise BadEntry(f"of another version: its format is {version}, this Tremula reads {FORMAT_VERSION}")


def _parse(data: bytes) -> Header:
    """The header in the first bytes of a file, every field checked."""
    length = _PREFIX.unpack_from(data)[2]
    if length > MAX_HEADER:
        raise BadEntry(f"corrupt: its header gives a length of {length} bytes")
    end = _PREFIX.size + length
    if len(data) < end:
        raise BadEntry("corrupt: cut short")
    try:
        document = json.loads(data[_PREFIX.size : end].decode("ascii"), parse_constant=_no_constant)
        if not isinstance(document, dict) or set(document) != _FIELDS:
            raise ValueError("fields")
        key, created, metadata = document["key"], document["created"], document["metadata"]
        if not isinstance(key, str) or not isinstance(metadata, dict):
            raise ValueError("types")
        if type(created) not in (int, float) or not (math.isfinite(created) and 0 <= created < 1e12):
            raise ValueError("time")
        blobs = tuple(_blob(row) for row in document["blobs"])
        if len(blobs) > MAX_BLOBS or len({name for name, _, _ in blobs}) != len(blobs):
            raise ValueError("blobs")
    except (ValueError, TypeError, OverflowError, RecursionError):
        raise BadEntry("corrupt: its header cannot be read") from None
    return Header(key, float(created), blobs, metadata, end)


def _blob(row: Any) -> tuple[str, int, str]:
    name, length, checksum = row
    if not isinstance(name, str) or not isinstance(checksum, str):
        raise ValueError("blob")
    if not 0 < len(name) <= MAX_NAME or type(length) is not int or not 0 <= length <= MAX_FILE:
        raise ValueError("blob")
    return name, length, checksum


def _why_unsigned(data: bytes) -> str:
    """The most likely reason for a wrong signature: damage, or another writer."""
    try:
        header = _parse(data)
    except BadEntry as problem:
        return str(problem)
    if header.file_size != len(data):
        return (
            "corrupt: cut short"
            if len(data) < header.file_size
            else "corrupt: longer than the size in its header"
        )
    place = header.end
    for name, length, checksum in header.blobs:
        if hashlib.sha256(memoryview(data)[place : place + length]).hexdigest() != checksum:
            return f"corrupt: checksum of {name!a:.100} does not match"
        place += length
    return "not signed with your key: it was changed, written by another user, or written with an older key"


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
