"""gc-info: devices and their attributes.

Commands that read registers or tile memory fail with an explanation, because a virtual IPU has neither.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from tremula.errors import Error
from tremula.formatting import plain
from tremula.machine import device_ids, inventory
from tremula.machine.inventory import IpuRecord
from tremula.machine.occupancy import Occupancy
from tremula.settings.environment import env
from tremula.tools import tool

NAME = "gc-info"
#: supertiles side by side, and tiles in each
_COLUMNS, _TILES = 16, 4
#: what a virtual IPU cannot show, and why
_NOT_HERE = {
    "tile_status": "tiles of a virtual IPU have no registers, because programs run on this host",
    "dump_mem": "tiles of a virtual IPU have no memory of their own; tensors are in the host's memory",
    "xb_status": "a virtual IPU has no exchange block registers",
    "gsp_status": "a virtual IPU has no global sync registers",
    "pci_status": "a virtual IPU is not on a PCI bus",
}


def build_parser() -> argparse.ArgumentParser:
    """The command line."""
    made = tool.parser(
        NAME,
        "Show the virtual IPUs of this machine and their attributes.",
        usage="%(prog)s COMMAND [-d ID] [-j] [--all-partitions]",
    )
    tool.add_device(made, default=None)
    tool.add_json(made)
    command = made.add_argument_group("commands").add_mutually_exclusive_group(required=True)
    command.add_argument("-l", "--list-devices", action="store_true", help="list the devices")
    command.add_argument("-i", "--device-info", action="store_true", help="show the attributes of a device")
    command.add_argument("--ipu-arch", action="store_true", help="show the architecture of its IPUs")
    command.add_argument("--tile-clock-speed", action="store_true", help="show the clock speed of its tiles")
    command.add_argument("--ipu-count", action="store_true", help="show its number of IPUs")
    command.add_argument("--tile-overview", action="store_true", help="show the state of all its tiles")
    command.add_argument("--tile-status", metavar="TILE", help="not available on virtual IPUs (registers)")
    command.add_argument(
        "--dump-mem",
        nargs=3,
        metavar=("TILE", "ADDRESS", "LENGTH"),
        help="not available on virtual IPUs (tile memory)",
    )
    for name in ("xb", "gsp", "pci"):
        command.add_argument(
            f"--{name}-status", action="store_true", help="not available on virtual IPUs (registers)"
        )
    made.add_argument("--all-partitions", action="store_true", help="list the devices of all partitions")
    made.add_argument("-c", "--context", metavar="SU|Wn", help="with --tile-status")
    made.add_argument("-r", "--register", metavar="NAME", help="with --tile-status")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tool."""
    return tool.run(NAME, build_parser(), _show, arguments)


def _show(given: argparse.Namespace) -> int:
    for name, why in _NOT_HERE.items():
        if getattr(given, name):
            option = "--" + name.replace("_", "-")
            raise Error(f"{option} is not available: {why}. `tremula view` shows modelled figures of tiles.")
    if given.list_devices:
        return _list(given)
    occupancy = tool.occupancy()
    device = tool.device_of(occupancy, _named(given))
    records = inventory.records(occupancy)
    if given.device_info:
        return _info(given, occupancy, device, records)
    if given.tile_overview:
        print("\n".join(_overview(occupancy, [records[ipu] for ipu in device.ipus])))
        return 0
    chip = occupancy.system.hardware.chip
    answer = chip.architecture
    if given.tile_clock_speed:
        answer = inventory.clock(chip.clock_hz)
    elif given.ipu_count:
        answer = str(len(device.ipus))
    if given.json_output:
        tool.write_json({"id": str(device.id), "value": answer, "virtual": "true"})
    else:
        print(answer)
    return 0


def _named(given: argparse.Namespace) -> int:
    if given.device_id is None:
        raise Error("no device was given; use -d (`gc-info -l` lists the devices).")
    return int(given.device_id)


# -- the list ----------------------------------------------------------------------------------------------


