"""Forbids a Python process the network: a folder with this file on PYTHONPATH does it for all processes of a command.

The loopback addresses and Unix sockets stay allowed. Looking up a name is not, not even this host's own: the answer may
come from a server. What was tried goes into the file FORBIDDEN_NETWORK_LOG with its stack, and fails as it does on a
machine without a network.
"""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
import sys
import traceback
from typing import Any


def is_loopback(host: object) -> bool:
    """Whether reaching a host needs no network."""
    text = host.decode(errors="replace") if isinstance(host, bytes) else str(host)
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return text == "localhost"
    return address.is_loopback or address.is_unspecified


def is_address(host: object) -> bool:
    """Whether nothing has to be looked up."""
    try:
        ipaddress.ip_address(host.decode() if isinstance(host, bytes) else str(host).partition("%")[0])
    except ValueError:
        return host in (None, "", b"", "localhost", b"localhost")
    return True


def watch(event: str, arguments: tuple[Any, ...]) -> None:
    """The audit hook: every connection and look-up that Python code asks for."""
    if event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
        peer, address = arguments
        if peer.family not in (socket.AF_INET, socket.AF_INET6) or address is None or is_loopback(address[0]):
            return
    elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
        if is_address(arguments[0]):
            return
    elif event not in ("socket.gethostbyaddr", "socket.getnameinfo"):
        return
    shown = [repr(each) for each in arguments if not isinstance(each, socket.socket)]
    stack = "".join(traceback.format_stack(sys._getframe(1)))
    with open(os.environ["FORBIDDEN_NETWORK_LOG"], "a", encoding="utf-8") as log:
        log.write(f"{event}({', '.join(shown)}) in {sys.argv}\n{stack}")
    raise OSError(errno.ENETUNREACH, "the test forbids the network")


if "FORBIDDEN_NETWORK_LOG" in os.environ:
    sys.addaudithook(watch)
