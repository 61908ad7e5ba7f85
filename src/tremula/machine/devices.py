"""The virtual IPUs of this process: how many there are, which are taken, and by whom.

Two personalities. With TREMULA_VIRTUAL_IPUS=n the machine has n IPUs that programs take for hardware and
can run out of. Without it there is only an IPU model, as on a machine without hardware: programs are told
so, and it never runs out. Who is attached is known within one process.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from tremula.errors import Error
from tremula.settings.environment import env

#: most IPUs that one process may take; above it, a program needs one process per 64
MAX_IPUS_PER_PROCESS = 64
_POLL_SECONDS = 1.0


@dataclass(frozen=True)
class Device:
    """A set of IPUs that act as one target. `id` is what `useIpuId` names."""

    id: int
    ipus: frozenset[int]


_attached: dict[int, Device] = {}
_next_ticket = 0


def hardware_ipus() -> int:
    """How many IPUs this machine shows as hardware."""
    count: int = env.get("TREMULA_VIRTUAL_IPUS") or 0
    return count


def model_only() -> bool:
    """Whether programs are told that they run on an IPU model."""
    model = bool(env.get("POPTORCH_IPU_MODEL")) or bool(env.get("POPTORCH_SMALL_IPU_MODEL"))
    return model or hardware_ipus() == 0


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


def candidates(ipus: int) -> list[Device]:
    """The devices of `ipus` IPUs that this machine has, in the order of their ids."""
    total = hardware_ipus()
    if ipus <= 1:
        return [Device(i, frozenset([i])) for i in range(total)]
    first = total
    size = 2
    while size < ipus:
        first += total // size
        size *= 2
    return [
        Device(first + i, frozenset(range(i * ipus, (i + 1) * ipus))) for i in range(total // max(ipus, 1))
    ]


class Attachment:
    """A program's hold on a device. Release it with `detach`."""

    def __init__(
        self, ipus: int, *, device_id: int | None = None, hardware: bool, free: bool = False
    ) -> None:
        self._ipus = ipus
        self._device_id = device_id
        self._hardware = hardware
        self._ticket: int | None = None
        self.device = Device(0, frozenset())
        if hardware:
            self.device = self._choose(require_free=free)

    @property
    def attached(self) -> bool:
        """Whether the device is held."""
        return self._ticket is not None

    def attach(self) -> None:
        """Take a free device, or the one that the user named; wait for it if the user asked to."""
        global _next_ticket
        if self._hardware:
            self.device = self._choose(require_free=True)
        self._ticket = _next_ticket
        _next_ticket += 1
        _attached[self._ticket] = self.device

    def detach(self) -> None:
        """Give the device back."""
        if self._ticket is not None:
            _attached.pop(self._ticket, None)
            self._ticket = None

    def _choose(self, *, require_free: bool) -> Device:
        while True:
            for device in candidates(self._ipus):
                if self._device_id is not None and device.id != self._device_id:
                    continue
                if not require_free or _free(device):
                    return device
            if not require_free or not env.get("POPTORCH_WAIT_FOR_IPU"):
                raise self._failure()
            time.sleep(_POLL_SECONDS)

    def _failure(self) -> Error:
        total = hardware_ipus()
        taken = sorted(set().union(*(device.ipus for device in _attached.values())))
        if self._ipus > total:
            why = f"this machine has {total} virtual IPU(s) (TREMULA_VIRTUAL_IPUS)"
        elif self._device_id is not None:
            why = f"device {self._device_id} is in use or does not have that many IPUs"
        else:
            why = f"IPUs {taken} are attached to other models of this process; call detachFromDevice() on one"
        return Error(f"Failed to acquire {self._ipus} IPU(s): {why}.", type="poptorch_cpp_error")


def _free(device: Device) -> bool:
    return all(not (device.ipus & other.ipus) for other in _attached.values())
