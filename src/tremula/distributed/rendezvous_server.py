"""The key-value stores of a run, as the launcher serves them, so that no two runs need the same port.

They listen before an instance starts. Where there is one host, instances meet in a store of ours, and torch's own store
is there for programs that ask torch for it. On several hosts all meet in torch's store, at an address that every host
reaches. Instances write notes for the launcher into the store.
"""

from __future__ import annotations

import contextlib
import datetime
import select
import socket
import threading

from torch._C._distributed_c10d import PrefixStore, TCPStore

from tremula.distributed import protocol
from tremula.distributed.local_store_server import LOOPBACK, LocalStoreServer
from tremula.invariants import present

_TIMEOUT = datetime.timedelta(seconds=30)


class RendezvousServer:
    """Stores that are open while the run lasts; OSError if the address is not one of this machine.

    Without an address the run is on this host alone.
    """

    def __init__(self, address: str | None, instances: int) -> None:
        self._instances = instances
        self._address = address or LOOPBACK
        family = socket.AF_INET6 if ":" in self._address else socket.AF_INET
        self._listener = socket.create_server((self._address, 0), family=family, backlog=4096)
        self._port = int(self._listener.getsockname()[1])
        self._of_torch: TCPStore | None = None
        self._local: LocalStoreServer | None = None
        if address is None:
            self._local = LocalStoreServer()
            threading.Thread(target=self._serve_torch_when_asked, name="torch-store", daemon=True).start()
        else:
            self._serve_torch()

    def variables(self) -> dict[str, str]:
        """The environment variables that tell an instance where the stores are."""
        given = {
            protocol.STORE_ADDRESS: self._address,
            protocol.STORE_PORT: str(self._port),
            protocol.STORE_OF_LAUNCHER: "True",
        }
        if self._local is not None:
            given[protocol.LOCAL_STORE] = self._local.address
        return given

    def notes(self, name: str) -> dict[int, str]:
        """The notes with this name: what each instance wrote that wrote one."""
        found = {}
        for rank in range(self._instances):
            note = self._note(f"{name}/{rank}")
            if note is not None:
                text = note.decode(errors="replace")
                found[rank] = "".join(letter for letter in text if letter.isprintable())[
                    : protocol.LONGEST_NOTE
                ]
        return found

    def _note(self, key: str) -> bytes | None:
        if self._local is not None:
            return self._local.peek(f"{protocol.STORE_PREFIX}/{key}")
        notes = PrefixStore(protocol.STORE_PREFIX, present(self._of_torch, "torch's store"))
        return notes.get(key) if notes.check([key]) else None

    def _serve_torch_when_asked(self) -> None:
        """Open torch's store at the first connection: opening it asks the name server for the host's name."""
        with contextlib.suppress(OSError, ValueError, RuntimeError):
            select.select([self._listener], [], [])
            self._serve_torch()

    def _serve_torch(self) -> None:
        self._of_torch = TCPStore(
            self._address,
            self._port,
            is_master=True,
            wait_for_workers=False,
            timeout=_TIMEOUT,
            # the store takes over this socket, so that no other process can take the port in between
            master_listen_fd=self._listener.detach(),
        )
