"""Partitions of the virtual system: named sets of neighbouring IPUs, like those of a V-IPU server.

An undivided system is one partition of all its IPUs. `vipu create partition` divides it; IPUs that no
partition has are then out of reach. Device ids count within a partition. The list is a file beside the locks.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from tremula import log, private_files
from tremula.atomic_files import atomic_open, cannot_write
from tremula.checked_json import decode
from tremula.errors import Error
from tremula.machine.systems import VirtualSystem, folder_of
from tremula.private_files import Untrusted
from tremula.settings.environment import env

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_MAX_BYTES = 1 << 20
SYNC_TYPES = ("c2-compatible", "pod-native", "pod-native-default")


@dataclass(frozen=True)
class Partition:
    """A set of IPUs of the system."""

    name: str  #: how users call it
    first_ipu: int  #: its first IPU, counted in the system
    size: int  #: how many IPUs it has
    reconfigurable: bool = True  #: whether any device of it may be taken, or only the whole
    gcds: int = 1  #: graph compile domains: how many hosts share it
    allocation: str = ""  #: the allocation that its IPUs come from
    sync_type: str = "c2-compatible"  #: how its IPUs wait for each other
    made_by_user: bool = True  #: False for the one that stands for an undivided system

    def system_range(self, first: int, count: int) -> range:
        """IPUs of the partition as IPUs of the system."""
        return range(self.first_ipu + first, self.first_ipu + first + count)


def partitions(system: VirtualSystem) -> list[Partition]:
    """All partitions, in the order of their IPUs."""
    made = _read(system)
    if made:
        return sorted(made, key=lambda each: each.first_ipu)
    whole = Partition(f"p{system.ipus}", 0, system.ipus, made_by_user=False)
    return [whole]


def named(system: VirtualSystem, name: str) -> Partition:
    """The partition called `name`; raises Error if there is none."""
    known = partitions(system)
    for each in known:
        if each.name == name:
            return each
    raise Error(
        f"There is no partition {name!r}; the partitions are {', '.join(each.name for each in known)}. "
        "Create one with `vipu create partition`."
    )


def selected(system: VirtualSystem, name: str | None = None) -> Partition:
    """The partition that a program uses: the one it names, or IPUOF_VIPU_API_PARTITION_ID, or the only one.

    Raises Error if `name` does not exist, or there are several and none is named.
    """
    if name:
        return named(system, name)
    known = partitions(system)
    wanted = env.get("IPUOF_VIPU_API_PARTITION_ID")
    for each in known:
        if each.name == wanted:
            return each
    if len(known) > 1:
        raise Error(
            f"There are {len(known)} partitions ({', '.join(each.name for each in known)}) and none was chosen. "
            "Set IPUOF_VIPU_API_PARTITION_ID to one of them."
        )
    if wanted:
        log.no_effect(
            f"IPUOF_VIPU_API_PARTITION_ID={wanted}",
            f"the virtual system has no such partition; its only partition, {known[0].name}, is used",
        )
    return known[0]


def create(
    system: VirtualSystem,
    name: str,
    size: int,
    *,
    reconfigurable: bool = False,
    gcds: int = 1,
    allocation: str = "",
    sync_type: str = "c2-compatible",
    index: int | None = None,
) -> Partition:
    """Make a partition of `size` IPUs, a power of two, at the first free place that is a multiple of it, or at `index`.

    `gcds` (graph compile domains) is a power of two that divides `size`. Raises Error if it cannot be.
    """
    _check(system, name, size, gcds, sync_type)
    with _changing(system) as made:
        if any(each.name == name for each in made):
            raise Error(f"Partition {name!r} already exists; remove it with `vipu remove partition {name}`.")
        taken = [range(each.first_ipu, each.first_ipu + each.size) for each in made]
        places = range(system.ipus // size) if index is None else [index]
        for place in places:
            ipus = range(place * size, (place + 1) * size)
            if ipus.stop <= system.ipus and not any(_overlap(ipus, other) for other in taken):
                new = Partition(name, ipus.start, size, reconfigurable, gcds, allocation, sync_type)
                made.append(new)
                return new
    used = sum(len(each) for each in taken)
    raise Error(
        f"There is no room for {size} IPU(s): {used} of the {system.ipus} IPUs of {system.name} are in partitions "
        f"({', '.join(each.name for each in made) or 'none'}). Remove one, or choose a larger system with "
        "`tremula system use`."
    )


def remove(system: VirtualSystem, name: str) -> Partition:
    """Remove a partition; with the last one, the system is undivided again.

    Raises Error if there is none of that name that a user made.
    """
    with _changing(system) as made:
        for each in made:
            if each.name == name:
                made.remove(each)
                return each
    gone = named(system, name)  # says what there is
    raise Error(f"{gone.name!r} stands for the undivided system and cannot be removed.")


def _check(system: VirtualSystem, name: str, size: int, gcds: int, sync_type: str) -> None:
    if not _NAME.fullmatch(name):
        raise Error(f"{name!r} is not a valid partition name: use letters, digits, '_', '-' and '.'.")
    if size < 1 or size & (size - 1):
        raise Error(f"The size of a partition must be a power of two (1, 2, 4, ...), not {size}.")
    if size > system.ipus:
        raise Error(
            f"{system.name} has {system.ipus} IPUs, fewer than {size}. Choose a larger one with `tremula system use`."
        )
    if gcds < 1 or gcds & (gcds - 1) or gcds > size:
        raise Error(f"The number of graph compile domains must be a power of two up to {size}, not {gcds}.")
    if sync_type not in SYNC_TYPES:
        raise Error(f"Unknown sync type {sync_type!r}; the sync types are {', '.join(SYNC_TYPES)}.")


def _overlap(one: range, other: range) -> bool:
    return one.start < other.stop and other.start < one.stop


def _file(system: VirtualSystem) -> Path:
    return folder_of(system) / "partitions.json"


@contextlib.contextmanager
def _changing(system: VirtualSystem) -> Iterator[list[Partition]]:
    """The partitions that users made; changes of the list are written, unless the block fails."""
    from filelock import Timeout  # imported here so that tools that only read start faster

    path = _file(system)
    try:
        with private_files.locked(path.with_suffix(".lock"), timeout=5):
            made = _read(system)
            before = list(made)
            yield made
            if made != before:
                with atomic_open(path, permissions=0o600) as file:
                    json.dump({"partitions": [asdict(each) for each in made]}, file, indent=1)
    except Untrusted as problem:
        raise Error(f"The list of partitions cannot be locked: {problem}.") from None
    except Timeout:
        raise Error(f"Another process has been changing {path} for five seconds; try again.") from None
    except OSError as problem:
        raise Error(f"The list of partitions, {cannot_write(path, problem)}") from problem


def _read(system: VirtualSystem) -> list[Partition]:
    path = _file(system)
    try:
        data = private_files.read(path, _MAX_BYTES)
    except FileNotFoundError:
        return []
    except Untrusted as problem:
        raise Error(f"The list of partitions cannot be trusted: {problem}.") from None
    except OSError as problem:
        raise Error(f"The list of partitions, {path}, cannot be read: {problem.strerror}.") from problem
    try:
        return [_parsed(each, system) for each in json.loads(data)["partitions"]]
    except (ValueError, TypeError, KeyError, RecursionError) as problem:
        raise Error(f"{path} is not a list of partitions ({problem}); remove it to start again.") from problem


def _parsed(value: Any, system: VirtualSystem) -> Partition:
    found = decode(Partition, value, lenient=True)
    _check(system, found.name, found.size, found.gcds, found.sync_type)
    if len(found.allocation) > 64 or not found.allocation.isprintable():
        raise ValueError("the allocation is not a valid name")
    if not 0 <= found.first_ipu <= system.ipus - found.size:
        raise ValueError(f"{found.name} is outside the system")
    return replace(found, made_by_user=True)
