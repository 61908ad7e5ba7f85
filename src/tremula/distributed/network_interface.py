"""The network address over which the instances communicate.

By default gloo takes the address that the host's name resolves to. That fails on a machine without a network or with
a name that does not resolve. Instances of one host use the loopback address; others use the address from which packets
reach the store.
"""

from __future__ import annotations

import ipaddress
import os
import socket
from typing import Any

from torch._C._distributed_c10d import ProcessGroupGloo

from tremula.distributed import launch_environment, protocol

_LOOPBACK = "127.0.0.1"


def device() -> Any:
    """The gloo device. GLOO_SOCKET_IFNAME names an interface, as it does for torch."""
    named = os.environ.get("GLOO_SOCKET_IFNAME", "").split(",")[0].strip()
    if named:
        return ProcessGroupGloo.create_device(interface=named)
    address = own_address()
    if address is None:
        return ProcessGroupGloo.create_default_device()
    return ProcessGroupGloo.create_device(hostname=address)


def own_address() -> str | None:
    """The address to listen on; None if it is unknown."""
    if launch_environment.on_one_host():
        return _LOOPBACK
    address = _source_for(
        os.environ.get(protocol.STORE_ADDRESS, "localhost"), os.environ.get(protocol.STORE_PORT, "1")
    )
    if address is None or not _is_loopback(address):
        return address
    # A store on the loopback serves this host alone. But a host's own name may also resolve to the loopback, and then
    # other hosts cannot use the address.
    return _LOOPBACK if launch_environment.number(protocol.LOCAL_WORLD_SIZE, 0) == 0 else None


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
