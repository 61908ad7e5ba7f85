"""gc-monitor: shows the IPUs and the processes that use them.

Prints text in the usual layout for grep and awk, JSON, or a live view.
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import sys
from collections.abc import Iterator, Sequence

from tremula import __version__
from tremula.machine import inventory, sensors
from tremula.machine.inventory import IpuRecord
from tremula.machine.occupancy import Occupancy
from tremula.tools import box_table, monitor_json, tool

NAME = "gc-monitor"
_CARD_COLUMNS = {"IPU-M": 13, "Serial": 20, "IPU-M SW": 8, "Server version": 14, "ICU FW": 10, "Type": 6, "ID": 4,
                 "IPU#": 6, "Routing": 7}  # fmt: skip
_PCIE_COLUMNS = {"PCIe ID": 14, "Serial": 20, "Driver": 30, "ICU FW": 10, "Type": 6, "ID": 4, "IPU#": 6}
_WIDE = 98
#: the part of the table of processes that is as wide everywhere: PID, Time, User, ID, Clock, Temp, Temp, Power
_FIXED = (8, 8, 12, 4, 10, 8, 8, 8)
#: width of the table where there is no terminal
_IN_A_PIPE = 100
_ELSEWHERE = (4, 30, 14, 11, 11, 11)


def build_parser() -> argparse.ArgumentParser:
    """The command line."""
    made = tool.parser(NAME, "Show the virtual IPUs of this machine and the processes that use them.")
    tool.add_json(made, "--json")
    made.add_argument("--no-card-info", action="store_true", help="do not show the table of IPUs")
    made.add_argument(
        "--all-partitions", action="store_true", help="show all partitions, not only the active one"
    )
    live = "show utilisation, modelled cycles, memory and traffic until q is pressed"
    made.add_argument("--live", action="store_true", help=live)
    tool.add_interval(made, 0.05, "interval of --live")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tool."""
    return tool.run(NAME, build_parser(), _show, arguments)


def _show(given: argparse.Namespace) -> int:
    if given.live:
        from tremula.tools import live

        return live.watch(given.interval, every_partition=given.all_partitions)
    found = inventory.rooms(every_partition=given.all_partitions)
    if not found:
        raise tool.no_ipus()
    known = [(occupancy, inventory.records(occupancy)) for occupancy in found]
    if given.json_output:
        tool.write_json(monitor_json.as_json(known))
        return 0
    for occupancy, records in known:
        for line in _text(occupancy, records, cards=not given.no_card_info, active=_active(found, occupancy)):
            print(line)
    modelled = "clock, temperature and power are" if sensors.monitoring() else "the clock is"
    tool.remark(f"({tool.what_this_is(found[0])}; {modelled} modelled)")
    for occupancy, records in known:
        for record in records:
            if record.error != "no errors":
                tool.remark(f"(IPU {record.id} of {occupancy.partition.name}: {record.error}, simulated)")
    return 0


def _active(found: list[Occupancy], occupancy: Occupancy) -> bool:
    """Whether programs would use this partition."""
    if len(found) == 1:
        return True
    from tremula.settings.environment import env

    return bool(env.get("IPUOF_VIPU_API_PARTITION_ID") == occupancy.partition.name)


# -- text --------------------------------------------------------------------------------------------------


def _text(occupancy: Occupancy, records: list[IpuRecord], *, cards: bool, active: bool) -> Iterator[str]:
    if cards:
        yield from _cards(occupancy, records, active=active)
    yield from _processes(occupancy, records)


def _cards(occupancy: Occupancy, records: list[IpuRecord], *, active: bool) -> Iterator[str]:
    partition = occupancy.partition
    columns = _PCIE_COLUMNS if records[0].on_card else _CARD_COLUMNS
    widths = list(columns.values())
    state = " [active]" if active else ""
    kind = " reconfigurable" if partition.reconfigurable or not partition.made_by_user else ""
    title = f"Partition: {partition.name} (gcd:0){state} has {partition.size}{kind} IPU{'s' * (partition.size > 1)}"
    head = [15, box_table.span(widths) - 16]
    yield box_table.rule(head)
    yield box_table.row([NAME, title], head)
    yield box_table.rule(widths)
    yield box_table.row(list(columns), widths)
    yield box_table.rule(widths)
    for record, following in zip(records, [*records[1:], None], strict=True):
        yield box_table.row(_card_cells(occupancy, record), widths)
        if following is None or following.machine != record.machine:
            yield box_table.rule(widths)


