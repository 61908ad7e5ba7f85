"""Simulated faults of virtual IPUs: what GCDA_OPTIONS asks for with simulateSOCError, so that recovery can be tried.

Taking a device and each run on it count as uses; the one with the number of `triggerCount` fails. A fault that can be
recovered from ends with the next use, which resets the device; with `rearmOnReset` that restarts the count, else
the fault does not come back, not even in another process. `gc-reset` clears everything.
What has fired is kept beside the locks.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tremula import log, private_files
from tremula.atomic_files import atomic_open
from tremula.checked_json import decode
from tremula.errors import Error, RecoverableError, UnrecoverableError
from tremula.machine import events
from tremula.machine.occupancy import Occupancy, current_occupancy
from tremula.machine.sensors import gcda_options
from tremula.machine.systems import folder_of
from tremula.private_files import Untrusted
from tremula.settings.environment import env
from tremula.settings.gcda import SOC_ERRORS, GcdaOptions

#: what helps against an error; nothing does against those that are not here
RECOVERY = {
    "IPUSOFTERR": "IPU_RESET",
    "EXCHANGE_ERROR": "IPU_RESET",
    "MEMORY_ERROR": "IPU_RESET",
    "LINK_DOWN": "LINK_RESET",
    "HOST_LINK_DOWN": "PARTITION_RESET",
    "HOST_SYNC_TIMEOUT": "FULL_RESET",
}
#: the register that holds an error, where programs look for it in the text
_REGISTERS = {"IPUSOFTERR": "CIUERRVR."}
_ACTIONS = ("IPU_RESET", "LINK_RESET", "PARTITION_RESET", "FULL_RESET")  # each does more than the one before
_MAX_BYTES = 1 << 16
_MAX_IPUS = 4096


@dataclass(frozen=True)
class Fired:
    """A fault that has happened."""

    setting: str  #: identifies what GCDA_OPTIONS asked for
    errors: tuple[str, ...]  #: its names
    ipus: tuple[int, ...]  #: the IPUs that have it, counted in the system
    pid: int  #: the process that met it
    at: float  #: when (seconds since 1970)
    present: bool  #: whether the IPUs still have it


class Injector:
    """Makes uses of devices fail as GCDA_OPTIONS requests. A process has one for each partition and setting."""

    def __init__(self, options: GcdaOptions, occupancy: Occupancy) -> None:
        self._options = options
        self._occupancy = occupancy
        self._setting = _setting(options)
        self._action = _recovery_action(options.errors)
        self._uses = 0
        self._guard = threading.Lock()
        before = _read(occupancy)
        self._fired = before if before is not None and before.setting == self._setting else None
        self._warned = False

    def on_use(self, device_ids: Iterable[int]) -> None:
        """A program is about to use these devices (IPUs of the partition): raises a fault if it is their turn."""
        with self._guard:
            ipus = tuple(device_ids)
            if self._fired is not None and not self._recover(self._fired):
                return
            self._uses += 1
            if self._uses >= self._options.trigger_count:
                self._fire(ipus)

    def forgotten(self) -> bool:
        """Whether a fault that happened here has been reset since, with gc-reset."""
        last = _read(self._occupancy)
        return self._fired is not None and (last is None or last.setting != self._setting)

    def _recover(self, fired: Fired) -> bool:
        """The use after a fault resets the device; True if faults are to come from now on."""
        if self._action is None:
            raise self._error(self._local(fired.ipus))
        if fired.present:
            self._keep(Fired(fired.setting, fired.errors, fired.ipus, fired.pid, fired.at, present=False))
        if self._options.rearm_on_reset:
            self._fired = None
            self._uses = 0
            return True
        if not self._warned and fired.pid != os.getpid():
            self._warned = True
            when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(fired.at))
            log.warn_once(
                f"fired: {self._setting}",
                f"The simulated {', '.join(fired.errors)} of GCDA_OPTIONS has happened (process {fired.pid}, {when}) "
                "and happens again only with simulateSOCError.rearmOnReset or after gc-reset.",
            )
        return False

    def _fire(self, ipus: tuple[int, ...]) -> None:
        places = tuple(self._occupancy.partition.first_ipu + ipu for ipu in ipus)
        self._keep(Fired(self._setting, self._options.errors, places, os.getpid(), time.time(), present=True))
        error = self._error(ipus)
        events.record(
            "error" if self._action else "critical", error.message, list(ipus), self._occupancy.partition.name
        )
        raise error

    def _error(self, ipus: tuple[int, ...]) -> Error:
        names = ", ".join(f"{_REGISTERS.get(name, '')}{name}" for name in self._options.errors)
        where = ", ".join(map(str, ipus)) or "unknown"
        simulated = f"Simulated: GCDA_OPTIONS asks for it at use {self._options.trigger_count} of the device."
        if self._action is None:
            return UnrecoverableError(
                f"{names} error on IPU {where}. {simulated} The IPU stays out of use until gc-reset resets it."
            )
        return RecoverableError(
            f"[Recovery action: {self._action}] {names} error on IPU {where}. {simulated} "
            "IPU will be reset the next time a program is executed.",
            recovery_action=self._action,
        )

    def _local(self, places: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(place - self._occupancy.partition.first_ipu for place in places)

    def _keep(self, fired: Fired) -> None:
        self._fired = fired
        with contextlib.suppress(OSError):  # the fault counts, with or without a record of it
            _write(self._occupancy, fired)


_injectors: dict[tuple[int, str, str, str], Injector] = {}


def injector() -> Injector | None:
    """What makes uses of devices fail; None where nothing is to fail, as nearly always.

    Raises Error if GCDA_OPTIONS cannot be understood.
    """
    if not env.is_set("GCDA_OPTIONS"):
        return None
    options = gcda_options()
    if options.config_file:
        log.no_effect("configFile in GCDA_OPTIONS", "virtual IPUs are mapped by partitions (`vipu`)")
    if options.force_hsp_posted:
        log.no_effect("forceHSPPosted in GCDA_OPTIONS", "there is no host sync proxy")
    if not options.errors:
        return None
    occupancy = current_occupancy()
    if occupancy is None:
        return None
    # A program may give its device back and take it again: that is one count.
    key = (os.getpid(), str(folder_of(occupancy.system)), occupancy.partition.name, _setting(options))
    found = _injectors.get(key)
    if found is None or found.forgotten():
        found = _injectors[key] = Injector(options, occupancy)
    return found


def error_states(occupancy: Occupancy) -> dict[int, str]:
    """IPUs, counted in the system, that have a fault now, and which."""
    fired = _read(occupancy)
    if fired is None or not fired.present:
        return {}
    return dict.fromkeys(fired.ipus, " ".join(fired.errors))


def reset(occupancy: Occupancy, ipus: Iterable[int]) -> bool:
    """Make faults of these IPUs (counted in the system) as if they had not happened; True if there were any."""
    fired = _read(occupancy)
    if fired is None or set(fired.ipus).isdisjoint(ipus):
        return False
    _file(occupancy).unlink(missing_ok=True)
    return True


def _recovery_action(errors: tuple[str, ...]) -> str | None:
    """What helps against all of them; None if nothing does."""
    actions = [RECOVERY.get(name) for name in errors]
    known = [action for action in actions if action is not None]
    return max(known, key=_ACTIONS.index) if len(known) == len(actions) and known else None


def _setting(options: GcdaOptions) -> str:
    text = repr((options.errors, options.trigger_count, options.rearm_on_reset))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _file(occupancy: Occupancy) -> Path:
    return folder_of(occupancy.system) / "faults.json"


def _write(occupancy: Occupancy, fired: Fired) -> None:
    with atomic_open(_file(occupancy), permissions=0o600) as file:
        json.dump(vars(fired), file)


def _read(occupancy: Occupancy) -> Fired | None:
    """The last fault; None if there was none, or the file is not one of ours."""
    try:
        fired = decode(Fired, json.loads(private_files.read(_file(occupancy), _MAX_BYTES)))
    except Untrusted as problem:
        log.warn_once("faults file", f"The record of earlier faults cannot be read: {problem}.")
        return None
    except (OSError, ValueError, RecursionError):
        return None
    known = all(name in SOC_ERRORS for name in fired.errors)
    return fired if known and all(0 <= ipu < _MAX_IPUS for ipu in fired.ipus) else None
