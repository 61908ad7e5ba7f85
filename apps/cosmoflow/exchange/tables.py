"""The sorted tables of keys and values that an index of TensorFlow's checkpoints is (the format of LevelDB).

A table is a row of blocks and a footer. A block holds entries whose keys share a beginning with the key before, then
the places where a whole key stands, then a byte for the compression and a checksum. The last block of all names the
others.
"""

from __future__ import annotations

from collections.abc import Iterator

from cosmoflow.exchange.checksums import masked

_MAGIC = bytes.fromhex("57fb808b247547db")
_FOOTER = 48
#: an entry of a checkpoint is far smaller, and a network has a few dozen
MOST_BYTES, MOST_ENTRIES = 1 << 24, 100_000


class BadTable(ValueError):
    """A table is damaged; the text says where."""


def number(data: bytes, place: int) -> tuple[int, int]:
    """A whole number of variable length, and the place behind it.

    Raises:
        BadTable: it does not end.
    """
    value = shift = 0
    while place < len(data) and shift < 70:
        octet = data[place]
        value |= (octet & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if octet < 0x80:
            return value, place
    raise BadTable(f"a number at byte {place} does not end")


def encoded(value: int) -> bytes:
    """A whole number in its variable length."""
    octets = bytearray()
    while value > 0x7F:
        octets.append(value & 0x7F | 0x80)
        value >>= 7
    octets.append(value)
    return bytes(octets)


def read_table(data: bytes) -> dict[bytes, bytes]:
    """All entries of a table.

    Raises:
        BadTable: it is damaged, compressed or no table.
    """
    if len(data) < _FOOTER or not data.endswith(_MAGIC):
        raise BadTable("the end is not that of an index: the file is cut off or of another kind")
    footer = data[-_FOOTER:]
    _, place = number(footer, 0)
    _, place = number(footer, place)
    begin, place = number(footer, place)
    size, _ = number(footer, place)
    entries: dict[bytes, bytes] = {}
    for _, handle in _entries(_block(data, begin, size)):
        begin, place = number(handle, 0)
        size, _ = number(handle, place)
        for key, value in _entries(_block(data, begin, size)):
            if key in entries:
                raise BadTable(f"{key[:60]!r} is there twice")
            entries[key] = value
            if len(entries) > MOST_ENTRIES:
                raise BadTable(f"there are more than {MOST_ENTRIES} entries")
    return entries


def table(entries: dict[bytes, bytes]) -> bytes:
    """A table of these entries, in one block."""
    data = bytearray()

    def add(block: bytes) -> bytes:
        begin = len(data)
        data.extend(block + b"\0")
        data.extend(masked(bytes(data[begin:])).to_bytes(4, "little"))
        return encoded(begin) + encoded(len(block))

    rows = sorted(entries.items())
    whole = add(_made(rows))
    meta = add(_made([]))
    index = add(_made([(rows[-1][0] + b"\0", whole)]))
    return bytes(data + (meta + index).ljust(_FOOTER - len(_MAGIC), b"\0") + _MAGIC)


def _block(data: bytes, begin: int, size: int) -> bytes:
    end = begin + size + 5
    if end > len(data) - _FOOTER:
        raise BadTable(f"a block of {size} bytes at byte {begin} reaches beyond the end")
    if masked(data[begin : end - 4]) != int.from_bytes(data[end - 4 : end], "little"):
        raise BadTable(f"the checksum of the block at byte {begin} is wrong")
    if data[end - 5]:
        raise BadTable(f"the block at byte {begin} is compressed, which TensorFlow's checkpoints are not")
    return data[begin : begin + size]


def _entries(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    restarts = int.from_bytes(block[-4:], "little")
    end = len(block) - 4 - 4 * restarts
    if len(block) < 4 or end < 0:
        raise BadTable("a block is too short for its own list")
    place, key = 0, b""
    while place < end:
        shared, place = number(block, place)
        own, place = number(block, place)
        length, place = number(block, place)
        if shared > len(key) or place + own + length > end:
            raise BadTable(f"the entry behind {key[:60]!r} reaches beyond its block")
        key = key[:shared] + block[place : place + own]
        place += own
        yield key, block[place : place + length]
        place += length


def _made(rows: list[tuple[bytes, bytes]]) -> bytes:
    data, places = bytearray(), []
    for key, value in rows:
        places.append(len(data))
        data += b"\0" + encoded(len(key)) + encoded(len(value)) + key + value
    places = places or [0]
    return bytes(data) + b"".join(place.to_bytes(4, "little") for place in [*places, len(places)])
