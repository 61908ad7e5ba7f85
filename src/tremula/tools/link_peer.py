"""The other end of a link under test: a separate process that checks the data that it receives and sends data back.

It is run as a file with the number of an inherited socket, and imports only the standard library so that it starts
quickly. Blocks contain their sender and number, so lost, doubled and changed blocks are detected.
"""

from __future__ import annotations

import socket
import struct
import subprocess
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

#: size of blocks, number of blocks
HEAD = struct.Struct("<QQ")
#: number of the block, checksum of the rest
HEADER = struct.Struct("<QI4x")
#: blocks that the peer found wrong
VERDICT = struct.Struct("<Q")


def block_of(number: int, size: int, salt: int) -> bytes:
    """A block of `size` bytes that says which it is."""
    body = bytes([(number * 31 + salt) & 0xFF]) * (size - HEADER.size)
    return HEADER.pack(number, zlib.crc32(body)) + body


def is_intact(block: bytes | memoryview, number: int) -> bool:
    """Whether it is that block, whole."""
    found, checksum = HEADER.unpack_from(block)
    return bool(found == number and checksum == zlib.crc32(block[HEADER.size :]))


def receive_into(channel: socket.socket, view: memoryview) -> bool:
    """Fill `view`; False if the other end is gone."""
    position = 0
    while position < len(view):
        got = channel.recv_into(view[position:])
        if not got:
            return False
        position += got
    return True


@contextmanager
def peer() -> Iterator[socket.socket]:
    """Start the other end; gives the channel to it."""
    here, there = socket.socketpair()
    command = [sys.executable, "-I", __file__, str(there.fileno())]
    try:
        with subprocess.Popen(command, pass_fds=[there.fileno()], stdin=subprocess.DEVNULL) as process:
            there.close()
            try:
                yield here
            finally:
                here.close()
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()
    finally:
        here.close()


def exchange(channel: socket.socket, count: int, size: int) -> int:
    """Send `count` blocks and take as many back; how many were wrong at either end.

    Raises ConnectionError if the other end is gone.
    """
    channel.sendall(HEAD.pack(size, count))
    buffer = memoryview(bytearray(size))
    wrong = 0
    for number in range(count):
        channel.sendall(block_of(number, size, 1))
        if not receive_into(channel, buffer):
            raise ConnectionError(f"the other end of the link ended at block {number}")
        wrong += not is_intact(buffer, number)
    verdict = memoryview(bytearray(VERDICT.size))
    if not receive_into(channel, verdict):
        raise ConnectionError("the other end of the link sent no result")
    return wrong + int(VERDICT.unpack(verdict)[0])


def serve(channel: socket.socket) -> None:
    """Be the other end, until the first one leaves."""
    head = memoryview(bytearray(HEAD.size))
    while receive_into(channel, head):
        size, count = HEAD.unpack(head)
        buffer = memoryview(bytearray(size))
        wrong = 0
        for number in range(count):
            reply = block_of(number, size, 2)
            if not receive_into(channel, buffer):
                return
            wrong += not is_intact(buffer, number)
            channel.sendall(reply)
        channel.sendall(VERDICT.pack(wrong))


if __name__ == "__main__":
    import contextlib

    with contextlib.suppress(OSError, KeyboardInterrupt), socket.socket(fileno=int(sys.argv[1])) as inherited:
        serve(inherited)