def _list(given: argparse.Namespace) -> int:
    found = inventory.rooms(every_partition=given.all_partitions)
    if not found:
        raise tool.no_ipus()
    if given.json_output:
        listed = [_listed(occupancy) for occupancy in found]
        tool.write_json({"virtual": "true", "partitions": listed})
        return 0
    wanted = env.get("IPUOF_VIPU_API_PARTITION_ID")
    print("Graphcore device listing:")
    for occupancy in found:
        active = len(found) == 1 or occupancy.partition.name == wanted
        print(f"Partition: {occupancy.partition.name}{' [active]' if active else ''}")
        for line in _lines(occupancy):
            print(line)
    tool.remark(f"({tool.what_this_is(found[0])})")
    return 0


def _devices(occupancy: Occupancy) -> list[device_ids.Device]:
    """The devices that can be taken."""
    sizes = list(device_ids.sizes(occupancy.partition.size))
    return [device for size in sizes for device in occupancy.candidates(size)]


def _lines(occupancy: Occupancy) -> Iterator[str]:
    records = inventory.records(occupancy)
    for device in _devices(occupancy):
        if len(device.ipus) == 1:
            yield f"-+- Id: [{device.id}], {_place(records[device.first], top=True)}"
            continue
        yield f"-+- Id: [{device.id}], {'type' if records[0].on_card else 'target'}: [Multi IPU]"
        for order, ipu in enumerate(device.ipus):
            record = records[ipu]
            name = "PCIe Id" if record.on_card else "Id"
            yield f" |--- {name}: [{record.id}], DNC Id: [{order}], {_place(record, top=False)}"


def _place(record: IpuRecord, *, top: bool) -> str:
    if record.on_card:
        return ("type: [PCIe], " if top else "") + f"PCI Domain: [{record.host}]"
    return ("target: [Fabric], " if top else "") + f"IPU-M host: [{record.host}], IPU#: [{record.number}]"


def _listed(occupancy: Occupancy) -> dict[str, object]:
    devices = [{"id": str(each.id), "ipus": [str(ipu) for ipu in each.ipus]} for each in _devices(occupancy)]
    return {"partition": occupancy.partition.name, "devices": devices}


# -- one device --------------------------------------------------------------------------------------------


def _info(
    given: argparse.Namespace, occupancy: Occupancy, device: device_ids.Device, records: list[IpuRecord]
) -> int:
    several = len(device.ipus) > 1
    found = [inventory.attributes(occupancy, records[ipu]) for ipu in device.ipus]
    if given.json_output:
        whole = {"id": str(device.id), "target": "Multi IPU", "virtual": "true", "ipus": found}
        tool.write_json(whole if several else found[0])
        return 0
    print("Device Info:")
    if several:
        print(f"  id: {device.id}\n  target: Multi IPU\n  number of ipus: {len(device.ipus)}")
    for each in found:
        if several:
            print(f"IPU {each['id']}:")
        for name, value in each.items():
            print(f"  {name}: {plain(value, lines=False)}")
    tool.remark(f"(modelled: {', '.join(inventory.MODELLED)})")
    return 0


def _overview(occupancy: Occupancy, records: list[IpuRecord]) -> Iterator[str]:
    """One sign for each tile. All tiles of a virtual IPU are in the same state."""
    chip = occupancy.system.hardware.chip
    for record in records:
        usage = record.usage
        yield f"IPU {record.id} ({chip.tiles} tiles; . no program, : waits, x computes):"
        sign = "." if usage is None or not usage.model else "x" if usage.utilisation() > 0.05 else ":"
        yield "    " + "".join(f"{column:>5}" for column in range(_COLUMNS))[1:]
        supertiles = -(-chip.tiles // _TILES)
        for first in range(0, supertiles, _COLUMNS):
            cells = " ".join(sign * _TILES for _ in range(min(_COLUMNS, supertiles - first)))
            yield f"{first // _COLUMNS:>3} {cells}"
        if usage is not None and usage.tile_bytes:
            share = usage.tile_bytes / max(1, usage.tile_memory_bytes)
            yield (
                f"fullest tile: {usage.tile_bytes:,} of {usage.tile_memory_bytes:,} bytes ({share:.0%}), modelled"
            )
