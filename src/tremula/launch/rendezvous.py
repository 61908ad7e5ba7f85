"""The store at which the instances of a run meet; the launcher holds it, so no two runs ever want the same port.

It listens before anything is started, at an address that all hosts reach, or at the loopback address where there is
one host only. Instances leave notes in it for the launcher.
"""

from __future__ import annotations

import datetime
import socket

from torch._C._distributed_c10d import PrefixStore, TCPStore

_PREFIX = "tremula"
_LONGEST_NOTE = 200
_TIMEOUT = datetime.timedelta(seconds=30)


class Rendezvous:
    """A store that is open while the run lasts.

    Args:
        address: where to listen.
        instances: how many will come.

    Raises:
        OSError: the address is not one of this machine.
    """

    def __init__(self, address: str, instances: int) -> None:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with socket.create_server((address, 0), family=family, backlog=4096) as listener:
            self.address, self.port = address, int(listener.getsockname()[1])
            # the store takes the socket over as it is: another one could not take its port in between
            self._store = TCPStore(
                address,
                self.port,
                is_master=True,
                wait_for_workers=False,
                timeout=_TIMEOUT,
                master_listen_fd=listener.detach(),
            )
        self._notes = PrefixStore(_PREFIX, self._store)
        self._instances = instances

    def independent(self) -> dict[int, str]:
        """Instances that train a model of their own, each with the name of its class."""
        found = {}
        for rank in range(self._instances):
            key = f"independent/{rank}"
            if self._notes.check([key]):
                text = self._notes.get(key).decode(errors="replace")
                found[rank] = "".join(letter for letter in text if letter.isprintable())[:_LONGEST_NOTE]
        return found
