"""gc-iputraffictest and gc-gwlinkstraffictest: send data between two devices in both directions and check it.

Two processes of this host represent the two devices, so the rate is that of this host. The rate of the modelled links
is listed separately.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
from collections.abc import Sequence
from typing import Any

from tremula.errors import Error
from tremula.hardware.system import System
from tremula.machine import inventory
from tremula.tools import tool
from tremula.tools.device_test import DeviceTest, Findings, source, under_test
from tremula.tools.link_peer import exchange, peer

_BLOCK = 65_536
_IPU, _GATEWAY = "gc-iputraffictest", "gc-gwlinkstraffictest"


def build_parser() -> argparse.ArgumentParser:
    """The command line."""
    made = tool.parser(_IPU, "Move data between two virtual IPUs and check it at both ends.")
    _add_options(made)
    for number, end in enumerate(("one end", "the other")):
        made.add_argument(
            f"--device{number}", type=tool.whole_number, default=number, metavar="ID",
            help=f"{end} (default: {number})",
        )  # fmt: skip
    made.add_argument(
        "--all-links", action="store_true", help="test all pairs of neighbours in the partition"
    )
    made.add_argument("--single-ipu", action="store_true", help="test one IPU (--device0) with itself")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """gc-iputraffictest."""
    return tool.run(_IPU, build_parser(), _ipu_traffic, arguments)


def build_parser_gateway() -> argparse.ArgumentParser:
    """The command line."""
    made = tool.parser(
        _GATEWAY,
        "Move data between virtual IPUs of different racks, which GW-Links connect, and check it.",
    )
    _add_options(made)
    return made


def main_gateway(arguments: Sequence[str] | None = None) -> int:
    """gc-gwlinkstraffictest."""
    return tool.run(_GATEWAY, build_parser_gateway(), _gateway_traffic, arguments)


def _add_options(made: argparse.ArgumentParser) -> None:
    tool.add_json(made)
    tool.add_count(made, "--iterations", 1000, "number of 64 KB blocks")
    made.add_argument("--forever", action="store_true", help="repeat until Ctrl-C")


def _ipu_traffic(given: argparse.Namespace) -> int:
    occupancy = tool.occupancy()
    pairs = [(given.device0, given.device0 if given.single_ipu else given.device1)]
    if given.all_links:
        last = occupancy.partition.size - 1
        pairs = [(ipu, ipu + step) for ipu in range(occupancy.partition.size) for step in (1, 2)
                 if ipu + step <= last and (step == 2 or ipu % 2 == 0)]  # fmt: skip
        if not pairs:
            raise Error("this partition has one IPU and no links; use --single-ipu to test it with itself.")
    return _repeat(given, pairs, "tile_to_tile", occupancy.system.hardware)


def _gateway_traffic(given: argparse.Namespace) -> int:
    occupancy = tool.occupancy()
    system = occupancy.system.hardware
    first = occupancy.partition.first_ipu
    racks: dict[int, int] = {}
    for ipu in range(occupancy.partition.size):
        racks.setdefault((first + ipu) // system.ipus_per_rack, ipu)
    if len(racks) < 2:
        raise Error(
            f"the IPUs of partition {occupancy.partition.name} are in one rack, but GW-Links connect racks. For a "
            "system with several racks: `tremula system use bow-pod128`."
        )
    ends = list(racks.values())
    pairs = list(itertools.pairwise(ends))
    return _repeat(given, pairs, "gw_links", system, gateway=True)


def _repeat(
    given: argparse.Namespace,
    pairs: list[tuple[int, int]],
    key: str,
    system: System,
    *,
    gateway: bool = False,
) -> int:
    code = 0
    while True:
        found = [_pair(one, other, given.iterations, system, gateway=gateway) for one, other in pairs]
        code = max(code, *(1 if each.values["errors"] else 0 for each in found))
        if given.json_output:
            results: Any = [each.as_json() for each in found]
            tool.write_json({key: results[0] if len(results) == 1 else results})
        else:
            for each in found:
                _print_findings(each)
        if not given.forever:
            return code


def _print_findings(found: Findings) -> None:
    values = found.values
    print(f"device {values['device0']} to device {values['device1']}, both ways:")
    print(
        f"  {values['kbytes_transferred']:,} KB in {values['duration_sec']:.4f} s, {values['errors']} errors"
    )
    print("\n".join(found.lines()))
    print(f"Result: {'FAIL' if values['errors'] else 'Pass'}")


def _pair(one: int, other: int, count: int, system: System, *, gateway: bool) -> Findings:
    with contextlib.ExitStack() as held:
        first = held.enter_context(under_test(one))
        second = None if one == other else held.enter_context(under_test(other))
        boards = _boards(first, second or first)
        channel = held.enter_context(peer())
        exchange(channel, 1, _BLOCK)  # the other process is there
        moved = 2 * count * _BLOCK
        with (
            first.use(sent=moved // 2, fetched=moved // 2) as watch,
            second.use() if second is not None else contextlib.nullcontext(),
        ):
            errors = exchange(channel, count, _BLOCK)
    gbps = 8 * moved / watch.seconds / 1e9
    rate, where = _modelled(system, one, other, gateway=gateway)
    return Findings(
        {
            "boards": boards,
            "device0": one,
            "device1": other,
            "duration_sec": watch.seconds,
            "kbytes_transferred": moved // 1024,
            "gbytes_transferred": moved / 2**30,
            "gbps": gbps,
            "errors": errors,
            "power": {"modelled": {serial: board["board_power"] for serial, board in boards.items()}},
        },
        {"Gbit/s, both directions": gbps},
        {"Gbit/s, both directions": (rate, where)},
    )


def _boards(*tests: DeviceTest) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for test in tests:
        kind, _ = inventory.board_names(test.occupancy)
        for record in inventory.records(test.occupancy):
            if record.id not in test.device.ipus:
                continue
            board = found.setdefault(
                record.serial,
                {
                    "power_sensors": ["modelled"],
                    "device_ids": [],
                    "type": kind,
                    "board_power": inventory.watts(record.sensors.board_watts),
                },
            )
            if record.id not in board["device_ids"]:
                board["device_ids"].append(record.id)
    return found


def _modelled(system: System, one: int, other: int, *, gateway: bool) -> tuple[float, str]:
    """What the links between the two would carry, both directions together."""
    name = system.machine.name
    if gateway:
        rate = system.link_bytes_per_second("gateway")
        return 16 * rate / 1e9, "all GW-Links of a machine; " + source(name, "gateway_link_bytes_per_second")
    if one == other:
        chip = system.chip
        inside = chip.tiles * chip.exchange_bytes_per_cycle * chip.clock_hz
        return 16 * inside / 1e9, "exchange within one IPU; " + source(
            chip.name, "exchange_bytes_per_cycle", "chip"
        )
    kind = "pair" if one // 2 == other // 2 else "up"
    links = "links of a rung" if kind == "pair" else "links along the ladder"
    return 16 * system.link_bytes_per_second(kind) / 1e9, f"{links}; " + source(name, "link_bytes_per_second")
