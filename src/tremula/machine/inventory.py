"""What is known of each virtual IPU, as the strings that the vendor's tools and library show.

Keys are those of the vendor's tools. Serial numbers and addresses have the known form, and are plainly not real:
serial numbers come from the host's name, addresses from the range that is set aside for documentation (192.0.2.x).
Versions are Tremula's. What a real device would count and a virtual one cannot, such as link errors, is 0.
"""

from __future__ import annotations

import hashlib
import re
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass

from tremula import __version__
from tremula.machine import faults, partitions, sensors
from tremula.machine.counters import Usage
from tremula.machine.occupancy import Occupancy, current_occupancy
from tremula.machine.sensors import IpuSensors, Reading

#: shown where there is no figure
UNKNOWN = "N/A"
#: attributes that come from a model of the hardware, not from a measurement
MODELLED = ("average board temp", "average die temp", "clock", "ipu power", "total board power")
#: board type, board variant by machine of the catalogue
_BOARDS = {
    "m2000": ("M2000", "M2000"),
    "bow2000": ("M2000", "BOW2000"),
    "c2": ("C2", "C2"),
    "c600": ("C600", "C600"),
}
#: machines that sit in the host, one IPU or two to a card
_CARDS = ("c2", "c600")
#: bytes of the tables through which a board reaches the host's memory: published samples of gc-info
_HOST_TABLES = {"c2": (17_045_651_456, 134_217_728), "c600": (16_911_433_728, 268_435_456)}
_HOST_TABLES_OF_MACHINES = (34_082_914_304, 268_435_456)


@dataclass(frozen=True)
class IpuRecord:
    """One IPU of a partition."""

    id: int  #: its device id in the partition
    machine: int  #: the machine that it is in, counted in the system
    board: int  #: the board that it is on, counted in the system
    number: int  #: its number in the machine: the last comes first
    host: str  #: address of its machine, or the slot of its card
    serial: str  #: serial number of its board
    on_card: bool  #: whether it sits in the host rather than in a machine of its own
    usage: Usage | None  #: what the process that holds it does; None if none does
    reserver: int | None  #: the launcher that keeps it, if no process holds it
    sensors: IpuSensors  #: what its sensors would show
    error: str  #: its error state


def rooms(*, every_partition: bool = False) -> list[Occupancy]:
    """The partition that this process uses, or all of them; empty on a machine without IPUs.

    Raises Error if what was chosen does not exist, or its files cannot be used.
    """
    if not every_partition:
        found = current_occupancy()
        return [] if found is None else [found]
    from tremula.machine import systems

    system = systems.current()
    if system is None:
        return []
    occupancies = (current_occupancy(each.name) for each in partitions.partitions(system))
    return [each for each in occupancies if each is not None]