def _card_cells(occupancy: Occupancy, record: IpuRecord) -> list[str]:
    kind, _ = inventory.board_names(occupancy)
    if record.on_card:
        return [record.host, record.serial, "virtual", __version__, kind, str(record.id), str(record.number)]
    where = [box_table.cut_left(record.host, 13), record.serial, *[__version__] * 3]
    return [*where, kind, str(record.id), str(record.number), "DNC"]


def _processes(occupancy: Occupancy, records: list[IpuRecord]) -> Iterator[str]:
    foreign = [each for each in records if _foreign(occupancy, each)]
    own = [each for each in records if each not in foreign and (each.usage or each.reserver is not None)]
    if not own and not foreign:
        yield from box_table.boxed(f"No attached processes in partition {occupancy.partition.name}", _WIDE)
        return
    if own:
        yield from _own_processes(occupancy, own)
    if foreign:
        yield from _foreign_processes(occupancy, foreign)


def _own_processes(occupancy: Occupancy, records: list[IpuRecord]) -> Iterator[str]:
    command = max(_WIDE, _columns()) - sum(_FIXED) - len(_FIXED) - 2
    widths = [_FIXED[0], command, *_FIXED[1:]]
    head = [box_table.span(widths[:4]), box_table.span(widths[4:7]), box_table.span(widths[7:])]
    yield box_table.rule(head)
    yield box_table.row([f"Attached processes in partition {occupancy.partition.name}", "IPU", "Board"], head)
    yield box_table.rule(widths)
    yield box_table.row(["PID", "Command", "Time", "User", "ID", "Clock", "Temp", "Temp", "Power"], widths)
    yield box_table.rule(widths)
    board = None
    for record in records:
        if board not in (None, record.board):
            yield box_table.rule(widths)
        yield box_table.row(
            [*monitor_json.who(record), *_sensed(record, with_board=record.board != board)], widths
        )
        board = record.board
    yield box_table.rule(widths)


def _foreign_processes(occupancy: Occupancy, records: list[IpuRecord]) -> Iterator[str]:
    head = [box_table.span(_ELSEWHERE[:4]), box_table.span(_ELSEWHERE[4:])]
    yield box_table.rule(head)
    yield box_table.row([f"IPUs in {occupancy.partition.name} attached from other namespaces", "Board"], head)
    yield box_table.rule(_ELSEWHERE)
    yield box_table.row(["ID", "Application host", "Clock", "Temp", "Temp", "Power"], _ELSEWHERE)
    yield box_table.rule(_ELSEWHERE)
    board = None
    for record in records:
        cells = _sensed(record, with_board=record.board != board)
        yield box_table.row([cells[0], box_table.cut_left(socket.gethostname(), 30), *cells[1:]], _ELSEWHERE)
        board = record.board
    yield box_table.rule(_ELSEWHERE)


def _foreign(occupancy: Occupancy, record: IpuRecord) -> bool:
    """Whether the holder is in another namespace of processes, such as a container's."""
    return record.usage is not None and occupancy.locks.holder(occupancy.partition.first_ipu + record.id) == 0


def _sensed(record: IpuRecord, *, with_board: bool) -> list[str]:
    seen = record.sensors
    board = [inventory.degrees(seen.board_celsius), inventory.watts(seen.board_watts)]
    return [
        str(record.id),
        inventory.clock(seen.clock_hz),
        inventory.degrees(seen.die_celsius),
        *(board if with_board else ["", ""]),
    ]


def _columns() -> int:
    looked_at = sys.stdout.isatty() or "COLUMNS" in os.environ
    return shutil.get_terminal_size((_IN_A_PIPE, 24)).columns if looked_at else _IN_A_PIPE
