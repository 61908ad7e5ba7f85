"""Which of the host's network addresses the instances talk over.

By default gloo takes the address that the host's name resolves to, which fails on a machine without a network or
with a name that nobody knows. Instances of one host talk over the loopback; others over the address from which the
meeting point is reached.
"""

from __future__ import annotations

import ipaddress
import os
import socket
from typing import Any

from torch._C._distributed_c10d import ProcessGroupGloo

from tremula.distributed import launched

_LOOPBACK = "127.0.0.1"


def device() -> Any:
    """The gloo device to talk over. GLOO_SOCKET_IFNAME names an interface, as it does for torch."""
    named = os.environ.get("GLOO_SOCKET_IFNAME", "").split(",")[0].strip()
    if named:
        return ProcessGroupGloo.create_device(interface=named)
    address = own_address()
    if address is None:
        return ProcessGroupGloo.create_default_device()
    return ProcessGroupGloo.create_device(hostname=address)


def own_address() -> str | None:
    """The address to listen on; None if it cannot be told."""
    if launched.on_one_host():
        return _LOOPBACK
    address = _source_for(os.environ.get("MASTER_ADDR", "localhost"), os.environ.get("MASTER_PORT", "1"))
    if address is None or not _is_loopback(address):
        return address
    # A meeting point on the loopback is for this host alone. A host's own name may also resolve to it, though,
    # and then other hosts cannot use it.
    return _LOOPBACK if launched.number("LOCAL_WORLD_SIZE", 0) == 0 else None


def _source_for(host: str, port: str) -> str | None:
    """The address that packets to a host leave from; none is sent."""
    try:
        for family, kind, protocol, _, target in socket.getaddrinfo(host, int(port), type=socket.SOCK_DGRAM):
            with socket.socket(family, kind, protocol) as probe:
                probe.connect(target)
                return str(probe.getsockname()[0])
    except (OSError, ValueError):
        pass
    return None


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False
