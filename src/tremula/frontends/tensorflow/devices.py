"""The virtual IPUs that this process holds for TensorFlow: one connection for each configured device.

`configure_ipu_system` takes them and `reset_ipu_configuration` gives them back. Whoever runs a program calls
`require_device` before and `count_run` after each run. A program that configures nothing gets one IPU when it first
runs something, as on the real stack.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import tensorflow.compat.v2 as tf

from tremula import log
from tremula.device.connection import DeviceConnection
from tremula.device.settings import Connection, DeviceSettings
from tremula.device.tracing import call_ran
from tremula.errors import Error
from tremula.frontends.tensorflow import flags
from tremula.frontends.tensorflow.device_errors import as_tensorflow
from tremula.frontends.tensorflow.dialect.device_words import KIND, NEVER_RAN, WORDS
from tremula.machine import device_ids, systems
from tremula.machine.occupancy import current_occupancy
from tremula.telemetry import ledger
from tremula.telemetry.run_record import Entry
from tremula.trace import channels

if TYPE_CHECKING:
    from tremula.device.chip_model import ModelledRun

_CONNECTIONS = {
    "ALWAYS": Connection.ALWAYS,
    "ON_DEMAND": Connection.ON_DEMAND,
    "NEVER": Connection.NEVER,
    "PRE_COMPILE": Connection.NEVER,
}
_lock = threading.RLock()
_held: list[DeviceConnection] = []
#: how the devices are connected: a name of DeviceConnectionType
_connection = "ALWAYS"


def take(config: Any) -> tuple[int, ...]:
    """Take the devices that an `IPUConfig` asks for; the number of IPUs of each.

    Raises:
        DeviceError: they are not there or not free; then none is held.
    """
    global _connection
    with _lock, as_tensorflow():
        give_back()
        _connection = config.device_connection.type.name
        chosen: list[tuple[int | None, int]] = [
            (index, _ipus_of(index)) for index in _listed(config.select_ipus)
        ]
        wanted = chosen or [(None, count) for count in _listed(config.auto_select_ipus) or [1]]
        _check_total([ipus for _, ipus in wanted])
        try:
            for ordinal, (index, ipus) in enumerate(wanted):
                _held.append(_connected(ordinal, index, ipus))
        except BaseException:
            give_back()
            raise
        return tuple(ipus for _, ipus in wanted)


def give_back() -> None:
    """Give all devices back."""
    global _connection
    with _lock:
        for connection in _held:
            connection.detach()
        _held.clear()
        _connection = "ALWAYS"


def require_device(ordinal: int = 0) -> bool:
    """Say that a program is about to run on /device:IPU:`ordinal`.

    Returns:
        Whether it runs. If not, devices are for compilation only (PRE_COMPILE), and its results are zeros.

    Raises:
        InvalidArgumentError: devices are for compilation only (NEVER).
        DeviceError: there is no such device, it is not free, or it has a fault.
    """
    with _lock, as_tensorflow("Load engine"):
        if not _held and ordinal == 0:
            _held.append(_connected(0, None, 1))
        if not 0 <= ordinal < len(_held):
            raise Error(
                f"There is no device /device:IPU:{ordinal}: {len(_held)} device(s) are configured. auto_select_ipus "
                "takes a list with the number of IPUs of each device."
            )
        if _connection == "PRE_COMPILE":
            return False
        if _connection == "NEVER":
            raise tf.errors.InvalidArgumentError(None, None, WORDS.offline)
        connection = _held[ordinal]
        if not connection.attached:
            _attach(connection)
        connection.about_to_run()
        return True


def attached(ordinal: int = 0) -> bool:
    """Whether a device is held."""
    return ordinal < len(_held) and _held[ordinal].attached


def count_run(
    ordinal: int = 0,
    seconds: float = 0.0,
    samples: int = 0,
    modelled: ModelledRun | None = None,
    label: str = KIND,
) -> None:
    """Count a run for `gc-monitor` and its like: its time on the host, samples, and modelled cycles."""
    if channels.poplar.on:
        call_ran(label, time.perf_counter_ns() - round(seconds * 1e9), modelled)
    meter = _held[ordinal].meter if ordinal < len(_held) else None
    if meter is None:
        return
    found = None if modelled is None else modelled.known
    if modelled is None or found is None:
        meter.called(seconds, samples=samples)
        return
    cycles = float(modelled.cycles_per_call())
    if flags.flag("log_cycle_count") >= 0:
        log.layer("tremula").info("Modelled cycles of this run: %d", cycles)
    meter.called(seconds, samples=samples, cycles=cycles, modelled_seconds=cycles / found.chip.clock_hz)


def name_program(name: str, ordinal: int = 0) -> None:
    """Say which program lies on a device, for `gc-monitor`."""
    meter = _held[ordinal].meter if ordinal < len(_held) else None
    if meter is not None:
        meter.loaded(model=name)


def wrapped(name: str, kind: str = KIND, never_ran: str = NEVER_RAN) -> Entry:
    """Note a model or function that is to run on the device. At the end of the process it is reported if it never did,
    in the words `never_ran`.

    The owner keeps the entry and calls `entry.executed(calls, samples, seconds)` after each run, or `ran` of it.
    """
    entry = ledger.wrapped(kind, name)
    entry.never_ran = never_ran
    return entry


def ran(
    entry: Entry,
    ordinal: int = 0,
    seconds: float = 0.0,
    samples: int = 0,
    modelled: ModelledRun | None = None,
) -> None:
    """Count a run of a wrapped program in the record of this process and on its device."""
    entry.ipus = _held[ordinal].ipus_used if ordinal < len(_held) else 1
    entry.executed(1, samples, seconds)
    count_run(ordinal, seconds, samples, modelled, entry.model)


def _listed(ipus: Any) -> list[int]:
    return [ipus] if isinstance(ipus, int) else list(ipus)


def _ipus_of(index: int) -> int:
    found = current_occupancy()
    if found is None:
        raise Error(
            f"select_ipus names device {index}, and this machine has no IPUs (TREMULA_VIRTUAL_IPUS=0). Use "
            "auto_select_ipus."
        )
    return len(device_ids.device(index, found.partition.size).ipus)


def _check_total(ipus: list[int]) -> None:
    """Say how many IPUs there are before one of several devices turns out not to be free."""
    system = systems.current()
    if system is None or _on_model() or _CONNECTIONS[_connection] is Connection.NEVER:
        return
    if sum(ipus) > system.ipus:
        raise Error(
            f"Failed to acquire {sum(ipus)} IPU(s): the system {system.name} has {system.ipus}. Ask for fewer with "
            "auto_select_ipus, or choose a larger system with TREMULA_SYSTEM (`tremula system` lists them)."
        )


def _on_model() -> bool:
    return bool(flags.flag("use_ipu_model")) or systems.model_only()


def _connected(ordinal: int, index: int | None, ipus: int) -> DeviceConnection:
    settings = DeviceSettings(
        KIND,
        f"/device:IPU:{ordinal}",
        connection=_CONNECTIONS[_connection],
        device_id=index,
        use_model=_on_model(),
    )
    connection = DeviceConnection(settings, WORDS)
    connection.acquire(ipus)
    return connection


def _attach(connection: DeviceConnection) -> None:
    """Take a device on demand: wait for it as long as the flags say."""
    pause, limit = flags.flag("on_demand_device_poll_time"), flags.flag("on_demand_device_timeout")
    deadline = time.monotonic() + limit / 1000.0
    while True:
        try:
            connection.attach()
        except Error as problem:
            if type(problem) is not Error or time.monotonic() >= deadline:
                raise
            log.warn_once(
                "waiting for a device",
                f"{problem.message} Waiting for up to {limit / 1000:.0f} seconds "
                "(TF_POPLAR_FLAGS=--on_demand_device_timeout=...).",
            )
            time.sleep(pause / 1000.0)
        else:
            return
