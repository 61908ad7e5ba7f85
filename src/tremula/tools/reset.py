"""gc-reset: resets a device. Clears its counters and arms simulated faults again."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from tremula.errors import Error
from tremula.machine import faults
from tremula.machine.attach import admitted_by
from tremula.machine.occupancy import Occupancy, holders_text
from tremula.tools import tool

NAME = "gc-reset"


def build_parser() -> argparse.ArgumentParser:
    """The command line."""
    made = tool.parser(NAME, "Reset an unused virtual device: clear its counters and arm simulated faults.")
    tool.add_device(made, default=None)
    made.add_argument("-a", "--all", action="store_true", help="reset all devices of the partition")
    tool.add_json(made)
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tool."""
    return tool.run(NAME, build_parser(), _reset, arguments)


def _reset(given: argparse.Namespace) -> int:
    occupancy = tool.occupancy()
    if given.all == (given.device_id is not None):
        raise Error("no device was given; use -d (`gc-info -l` lists the devices) or --all.")
    if given.all:
        ipus = list(range(occupancy.partition.size))
    else:
        ipus = list(tool.device_of(occupancy, given.device_id).ipus)
    had_faults = reset(occupancy, ipus)
    if given.json_output:
        tool.write_json(
            {"virtual": "true", "reset": [str(ipu) for ipu in ipus], "faults cleared": had_faults}
        )
        return 0
    which = f"IPU {ipus[0]}" if len(ipus) == 1 else f"IPUs {ipus[0]} to {ipus[-1]}"
    print(f"Reset of {which} done{'; simulated faults are armed again' if had_faults else ''}.")
    return 0


def reset(occupancy: Occupancy, ipus: list[int]) -> bool:
    """Reset IPUs of a partition; True if one of them had a simulated fault; raises Error if one of them is in use."""
    places = occupancy.partition.system_range(ipus[0], len(ipus))
    if not occupancy.locks.take(places, admitted=admitted_by()):
        raise Error(f"cannot reset IPUs that are in use:\n{holders_text(occupancy, ipus)}".rstrip())
    try:
        for place in places:
            occupancy.counters.reset(place)
        return faults.reset(occupancy, places)
    finally:
        occupancy.locks.release(places)
