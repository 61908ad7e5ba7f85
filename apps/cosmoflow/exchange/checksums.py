"""CRC-32C, the checksum of TensorFlow's files, with numpy.

Large data is cut into parts of one length, whose checksums are computed side by side and joined at the end.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

_POLYNOMIAL = 0x82F63B78
_MASK_DELTA = 0xA282EAD8
_ONES = 0xFFFFFFFF
#: parts of large data
_PARTS = 4096


@functools.cache
def _table() -> NDArray[np.uint32]:
    values = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        values = np.where(values & 1, (values >> 1) ^ np.uint32(_POLYNOMIAL), values >> 1).astype(np.uint32)
    return values


def crc32c(data: bytes | memoryview) -> int:
    """The checksum of some data."""
    octets = np.frombuffer(data, np.uint8)
    length = len(octets) // _PARTS
    state = _ONES
    if length:
        parts = octets[: length * _PARTS].reshape(_PARTS, length).T.copy()
        table, found = _table(), np.zeros(_PARTS, np.uint32)
        found[0] = state
        for row in parts:
            found = table[(found ^ row) & 0xFF] ^ (found >> 8)
        state = _joined(found, length)
        octets = octets[length * _PARTS :]
    plain = _table().tolist()
    for octet in octets.tolist():
        state = plain[(state ^ octet) & 0xFF] ^ (state >> 8)
    return state ^ _ONES


def masked(data: bytes | memoryview) -> int:
    """The checksum as the files have it."""
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + _MASK_DELTA) & _ONES


def _joined(found: NDArray[np.uint32], length: int) -> int:
    """The state after all parts, from those after each part alone. A state changes linearly over bytes of zero."""
    columns = [_over_zeros(1 << bit, length) for bit in range(32)]
    state = 0
    for part in found.tolist():
        moved = 0
        for bit, column in enumerate(columns):
            if state >> bit & 1:
                moved ^= column
        state = moved ^ part
    return state


def _over_zeros(state: int, length: int) -> int:
    table = _table().tolist()
    for _ in range(length):
        state = table[state & 0xFF] ^ (state >> 8)
    return state
