"""Devices that a launcher keeps for the processes that it starts.

A reservation is a lock of its own beside those of the devices: only processes with its token
(TREMULA_RESERVATION) can attach inside. It ends when the launcher's process ends, in whatever way.
"""

from __future__ import annotations

import os
import time

from tremula.errors import Error
from tremula.machine.device_ids import Device
from tremula.machine.occupancy import Occupancy, current_occupancy, holders_text, remedies, too_few

_POLL_SECONDS = 0.2


class Reservation:
    """A device that a launcher keeps for the processes that it starts."""

    def __init__(self, found: Occupancy, device: Device) -> None:
        self.occupancy = found
        self.device = device
        #: what TREMULA_RESERVATION must be for a process to attach inside
        self.token = str(os.getpid())
        self._open = True

    def release(self) -> None:
        """Let others have the IPUs."""
        if self._open:
            self._open = False
            self.occupancy.locks.end_reservation(self.occupancy.ipus_of(self.device))

    def __enter__(self) -> Reservation:
        return self

    def __exit__(self, *_error: object) -> None:
        self.release()


def reserve(ipus: int, *, partition: str | None = None, timeout: float | None = 0.0) -> Reservation | None:
    """Keep a free device of `ipus` IPUs (a power of two); None on a machine without IPUs, where nothing runs out.

    Raises Error if none is free within `timeout` seconds; None waits as long as it takes.
    """
    found = current_occupancy(partition)
    if found is None:
        return None
    candidates = found.candidates(ipus)
    if not candidates:
        raise Error(f"Failed to reserve {ipus} IPU(s): {too_few(found, ipus)}.")
    deadline = None if timeout is None else time.monotonic() + timeout
    while True:
        for device in candidates:
            if found.locks.reserve(found.ipus_of(device)):
                return Reservation(found, device)
        if deadline is not None and time.monotonic() >= deadline:
            everything = list(range(found.partition.size))
            raise Error(
                f"Failed to reserve {ipus} IPU(s) of partition {found.partition.name}: "
                f"no device of that size is free.\n{holders_text(found, everything)}{remedies(found, everything)}"
            )
        time.sleep(_POLL_SECONDS)
