"""gc-links: tests each IPU-Link of a system by sending data to another process and back.

The links are those of the modelled hardware: two IPUs form a rung of a ladder. A simulated fault of a link
(GCDA_OPTIONS with LINK_DOWN, HOST_LINK_DOWN ...) makes it fail.
"""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tremula.errors import Error, RecoverableError, UnrecoverableError
from tremula.hardware.system import System
from tremula.machine import faults, inventory
from tremula.machine.attach import admitted_by
from tremula.machine.counters import Meter, usage_of_this_process
from tremula.machine.occupancy import Occupancy, holders_text
from tremula.tools import tool
from tremula.tools.link_peer import exchange, peer

NAME = "gc-links"
_BLOCK = 4096
_SIDES = "ABCDEFGH"


@dataclass(frozen=True)
class Channel:
    """One link between two IPUs of the partition."""

    one: int
    other: int
    name_one: str
    name_other: str


def build_parser() -> argparse.ArgumentParser:
    """The command line."""
    made = tool.parser(NAME, "Test the IPU-Links of a partition's virtual IPUs and show their state.")
    tool.add_json(made)
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tool."""
    return tool.run(NAME, build_parser(), _test, arguments)


def _test(given: argparse.Namespace) -> int:
    occupancy = tool.occupancy()
    records = inventory.records(occupancy)
    channels = list(_channels(occupancy.system.hardware, occupancy.partition.size))
    with _whole_partition(occupancy):
        failed = _try(channels)
    pairs: dict[tuple[int, int], list[Channel]] = {}
    for each in channels:
        pairs.setdefault((each.one, each.other), []).append(each)
    if given.json_output:
        listed = [
            {
                "from pcie id": one,
                "to pcie id": other,
                "channels": [
                    {"channel": {"from": each.name_one, "to": each.name_other, **_state(each in failed)}}
                    for each in found
                ],
            }
            for (one, other), found in pairs.items()
        ]
        tool.write_json(
            {
                "virtual": True,
                "ipu to ipu": listed,
                "num ipus": occupancy.partition.size,
                "overall result": "failed" if failed else "passed",
                "training fails": len(failed),
            }
        )
        return 1 if failed else 0
    print(f"IPU-Links of partition {occupancy.partition.name}, {occupancy.partition.size} IPU(s):")
    for (one, other), found in pairs.items():
        print(f"IPU {one} ({records[one].host}) to IPU {other} ({records[other].host}):")
        for each in found:
            state = _state(each in failed)
            speed = f"gen {state['gen']}, {state['lanes']} lanes"
            print(f"  {each.name_one:10} - {each.name_other:10} {state['status']:7} {speed}")
    if not pairs:
        print("  none: one IPU has no neighbour")
    print(f"Overall result: {'FAILED' if failed else 'passed'} ({len(channels)} links, {len(failed)} fail)")
    tool.remark(f"({tool.what_this_is(occupancy)}; generation and lanes are those of the modelled machine)")
    return 1 if failed else 0


def _state(failed: bool) -> dict[str, object]:
    return (
        {"status": "failed", "gen": 0, "lanes": 0} if failed else {"status": "passed", "gen": 4, "lanes": 8}
    )


def _channels(system: System, ipus: int) -> Iterator[Channel]:
    """All links among the first `ipus` IPUs of a rack, rung by rung."""
    machine = system.machine
    for ipu in range(ipus):
        if ipu % 2 == 0 and ipu + 1 < ipus:
            for link in range(machine.pair_links):
                yield _channel(ipu, ipu + 1, "E", "W", link)
        if ipu + 2 < ipus and ipu // system.ipus_per_rack == (ipu + 2) // system.ipus_per_rack:
            for link in range(machine.rail_links):
                yield _channel(ipu, ipu + 2, "N", "S", link)


def _channel(one: int, other: int, there: str, back: str, link: int) -> Channel:
    side = _SIDES[link % len(_SIDES)]
    return Channel(one, other, f"NLC_{there}_{one}{side}", f"NLC_{back}_{other}{side}")


@contextlib.contextmanager
def _whole_partition(occupancy: Occupancy) -> Iterator[None]:
    """Keep all IPUs for the test; raises Error if one is in use."""
    places = occupancy.partition.system_range(0, occupancy.partition.size)
    if not occupancy.locks.take(places, admitted=admitted_by()):
        users = holders_text(occupancy, list(range(occupancy.partition.size)))
        raise Error(f"the links cannot be tested while the IPUs are in use:\n{users}".rstrip())
    try:
        Meter(occupancy.counters, places, replace(usage_of_this_process(), device_ipus=len(places)))
        yield
    finally:
        occupancy.locks.release(places)


def _try(channels: list[Channel]) -> set[Channel]:
    """Send data over each link; those that fail."""
    failed: set[Channel] = set()
    injector = faults.injector()
    if not channels:
        return failed
    try:
        with peer() as other:
            for each in channels:
                try:
                    if injector is not None:
                        injector.on_use((each.one, each.other))
                    if exchange(other, 1, _BLOCK):
                        failed.add(each)
                except (RecoverableError, UnrecoverableError):
                    failed.add(each)
    except ConnectionError as problem:
        raise Error(f"the links could not be tested: {problem}.") from problem
    return failed