def records(occupancy: Occupancy) -> list[IpuRecord]:
    """All IPUs of a partition."""
    machine = occupancy.system.hardware.machine
    per_board = sensors.ipus_per_board(machine)
    first = occupancy.partition.first_ipu
    usages = {first + ipu: occupancy.usage(ipu) for ipu in range(occupancy.partition.size)}
    errors = faults.error_states(occupancy)
    shown: dict[int, list[IpuSensors]] = {}
    found = []
    for ipu in range(occupancy.partition.size):
        place = first + ipu
        board = sensors.board_of(place, machine)
        if board not in shown:
            neighbours = range(board * per_board, (board + 1) * per_board)
            shown[board] = sensors.sense(
                occupancy.system.hardware, [_busy(_neighbour(occupancy, each, usages)) for each in neighbours]
            )
        usage = usages[place]
        found.append(
            IpuRecord(
                id=ipu,
                machine=place // machine.ipus,
                board=board,
                number=machine.ipus - 1 - place % machine.ipus,
                host=_host(machine.name, place, place // machine.ipus),
                serial=_serial(place // machine.ipus, machine.boards - board % machine.boards),
                on_card=machine.name in _CARDS,
                usage=usage,
                reserver=occupancy.reserver(ipu) if usage is None else None,
                sensors=shown[board][place % per_board],
                error=errors.get(place, "no errors"),
            )
        )
    return found


def attributes(occupancy: Occupancy, record: IpuRecord) -> dict[str, str]:
    """The attributes of one IPU, sorted as the tools show them: id and target first."""
    machine = occupancy.system.hardware.machine
    partition = occupancy.partition
    kind, variant = board_names(occupancy)
    major, minor, patch = __version__.split(".")[:3]
    att, pt = _HOST_TABLES.get(machine.name, _HOST_TABLES_OF_MACHINES)
    usage = record.usage
    shown = sensors.utilisation_shown()
    values = {
        "average board temp": degrees(record.sensors.board_celsius),
        "average die temp": degrees(record.sensors.die_celsius),
        "board ipu index": str(record.number),
        "board serial number": record.serial,
        "board type": kind,
        "board variant": variant,
        "clock": clock(record.sensors.clock_hz),
        "driver version": f"virtual, tremula {__version__}",
        "firmware major version": major,
        "firmware minor version": minor,
        "firmware patch version": patch,
        "firmware version": __version__,
        "graph streaming": "true",
        "hexoatt active size (bytes)": "0",
        "hexoatt total size (bytes)": str(att),
        "hexopt active size (bytes)": "0",
        "hexopt total size (bytes)": str(pt),
        "host link correctable error count": "0",
        "ipu architecture": occupancy.system.hardware.chip.architecture,
        "ipu error state": record.error,
        "ipu power": UNKNOWN
        if record.sensors.ipu_watts is None
        else f"{record.sensors.ipu_watts.value:.2f}W",
        "ipu utilisation": per_cent(usage.utilisation() if usage else 0.0) if shown else UNKNOWN,
        "ipu utilisation (session)": per_cent(usage.session_utilisation() if usage else 0.0)
        if shown
        else UNKNOWN,
        "link correctable error count": "0",
        "link speed": "8 GT/s" if machine.name == "c2" else "16 GT/s",
        "link width": "8",
        "numa node": "0",
        "number of replicas": str(partition.gcds),
        "parity initialised": "1",
        "partition sync type": partition.sync_type,
        "pci id": record.host if record.on_card else str(record.number),
        "pcie physical slot": str(record.machine if record.on_card else record.number),
        "reconfigurable partition": _word(partition.reconfigurable or not partition.made_by_user),
        "remote buffers": "1",
        "remote buffers supported": "1",
        "total board power": watts(record.sensors.board_watts),
        "virtual": "true",
    }
    if not record.on_card:
        values |= {
            "config domain": str(record.machine),
            "gateway software version": __version__,
            "ipuof host": record.host,
            "ipuof partition id": partition.name,
            "ipuof routing id": "0",
            "ipuof routing type": "DNC",
            "ipuof server version": __version__,
        }
    if usage is not None:
        values |= _in_use(usage)
    return {"id": str(record.id), "target": target(record)} | dict(sorted(values.items()))


def all_attributes(found: list[Occupancy]) -> Iterator[dict[str, str]]:
    """The attributes of every IPU of these partitions."""
    for occupancy in found:
        for record in records(occupancy):
            yield attributes(occupancy, record)


def target(record: IpuRecord) -> str:
    """How the host reaches an IPU."""
    return "PCIe" if record.on_card else "Fabric"


def board_names(occupancy: Occupancy) -> tuple[str, str]:
    """Type and variant of the system's boards; those of your own machines have their name."""
    name = occupancy.system.hardware.machine.name
    return _BOARDS.get(name, (name.upper(), name.upper()))


def program(usage: Usage) -> str:
    """The program as a process list would show it: a Python script runs in `python`."""
    first, _, rest = usage.command.partition(" ")
    if not first:
        return ""
    command = f"{first} {rest}".rstrip()
    return f"python {command}" if first.endswith(".py") or first == "-c" else command


def clock(hertz: float) -> str:
    """As the tools write it: 1850MHz."""
    return f"{hertz / 1e6:.0f}MHz"


def degrees(reading: Reading | None) -> str:
    """As the tools write it: 34.5 C."""
    return UNKNOWN if reading is None else f"{reading.value:.1f} C"


def watts(reading: Reading | None) -> str:
    """As the tools write it: 114.7 W."""
    return UNKNOWN if reading is None else f"{reading.value:.1f} W"


def per_cent(share: float) -> str:
    """As the tools write it: 12.34%."""
    return f"{100.0 * share:.2f}%"


def _in_use(usage: Usage) -> dict[str, str]:
    values = {
        "user executable": program(usage).partition(" ")[0] or "unknown",
        "user name": usage.user or "unknown",
        "user process id": str(usage.pid),
    }
    if usage.attached_at:
        values["process start time"] = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(usage.attached_at))
    return values


def _neighbour(occupancy: Occupancy, place: int, usages: dict[int, Usage | None]) -> Usage | None:
    """What an IPU of the system does, also when it is in another partition."""
    if place in usages:
        return usages[place]
    return occupancy.usage(place - occupancy.partition.first_ipu)


def _busy(usage: Usage | None) -> float:
    return 0.0 if usage is None else usage.utilisation()


def _host(machine: str, place: int, index: int) -> str:
    if machine in _CARDS:  # each IPU is a device of its own on the bus
        return f"{place // 200:04x}:{0x1A + place % 200:02x}:00.0"
    return f"192.0.2.{index + 1}"


def _serial(index: int, board: int) -> str:
    """In the known form: four digits, the board in its machine, the delivery."""
    seed = hashlib.sha256(socket.gethostname().encode()).digest()
    delivery = 9_000_000 + int.from_bytes(seed[:4]) % 1_000_000
    return f"{index + 1:04d}.{board:04d}.{delivery}"


def _word(value: bool) -> str:
    return "true" if value else "false"


def label(attribute: str) -> str:
    """`ipu power` as a constant: IpuPower."""
    return "".join(word.capitalize() for word in re.findall(r"[a-z0-9]+", attribute))
