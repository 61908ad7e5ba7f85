"""Which IPUs of the partition are in use, by which processes, and texts about them.

Figures of other processes come from the counters that they write, and the holders of locks from the kernel.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass

from tremula.machine import device_ids, systems
from tremula.machine.counters import Counters, Usage, counters_in
from tremula.machine.device_ids import Device
from tremula.machine.device_locks import DeviceLocks, device_locks_in
from tremula.machine.partitions import Partition, selected
from tremula.machine.systems import VirtualSystem, folder_of


@dataclass(frozen=True)
class Occupancy:
    """A partition of this machine's system, with its locks and counters."""

    system: VirtualSystem
    partition: Partition
    locks: DeviceLocks
    counters: Counters

    def candidates(self, ipus: int) -> tuple[Device, ...]:
        """The devices of `ipus` IPUs that may be taken."""
        if not self.partition.reconfigurable and self.partition.made_by_user and ipus != self.partition.size:
            return ()
        return device_ids.of_size(ipus, self.partition.size)

    def ipus_of(self, device: Device) -> range:
        """A device's IPUs, counted in the system."""
        return self.partition.system_range(device.first, len(device.ipus))

    def usage(self, ipu: int) -> Usage | None:
        """What the process that holds an IPU (counted in the partition) does with it; None if it is free."""
        pid = self.locks.holder(self.partition.first_ipu + ipu)
        if pid is None:
            return None
        found = self.counters.read(self.partition.first_ipu + ipu)
        if found is None or (pid and found.pid != pid):  # taken a moment ago
            return Usage(pid=pid)
        return found

    def reserver(self, ipu: int) -> int | None:
        """The launcher that keeps an IPU for its instances."""
        return self.locks.reserver(self.partition.first_ipu + ipu)


def current_occupancy(partition: str | None = None) -> Occupancy | None:
    """The partition that this process uses, with its locks and counters; None on a machine without IPUs.

    Raises Error if the system or partition that was chosen does not exist, or its files cannot be used.
    """
    system = systems.current()
    if system is None:
        return None
    folder = folder_of(system)
    return Occupancy(system, selected(system, partition), device_locks_in(folder), counters_in(folder))


def holders(found: Occupancy, ipus: list[int]) -> Iterator[tuple[int, Usage, list[int]]]:
    """Processes that hold or reserve any of `ipus`: pid, what they do, which of the IPUs."""
    by_pid: dict[int, tuple[Usage, list[int]]] = {}
    for ipu in ipus:
        usage = found.usage(ipu)
        reserver = found.reserver(ipu) if usage is None else None
        if usage is None and reserver is not None:
            usage = Usage(pid=reserver, command="poprun (reserved for its instances)")
        if usage is not None:
            by_pid.setdefault(usage.pid, (usage, []))[1].append(ipu)
    for pid, (usage, held) in by_pid.items():
        yield pid, usage, held


def holders_text(found: Occupancy, ipus: list[int], own: str = "another program of this process") -> str:
    """A line for each process that holds one of `ipus`; `own` says what to do about one of this process."""
    lines = []
    for pid, usage, held in holders(found, ipus):
        which = f"IPU {held[0]}" if len(held) == 1 else f"IPUs {held[0]} to {held[-1]}"
        if pid == os.getpid():
            lines.append(f"  {which}: {own if usage.attached_at else 'reserved by this process'}")
            continue
        since = f" for {span_text(time.time() - usage.attached_at)}" if usage.attached_at else ""
        who = f" of {usage.user}" if usage.user else ""
        what = f" ({usage.command})" if usage.command else ""
        lines.append(f"  {which}: process {pid}{who}{what}{since}; free when it ends or detaches")
    return "".join(f"{line}\n" for line in lines)


def remedies(found: Occupancy, ipus: list[int]) -> str:
    """Advice if all of `ipus` are in use: wait, or use a separate system."""
    here = f"this is {found.system.name} with {found.system.ipus} IPU(s)"
    if all(pid == os.getpid() for pid, _, _ in holders(found, ipus)):
        return f"A larger system has more (`tremula system`; {here})."
    own = systems.own_name()
    unused = int(own) + 1 if own.isdecimal() else 1
    return (
        "POPTORCH_WAIT_FOR_IPU=1 waits until they are free. "
        f"TREMULA_OWN_SYSTEM={unused} gives this program a separate system ({here})."
    )


def span_text(seconds: float) -> str:
    """As gc-monitor writes it: 10s, 4m1s, 1h2m3s."""
    total = max(0, int(seconds))
    hours, minutes = total // 3600, total // 60 % 60
    if hours:
        return f"{hours}h{minutes}m{total % 60}s"
    return f"{minutes}m{total % 60}s" if minutes else f"{total}s"


def too_few(found: Occupancy, ipus: int) -> str:
    """Why no device with this many IPUs exists, and what to do."""
    system, partition = found.system, found.partition
    if partition.made_by_user and ipus <= system.ipus:
        kind = (
            ""
            if partition.reconfigurable
            else " and is not reconfigurable, so only all of its IPUs can be used together"
        )
        return f"partition {partition.name} has {partition.size} IPU(s){kind} (`vipu list partitions`)"
    return (
        f"this machine has {system.ipus} virtual IPU(s): {system.name}, chosen by {system.chosen_by}. A larger one: "
        f"TREMULA_SYSTEM=bow-pod{max(16, 1 << (ipus - 1).bit_length())}, or `tremula system use`"
    )
