"""Attaches a program to virtual IPUs: chooses a device, waits for it, and releases it.

One process at a time holds a device. The device is free again when the program detaches or its process ends, in
whatever way. Without IPUs (an IPU model, offline compilation) nothing is held.
"""

from __future__ import annotations

import contextlib
import gc
import os
import time
from dataclasses import replace

from tremula import log, stack_layers
from tremula.errors import Error
from tremula.invariants import present
from tremula.machine import faults
from tremula.machine.counters import Meter, usage_of_this_process
from tremula.machine.device_ids import Device
from tremula.machine.occupancy import Occupancy, current_occupancy, holders_text, remedies, too_few
from tremula.settings.environment import env

#: most IPUs that one process may take; above it, a program needs one process per 64
MAX_IPUS_PER_PROCESS = 64
#: from one try to the next while waiting
_POLL_SECONDS = 0.2


def ipus_needed(
    ipus: int,
    *,
    round_up: bool,
    hardware: bool,
    stack: str = "the stack",
    round_up_option: str = "the option for it",
) -> int:
    """IPUs to reserve for a program that uses `ipus`: hardware has devices of powers of two.

    The message of the Error names the front end (`stack`) and how its users allow more (`round_up_option`).
    """
    rounded = 1 << (ipus - 1).bit_length() if ipus > 0 else 1
    if rounded == ipus or not hardware:
        needed = ipus
    elif round_up:
        needed = rounded
    else:
        raise Error(
            f"The model specifies the use of {ipus} IPUs, however {stack} must reserve a minimum of {rounded} "
            "(IPUs are allocated in powers of two). Use another number of stages or replicas, or round up "
            f"with {round_up_option}.",
            type=stack_layers.COMPILED_ERROR,
        )
    if hardware and needed > MAX_IPUS_PER_PROCESS:
        raise Error(
            f"Too many IPUs requested ({needed}). Experiments that need more than {MAX_IPUS_PER_PROCESS} IPUs "
            "must be distributed over several processes (poprun).",
            type=stack_layers.COMPILED_ERROR,
        )
    return needed


class Attachment:
    """A program's hold on a device. Release it with `detach`.

    `hardware` is False for an IPU model and for offline compilation, which hold nothing. `own_holder` is said of
    devices that another program of this process holds.
    """

    def __init__(
        self,
        ipus: int,
        *,
        device_id: int | None = None,
        hardware: bool,
        own_holder: str = "another program of this process; detach that one first",
    ) -> None:
        self._ipus = ipus
        self._own_holder = own_holder
        self._device_id = device_id
        self._occupancy = current_occupancy() if hardware else None
        self._attached = False
        self._pid = os.getpid()
        self._range = range(0)
        #: counts what the program does while it is attached
        self.meter: Meter | None = None
        self.device = Device(0, (0,))
        self._injector: faults.Injector | None = None
        if hardware:
            self.device = self._candidates()[0]

    @property
    def attached(self) -> bool:
        """Whether the device is held."""
        return self._attached

    def attach(self) -> None:
        """Attach to a free device, or to the one that the user named. Waits for it if requested.

        Raises Error if none is free; the message says which processes hold them.
        """
        if self._occupancy is not None:
            self._take(self._occupancy)
        self._attached = True

    def detach(self) -> None:
        """Give the device back."""
        if not self._attached:
            return
        self._attached = False
        if self._occupancy is not None and self._pid == os.getpid():
            if self.meter is not None:
                self.meter.write()
            self._occupancy.locks.release(self._range)
        self.meter = None

    def about_to_run(self) -> None:
        """Raise the fault that GCDA_OPTIONS requests when it is due. As on hardware, it may be recoverable."""
        if self._injector is not None:
            self._injector.on_use(self.device.ipus)

    def _take(self, found: Occupancy) -> None:
        limit = _timeout()
        deadline = None if limit is None else time.monotonic() + limit
        collected = logged = False
        while True:
            for device in self._candidates():
                ipus = found.ipus_of(device)
                if found.locks.take(ipus, admitted=admitted_by()):
                    self._begin(found, device, ipus)
                    return
            if not collected:  # unreachable models still hold their devices
                gc.collect()
                collected = True
                continue
            if deadline is not None and time.monotonic() >= deadline:
                raise self._busy(found)
            if not logged:
                logged = True
                who = holders_text(found, list(range(found.partition.size)), self._own_holder).strip()
                log.layer(stack_layers.DEVICE).warning(
                    "No IPU available, sleeping until %d IPU(s) are free:\n  %s", self._ipus, who
                )
            time.sleep(_POLL_SECONDS)

    def _begin(self, found: Occupancy, device: Device, ipus: range) -> None:
        self.device, self._range, self._pid = device, ipus, os.getpid()
        usage = replace(
            usage_of_this_process(),
            device_id=device.id,
            device_ipus=len(device.ipus),
        )
        self.meter = Meter(found.counters, ipus, usage)
        try:
            self._injector = faults.injector()
            self.about_to_run()
        except Error:
            found.locks.release(ipus)
            raise

    def _candidates(self) -> list[Device]:
        """The devices that would do, free or not; raises Error if there are none."""
        found = present(self._occupancy, "the partition")
        there = found.candidates(self._ipus)
        named = [device for device in there if self._device_id in (None, device.id)]
        if named:
            return named
        if not there:
            why = too_few(found, self._ipus)
        else:
            ids = f"{there[0].id} to {there[-1].id}" if len(there) > 1 else str(there[0].id)
            why = f"device {self._device_id} does not have that many IPUs; devices with ids {ids} do"
        raise Error(f"Failed to acquire {self._ipus} IPU(s): {why}.", type=stack_layers.COMPILED_ERROR)

    def _busy(self, found: Occupancy) -> Error:
        candidates = self._candidates()
        if self._device_id is not None:
            what = f"device {self._device_id} is in use"
        else:
            what = f"all {len(candidates)} device(s) of that size are in use"
        ipus = sorted({ipu for device in candidates for ipu in device.ipus})
        return Error(
            f"Failed to acquire {self._ipus} IPU(s): {what}.\n"
            f"{holders_text(found, ipus, self._own_holder)}{remedies(found, ipus)}",
            type=stack_layers.COMPILED_ERROR,
        )


def available(ipus: int) -> bool:
    """Whether this machine has a device of `ipus` IPUs, free or not."""
    with contextlib.suppress(Error):
        found = current_occupancy()
        return found is not None and bool(found.candidates(ipus))
    return False


def _timeout() -> float | None:
    """Seconds to wait for a device; None: as long as it takes."""
    return None if env.get("POPTORCH_WAIT_FOR_IPU") else 0.0


def admitted_by() -> int | None:
    text = str(env.get("TREMULA_RESERVATION"))
    return int(text) if text.isdecimal() else None
