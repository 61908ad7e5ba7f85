"""`tremula system`: shows, lists and chooses the virtual IPUs of this machine.

The choice is kept in the user's configuration folder. The environment overrides it, so that a script can use another
system. Running programs keep the system that they started with.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.table import Table

from tremula.cli.command import Command
from tremula.hardware import catalogue
from tremula.invariants import present
from tremula.machine import systems
from tremula.machine.occupancy import current_occupancy, holders, span_text
from tremula.machine.partitions import partitions
from tremula.settings.environment import env


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(action=_show, json=False)
    actions = parser.add_subparsers(title="actions", metavar="action")

    def action(name: str, help: str, run: Callable[[argparse.Namespace], int]) -> argparse.ArgumentParser:
        added = actions.add_parser(name, help=help, description=help)
        added.set_defaults(action=run)
        return added

    show = action("show", "show the current system and the attached processes (the default)", _show)
    listing = action("list", "list the available systems", _list)
    use = action("use", "choose a system", _use)
    use.add_argument(
        "name", metavar="NAME", help="a name such as bow-pod16, pod64 or c600, or the path of a system file"
    )
    action("forget", "return to the default system, a Bow-Pod16", _forget)
    for each in (show, listing):
        each.add_argument("--json", action="store_true", help="print JSON")


def _run(args: argparse.Namespace) -> int:
    code: int = args.action(args)
    return code


def _show(args: argparse.Namespace) -> int:
    found = _current()
    if args.json:
        print(json.dumps(found, indent=2))
        return 0
    if not found["ipus"]:
        print(
            "no virtual IPUs: programs run on an IPU model without a limit on IPUs (TREMULA_VIRTUAL_IPUS=0)"
        )
        return 0
    print(
        f"{found['name']}: {found['title']}, {found['ipus']} virtual IPU(s), chosen by {found['chosen_by']}"
    )
    if found["own"]:
        print(f"  shared by programs with TREMULA_OWN_SYSTEM={found['own']} only")
    for partition in found["partitions"]:
        print(
            f"  partition {partition['name']}: {partition['ipus']} IPU(s) from number {partition['first_ipu']}"
        )
    for holder in found["attached"]:
        print(
            f"  IPU {holder['ipus'][0]}{_last(holder['ipus'])}: process {holder['pid']} "
            f"({holder['command'] or 'unknown'}){_since(holder['seconds'])}"
        )
    if not found["attached"]:
        print("  no process is attached")
    if systems.model_only():
        print("programs still see an IPU model instead of hardware (POPTORCH_IPU_MODEL is set)")
    return 0


def _current() -> dict[str, Any]:
    system = systems.current()
    if system is None:
        return {"name": None, "ipus": 0, "partitions": [], "attached": []}
    attached = []
    for partition in partitions(system):
        occupancy = present(current_occupancy(partition.name), "the partition")
        for pid, usage, held in holders(occupancy, list(range(partition.size))):
            attached.append(
                {
                    "pid": pid,
                    "user": usage.user,
                    "command": usage.command,
                    "seconds": time.time() - usage.attached_at if usage.attached_at else None,
                    "partition": partition.name,
                    "ipus": held,
                }
            )
    return {
        "name": system.name,
        "title": system.hardware.title,
        "chip": system.hardware.chip.name,
        "ipus": system.ipus,
        "chosen_by": system.chosen_by,
        "own": systems.own_name() or None,
        "partitions": [
            {"name": each.name, "first_ipu": each.first_ipu, "ipus": each.size} for each in partitions(system)
        ],
        "attached": attached,
    }


def _list(args: argparse.Namespace) -> int:
    system = systems.current()
    now = system.hardware.name if system is not None else ""
    known = map(catalogue.system, catalogue.names("system"))
    usable = [each for each in known if each.ipus <= systems.MAX_IPUS]
    rows = sorted(usable, key=lambda each: (each.chip.name, each.ipus, each.name))
    if args.json:
        plain = [
            {"name": each.name, "title": each.title, "chip": each.chip.name, "ipus": each.ipus}
            for each in rows
        ]
        print(json.dumps(plain, indent=2))
        return 0
    table = Table(box=None, pad_edge=False)
    for title in ("", "system", "chip", "IPUs", "what it is"):
        table.add_column(title, justify="right" if title == "IPUs" else "left", no_wrap=title != "what it is")
    for each in rows:
        mark = "*" if each.name == now else ""
        table.add_row(mark, each.name, each.chip.name, str(each.ipus), each.title)
    Console().print(table)
    return 0


def _use(args: argparse.Namespace) -> int:
    name = os.path.abspath(args.name) if args.name.endswith(".toml") else args.name
    system = systems.choose(name)
    print(f"The system is now {system.title} with {system.ipus} virtual IPU(s).")
    _warn_of_environment()
    return 0


def _forget(_args: argparse.Namespace) -> int:
    systems.forget()
    system = catalogue.system(systems.DEFAULT)
    print(f"The system is the default again: {system.title} with {system.ipus} virtual IPU(s).")
    _warn_of_environment()
    return 0


def _warn_of_environment() -> None:
    for name in ("TREMULA_SYSTEM", "TREMULA_VIRTUAL_IPUS"):
        if env.is_set(name):
            print(f"{name}={env.raw(name)} is set in this shell and overrides this choice. Unset {name}.")


def _since(seconds: float | None) -> str:
    return f" for {span_text(seconds)}" if seconds is not None else ""


def _last(ipus: list[int]) -> str:
    return f" to {ipus[-1]}" if len(ipus) > 1 else ""


COMMAND = Command("system", "show or choose the virtual IPUs of this machine", _add_arguments, _run)
