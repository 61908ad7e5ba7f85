"""gc-monitor's answer for programs: one entry for each machine, with its IPUs and who uses them; all texts."""

from __future__ import annotations

import getpass
import time
from typing import Any

from tremula import __version__
from tremula.machine import inventory
from tremula.machine.inventory import IpuRecord
from tremula.machine.occupancy import Occupancy, span_text
from tremula.machine.sensors import Reading


def as_json(known: list[tuple[Occupancy, list[IpuRecord]]]) -> dict[str, Any]:
    """One card for each machine (or card), with its IPUs; all values are texts, as in the vendor's tool."""
    cards = []
    for occupancy, records in known:
        kind, _ = inventory.board_names(occupancy)
        for machine in dict.fromkeys(record.machine for record in records):
            of_machine = [record for record in records if record.machine == machine]
            first = of_machine[0]
            cards.append(
                {
                    "PCIe ID" if first.on_card else "IPU-M": first.host,
                    "Serial": first.serial,
                    "IPU-M SW": __version__,
                    "Server version": __version__,
                    "ICU FW": __version__,
                    "Type": kind,
                    "Partition": occupancy.partition.name,
                    "ipus": [_ipu_as_json(occupancy, record) for record in of_machine],
                }
            )
    modelled = ["Clock", "IPU temp", "Board temp", "Board power", "IPU power", "Modelled cycles"]
    return {"virtual": "true", "modelled": modelled, "cards": cards}


def _range(reading: Reading | None, unit: str) -> str:
    """Where a real reading would be expected."""
    return inventory.UNKNOWN if reading is None else f"{reading.low:.1f} to {reading.high:.1f} {unit}"


def _ipu_as_json(occupancy: Occupancy, record: IpuRecord) -> dict[str, str]:
    known = inventory.attributes(occupancy, record)
    found = {
        "ID": str(record.id),
        "IPU#": str(record.number),
        "Serial": record.serial,
        "Routing": "DNC",
        "Clock": known["clock"],
        "IPU temp": known["average die temp"],
        "IPU temp range": _range(record.sensors.die_celsius, "C"),
        "Board temp": known["average board temp"],
        "Board power": known["total board power"],
        "Board power range": _range(record.sensors.board_watts, "W"),
        "IPU power": known["ipu power"],
        "IPU utilisation": known["ipu utilisation"],
        "IPU utilisation session": known["ipu utilisation (session)"],
        "IPU error state": record.error,
    }
    usage = record.usage
    if usage is None:
        return found | ({} if record.reserver is None else {"Reserved by": str(record.reserver)})
    pid, command, taken, user = who(record)
    return found | {
        "PID": pid,
        "Command": command,
        "Time": taken,
        "User": user,
        "Calls": str(usage.calls),
        "Modelled cycles": f"{usage.modelled_cycles:.0f}",
        "Bytes to IPU": str(usage.to_ipu_bytes),
        "Bytes from IPU": str(usage.from_ipu_bytes),
    }


def who(record: IpuRecord) -> list[str]:
    """Who uses an IPU: process, program, since when, user."""
    usage = record.usage
    if usage is None:
        return [str(record.reserver), "poprun (reserved)", "", _this_user()]
    taken = span_text(time.time() - usage.attached_at) if usage.attached_at else ""
    return [str(usage.pid), inventory.program(usage), taken, usage.user]


def _this_user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""
