"""gc-inventory: shows the attributes of all IPUs as text or JSON."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from tremula.formatting import plain
from tremula.machine import inventory
from tremula.tools import tool

NAME = "gc-inventory"


def build_parser() -> argparse.ArgumentParser:
    """The command line."""
    made = tool.parser(NAME, "Show all attributes of all virtual IPUs.")
    tool.add_json(made)
    made.add_argument(
        "--all-partitions", action="store_true", help="show all partitions, not only the active one"
    )
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tool."""
    return tool.run(NAME, build_parser(), _show, arguments)


def _show(given: argparse.Namespace) -> int:
    found = inventory.rooms(every_partition=given.all_partitions)
    if not found:
        raise tool.no_ipus()
    devices = list(inventory.all_attributes(found))
    if given.json_output:
        tool.write_json({"devices": devices, "modelled": list(inventory.MODELLED)})
        return 0
    for device in devices:
        print(f"Device {device['id']}:")
        for name, value in device.items():
            print(f"  {name}: {plain(value, lines=False)}")
    tool.remark(f"({tool.what_this_is(found[0])}; modelled: {', '.join(inventory.MODELLED)})")
    return 0
