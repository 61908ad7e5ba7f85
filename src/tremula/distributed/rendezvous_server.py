"""The key-value store of a run, as the launcher serves it, so that no two runs need the same port.

It listens before an instance starts, at an address that all hosts reach, or at the loopback address where there is
one host only. Instances write notes for the launcher into it.
"""

from __future__ import annotations

import datetime
import socket

from torch._C._distributed_c10d import PrefixStore, TCPStore

from tremula.distributed import protocol

_TIMEOUT = datetime.timedelta(seconds=30)


class RendezvousServer:
    """A store that is open while the run lasts; OSError if the address is not one of this machine."""

    def __init__(self, address: str, instances: int) -> None:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with socket.create_server((address, 0), family=family, backlog=4096) as listener:
            self.address, self.port = address, int(listener.getsockname()[1])
            # the store takes over this socket, so that no other process can take the port in between
            self._store = TCPStore(
                address,
                self.port,
                is_master=True,
                wait_for_workers=False,
                timeout=_TIMEOUT,
                master_listen_fd=listener.detach(),
            )
        self._notes = PrefixStore(protocol.STORE_PREFIX, self._store)
        self._instances = instances

    def notes(self, name: str) -> dict[int, str]:
        """The notes with this name: what each instance wrote that wrote one."""
        found = {}
        for rank in range(self._instances):
            key = f"{name}/{rank}"
            if self._notes.check([key]):
                text = self._notes.get(key).decode(errors="replace")
                found[rank] = "".join(letter for letter in text if letter.isprintable())[
                    : protocol.LONGEST_NOTE
                ]
        return found
