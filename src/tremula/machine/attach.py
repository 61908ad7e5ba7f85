"""Taking virtual IPUs: which device a program gets, waiting for one, and giving it back.

A device is held by one process at a time, whoever else of the user's processes wants it. It comes free when the
program detaches and however its process ends. Without IPUs (an IPU model, offline compilation) nothing is held.
"""

from __future__ import annotations

import contextlib
import gc
import os
import time
from dataclasses import replace

from tremula import log
from tremula.errors import Error
from tremula.machine import faults
from tremula.machine.counters import Meter, usage_of_this_process
from tremula.machine.numbering import Device
from tremula.machine.occupancy import Occupancy, enter, holders_text, too_few
from tremula.settings.environment import env

#: most IPUs that one process may take; above it, a program needs one process per 64
MAX_IPUS_PER_PROCESS = 64
#: from one try to the next while waiting
_POLL_SECONDS = 0.2


def ipus_needed(ipus: int, *, round_up: bool, hardware: bool) -> int:
    """IPUs to reserve for a program that uses `ipus`: hardware hands out powers of two."""
    rounded = 1 << (ipus - 1).bit_length() if ipus > 0 else 1
    if rounded == ipus or not hardware:
        needed = ipus
    elif round_up:
        needed = rounded
    else:
        raise Error(
            f"The model specifies the use of {ipus} IPUs, however PopTorch must reserve a minimum of {rounded} "
            "(IPUs are handed out in powers of two). Use another number of stages or replicas, or have it rounded up "
            "with poptorch.Options().autoRoundNumIPUs(True).",
            type="poptorch_cpp_error",
        )
    if hardware and needed > MAX_IPUS_PER_PROCESS:
        raise Error(
            f"Too many IPUs requested ({needed}). Experiments that need more than {MAX_IPUS_PER_PROCESS} IPUs "
            "must be distributed over several processes (poprun).",
            type="poptorch_cpp_error",
        )
    return needed


class Attachment:
    """A program's hold on a device. Release it with `detach`.

    Args:
        ipus: how many IPUs it needs.
        device_id: the device that the user named; any by default.
        hardware: False for an IPU model and for offline compilation, which hold nothing.
    """

    def __init__(self, ipus: int, *, device_id: int | None = None, hardware: bool) -> None:
        self._ipus = ipus
        self._device_id = device_id
        self._room = enter() if hardware else None
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
        """Take a free device, or the one that the user named; wait for it if the user asked to.

        Raises:
            Error: none is to be had; the message says who holds them.
        """
        if self._room is not None:
            self._take(self._room)
        self._attached = True

    def detach(self) -> None:
        """Give the device back."""
        if not self._attached:
            return
        self._attached = False
        if self._room is not None and self._pid == os.getpid():
            if self.meter is not None:
                self.meter.write()
            self._room.holds.give_back(self._range)
        self.meter = None

    def about_to_run(self) -> None:
        """Fail if a fault of the device was asked for (GCDA_OPTIONS) and it is time for it.

        Raises:
            Error: recoverable or not, as on hardware.
        """
        if self._injector is not None:
            self._injector.on_use(self.device.ipus)

    def _take(self, found: Occupancy) -> None:
        limit = _patience()
        deadline = None if limit is None else time.monotonic() + limit
        collected = told = False
        while True:
            for device in self._candidates():
                ipus = found.ipus_of(device)
                if found.holds.take(ipus, admitted=admitted_by()):
                    self._begin(found, device, ipus)
                    return
            if not collected:  # models that nobody can reach any more still hold theirs
                gc.collect()
                collected = True
                continue
            if deadline is not None and time.monotonic() >= deadline:
                raise self._busy(found)
            if not told:
                told = True
                who = holders_text(found, list(range(found.partition.size))).strip()
                log.layer("poptorch:cpp").warning(
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
            found.holds.give_back(ipus)
            raise

    def _candidates(self) -> list[Device]:
        """The devices that would do, free or not.

        Raises:
            Error: there are none.
        """
        found = self._room
        assert found is not None
        there = found.candidates(self._ipus)
        named = [device for device in there if self._device_id in (None, device.id)]
        if named:
            return named
        if not there:
            why = too_few(found, self._ipus)
        else:
            ids = f"{there[0].id} to {there[-1].id}" if len(there) > 1 else str(there[0].id)
            why = f"device {self._device_id} does not have that many IPUs; those that do have the ids {ids}"
        raise Error(f"Failed to acquire {self._ipus} IPU(s): {why}.", type="poptorch_cpp_error")

    def _busy(self, found: Occupancy) -> Error:
        candidates = self._candidates()
        if self._device_id is not None:
            what = f"device {self._device_id} is in use"
        else:
            what = f"all {len(candidates)} device(s) of that size are in use"
        ipus = sorted({ipu for device in candidates for ipu in device.ipus})
        return Error(
            f"Failed to acquire {self._ipus} IPU(s): {what}.\n{holders_text(found, ipus)}"
            "POPTORCH_WAIT_FOR_IPU=1 waits until one is free; a larger system has more "
            f"(`tremula system`; this is {found.system.name} with {found.system.ipus} IPU(s)).",
            type="poptorch_cpp_error",
        )


def available(ipus: int) -> bool:
    """Whether this machine has a device of `ipus` IPUs, free or not."""
    with contextlib.suppress(Error):
        found = enter()
        return found is not None and bool(found.candidates(ipus))
    return False


def _patience() -> float | None:
    """Seconds to wait for a device; None: as long as it takes."""
    return None if env.get("POPTORCH_WAIT_FOR_IPU") else 0.0


def admitted_by() -> int | None:
    text = str(env.get("TREMULA_RESERVATION"))
    return int(text) if text.isdecimal() else None
