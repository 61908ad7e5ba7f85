"""The container: what is written comes back, and no other string of bytes does."""

from __future__ import annotations

import hashlib
import hmac
import io
import json
import struct
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tremula.cache import entry_file
from tremula.cache.entry_file import BadEntry, Entry, decode, encode
from tremula.cache.keys import key_of

KEY = key_of({"model": "net"})
SECRET = bytes(range(32))

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(1 << 80), 1 << 80)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda v: st.lists(v, max_size=3) | st.dictionaries(st.text(max_size=3), v, max_size=3),
    max_leaves=8,
)
METADATA = st.dictionaries(st.text(max_size=5), VALUES, max_size=4)
BLOBS = st.dictionaries(st.text(min_size=1, max_size=20), st.binary(max_size=60), max_size=4)


def written(metadata: Any, blobs: Any, secret: bytes = SECRET) -> bytes:
    return b"".join(encode(KEY, metadata, blobs, secret, 1.5))


def signed(document: Any, rest: bytes = b"", version: int = entry_file.FORMAT_VERSION) -> bytes:
    """A file with any header at all, signed with the right key."""
    header = document if isinstance(document, bytes) else json.dumps(document).encode()
    data = entry_file.MAGIC + struct.pack("<II", version, len(header)) + header + rest
    return data + hmac.new(SECRET, data, "sha256").digest()


@given(METADATA, BLOBS)
def test_what_is_written_comes_back(metadata: dict[str, Any], blobs: dict[str, bytes]) -> None:
    data = written(metadata, blobs)
    assert decode(KEY, data, SECRET) == Entry(KEY, metadata, blobs, 1.5)
    header = entry_file.read_header(io.BytesIO(data))
    assert header.metadata == metadata
    assert header.file_size == len(data)
    assert [(name, length) for name, length, _ in header.blobs] == [(n, len(b)) for n, b in blobs.items()]


SAMPLE = written({"torch": "2.13"}, {"so": b"\x7fELF" * 20, "program": b"{}"})


@given(st.integers(0, len(SAMPLE) - 1), st.integers(1, 255))
@example(12, 0xFF)
def test_a_changed_byte_makes_no_entry(place: int, change: int) -> None:
    data = bytearray(SAMPLE)
    data[place] ^= change
    with pytest.raises(BadEntry):
        decode(KEY, bytes(data), SECRET)


@given(st.integers(0, len(SAMPLE) - 1))
def test_a_shorter_file_makes_no_entry(length: int) -> None:
    with pytest.raises(BadEntry):
        decode(KEY, SAMPLE[:length], SECRET)


@given(st.binary(min_size=1, max_size=100))
def test_a_longer_file_makes_no_entry(more: bytes) -> None:
    for data in (SAMPLE + more, more + SAMPLE, SAMPLE[:40] + more + SAMPLE[40:]):
        with pytest.raises(BadEntry):
            decode(KEY, data, SECRET)


@given(st.binary(max_size=300))
def test_any_other_bytes_make_no_entry(data: bytes) -> None:
    for start in (b"", entry_file.MAGIC, SAMPLE[:16], SAMPLE[:60]):
        with pytest.raises(BadEntry):
            decode(KEY, start + data, SECRET)
        with pytest.raises(BadEntry):
            entry_file.read_header(io.BytesIO(b"#" + start + data))


@given(VALUES, st.binary(max_size=40))
def test_a_header_that_we_did_not_make_is_refused_even_when_signed(document: Any, rest: bytes) -> None:
    with pytest.raises(BadEntry):
        decode(KEY, signed(document, rest), SECRET)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"key": 3}, "header"),
        ({"key": "0" * 64}, "was renamed"),
        ({"created": float("inf")}, "header"),
        ({"created": True}, "header"),
        ({"created": -1}, "header"),
        ({"metadata": []}, "header"),
        ({"blobs": None}, "header"),
        ({"blobs": {"a": 1}}, "header"),
        ({"blobs": [["a", -1, ""]]}, "header"),
        ({"blobs": [["a", 1.0, ""]]}, "header"),
        ({"blobs": [["a", 1 << 70, ""]]}, "header"),
        ({"blobs": [["", 0, ""]]}, "header"),
        ({"blobs": [["a", 0, ""], ["a", 0, ""]]}, "header"),
        ({"blobs": [[str(i), 0, ""] for i in range(entry_file.MAX_BLOBS + 1)]}, "header"),
        ({"blobs": [["a", 10, ""]]}, "size differs"),
        ({"more": 1}, "header"),
    ],
)
def test_each_field_is_checked(change: dict[str, Any], reason: str) -> None:
    document = {"key": KEY, "created": 1.5, "blobs": [], "metadata": {}}
    assert decode(KEY, signed(document), SECRET).metadata == {}
    with pytest.raises(BadEntry, match=reason):
        decode(KEY, signed({**document, **change}), SECRET)


def test_a_header_that_nests_too_deep_is_refused() -> None:
    with pytest.raises(BadEntry, match="header"):
        decode(KEY, signed(b'{"metadata":' + b"[" * 100_000), SECRET)


def test_a_header_beyond_the_limit_is_not_read() -> None:
    claim = entry_file.MAGIC + struct.pack("<II", entry_file.FORMAT_VERSION, 0xFFFFFFFF)
    file = io.BytesIO(claim + bytes(entry_file.MAX_HEADER + 1000))
    with pytest.raises(BadEntry, match="gives a length of 4294967295 bytes"):
        entry_file.read_header(file)
    assert file.tell() <= len(claim) + entry_file.MAX_HEADER + 1


def test_reasons_tell_damage_from_another_hand_and_another_version() -> None:
    blob_changed = SAMPLE.replace(b"\x7fELF", b"\x7fELX", 1)
    another_hand = written({"torch": "2.13"}, {"so": b"evil"}, secret=bytes(32))
    newer = entry_file.MAGIC + struct.pack("<II", 2, 0) + bytes(32)
    for data, reason in (
        (blob_changed, "checksum of 'so'"),
        (SAMPLE[:-1], "cut short"),
        (SAMPLE[:5], "cut short"),
        (SAMPLE + b"x", "longer than the size"),
        (another_hand, "not signed with your key"),
        (newer, "of another version"),
        (b"", "empty"),
        (b"PK\3\4" * 50, "not a cache entry"),
    ):
        with pytest.raises(BadEntry, match=reason):
            decode(KEY, data, SECRET)
    with pytest.raises(BadEntry, match="not signed"):
        decode(KEY, SAMPLE, None)


def test_the_signature_covers_everything_before_it() -> None:
    assert SAMPLE[-32:] == hmac.new(SECRET, SAMPLE[:-32], hashlib.sha256).digest()


def test_more_than_a_file_may_hold_is_an_error_of_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="blobs"):
        written({}, {str(i): b"" for i in range(entry_file.MAX_BLOBS + 1)})
    with pytest.raises(ValueError, match="1 to 255 characters"):
        written({}, {"": b""})
    with pytest.raises(TypeError):
        written({"model": object()}, {})
    with pytest.raises(ValueError, match="JSON"):
        written({"scale": float("nan")}, {})
    monkeypatch.setattr(entry_file, "MAX_HEADER", 200)
    with pytest.raises(ValueError, match="200 are allowed"):
        written({"text": "x" * 200}, {})
