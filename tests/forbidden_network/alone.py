"""Runs a command in a network namespace of its own, in which there is the loopback interface and nothing else.

    python alone.py command arguments ...

Exit code 125 if the system does not allow it.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
import sys

_NEW_NETWORK = 0x40000000
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 1


def isolate() -> None:
    """Leave the network behind; raises OSError or AttributeError if that is not allowed."""
    if ctypes.CDLL(None, use_errno=True).unshare(_NEW_NETWORK):
        raise OSError(ctypes.get_errno(), "unshare")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sH14x", b"lo", 0)
        flags = struct.unpack("16sH14x", fcntl.ioctl(any_socket, _GET_FLAGS, request))[1]
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sH14x", b"lo", flags | _UP))


if __name__ == "__main__":
    try:
        isolate()
    except (OSError, AttributeError) as problem:
        sys.stderr.write(f"no network namespace: {problem}\n")
        sys.exit(125)
    os.execvp(sys.argv[1], sys.argv[1:])
