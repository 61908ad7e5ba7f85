"""gc-powertest: puts a device under full load and prints power and temperatures every second until Ctrl-C.

The load is real: matrix products on one core of this host. The figures are modelled (`machine/sensors.py`): all sensors
of a board show one modelled power and one modelled temperature.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence

from tremula.machine import inventory, sensors
from tremula.machine.sensors import IpuSensors, Reading
from tremula.tools import box_table, tool
from tremula.tools.device_test import DeviceTest, test_parser, under_test

NAME = "gc-powertest"
_BOARD_SENSORS = ("B_COL0:1", "B_COL1:1", "B_IN:1", "B_MID:1", "B_OUT:1")
_DIE_SENSORS = ("PVT0", "PVT1", "PVT2", "PVTE")


def build_parser() -> argparse.ArgumentParser:
    """The command line."""
    made = test_parser(NAME, "Load a virtual device and show modelled power and temperatures until Ctrl-C.")
    made.add_argument("--count", type=tool.positive, metavar="N", help="stop after N lines")
    tool.add_interval(made, 0.01, "between lines")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tool."""
    return tool.run(NAME, build_parser(), _test, arguments)


def _test(given: argparse.Namespace) -> int:
    rows = []
    with under_test(given.device_id) as test:
        if not given.json_output:
            tool.remark(
                f"({tool.what_this_is(test.occupancy)}; power and temperatures are modelled, at full load)"
            )
            print("\n".join(_head(test)))
        number = 0
        while given.count is None or number < given.count:
            number += 1
            with test.use():
                _load(given.interval)
            seen = _sense(test)
            if given.json_output:
                rows.append(_as_json(number, test, seen))
                if given.count is None:
                    tool.write_json(rows.pop())
            else:
                print(_line(number, test, seen))
                sys.stdout.flush()
    if given.json_output and rows:
        tool.write_json({"virtual": True, "modelled": True, "rows": rows})
    return 0


def _load(seconds: float) -> None:
    """Keep one core of this host busy."""
    import numpy as np

    one = np.full((128, 128), 0.5, dtype=np.float32)
    product = np.empty_like(one)
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        np.matmul(one, one, out=product)


def _sense(test: DeviceTest) -> list[IpuSensors]:
    """The sensors of the board of the device's first IPU, whose IPUs under test are at full load."""
    machine = test.occupancy.system.hardware.machine
    per_board = sensors.ipus_per_board(machine)
    first = test.occupancy.partition.first_ipu
    board = sensors.board_of(first + test.device.first, machine)
    busy = []
    for place in range(board * per_board, (board + 1) * per_board):
        if place - first in test.device.ipus:
            busy.append(1.0)
        else:
            usage = test.occupancy.usage(place - first)
            busy.append(0.0 if usage is None else usage.utilisation())
    return sensors.sense(test.occupancy.system.hardware, busy)


def _tested(test: DeviceTest) -> list[int]:
    """Places on the board of the IPUs under test."""
    per_board = sensors.ipus_per_board(test.occupancy.system.hardware.machine)
    first = (test.occupancy.partition.first_ipu + test.device.first) % per_board
    return list(range(first, min(first + len(test.device.ipus), per_board)))


def _head(test: DeviceTest) -> Iterator[str]:
    tested = _tested(test)
    power = 17 + 9 * sensors.ipus_per_board(test.occupancy.system.hardware.machine)
    board = " " + "".join(f"{name:9}" for name in _BOARD_SENSORS)
    card = power + 1 + len(board)
    dies = [
        " " + "".join(f"{f'{place}:{name}':10}" for name in _DIE_SENSORS) + "CLOCK    " for place in tested
    ]
    rule = " +" + "-" * (card + sum(len(die) + 1 for die in dies) + 1)
    titles = (box_table.centred(f"IPU#{place}", len(dies[0])) for place in tested)
    yield " |" + "|".join((box_table.centred("CARD LEVEL", card), *titles)) + "|"
    yield rule
    yield " |" + "|".join((box_table.centred("XDPE132G5C", power), board, *dies)) + "|"
    yield rule


def _line(number: int, test: DeviceTest, seen: list[IpuSensors]) -> str:
    watts = "  ".join(_watts(each.ipu_watts) for each in seen)
    board = "".join(f"{_degrees(seen[0].board_celsius, 3):9}" for _ in _BOARD_SENSORS)
    cells = [f" {number:04d}: {watts}  T{_watts(seen[0].board_watts)}  ", f" {board}"]
    for place in _tested(test):
        die = "".join(f"{_degrees(seen[place].die_celsius, 5):10}" for _ in _DIE_SENSORS)
        cells.append(f" {die}{inventory.clock(seen[place].clock_hz):9}")
    return " |" + "|".join(cells) + "|"


def _watts(reading: Reading | None) -> str:
    return "   N/A " if reading is None else f"{reading.value:06.2f}W"


def _degrees(reading: Reading | None, width: int) -> str:
    if reading is None:
        return "N/A"
    return f"{reading.value:03.0f}C" if width == 3 else f"{reading.value:05.1f}C"


def _as_json(number: int, test: DeviceTest, seen: list[IpuSensors]) -> dict[str, object]:
    return {
        "number": number,
        "board_power": inventory.watts(seen[0].board_watts),
        "board_temp": inventory.degrees(seen[0].board_celsius),
        "ipus": [
            {
                "ipu_power": inventory.watts(seen[place].ipu_watts),
                "die_temp": inventory.degrees(seen[place].die_celsius),
                "clock": inventory.clock(seen[place].clock_hz),
            }
            for place in _tested(test)
        ],
    }
