"""vipu: creates and lists partitions of the virtual system, like the command of a V-IPU server.

There is no server. Partitions are stored in a file of this user on this machine, so commands take effect at once.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from tremula import __version__, log
from tremula.errors import Error
from tremula.machine import inventory, partitions, systems
from tremula.machine.occupancy import Occupancy, current_occupancy, holders_text
from tremula.machine.systems import VirtualSystem
from tremula.tools import ipuof_file, reset, tool
from tremula.tools.ruled_table import table

NAME = "vipu"
#: attributes that `list ipu-attrs` shows: those that do not depend on who uses the IPU
_FIXED = (
    "board ipu index", "board serial number", "board type", "board variant", "clock", "driver version",
    "firmware version", "ipu architecture", "link speed", "link width", "remote buffers supported",
)  # fmt: skip


def build_parser() -> argparse.ArgumentParser:
    """The command line."""
    made = tool.parser(NAME, "Divide the virtual system of this machine into partitions.")
    made.add_argument(
        "--server-version", action="store_true", help="show the version of the server (here: of Tremula)"
    )
    _connection(made)
    verbs = made.add_subparsers(title="commands", metavar="command", dest="verb")
    _listing(_verb(verbs, "list", "list partitions, allocations or ipu-attrs"))
    _create(_verb(verbs, "create", "make a partition"))
    _get(_verb(verbs, "get", "show a partition"))
    _plain(_verb(verbs, "reset", "reset the IPUs of a partition"), _reset)
    removing = _plain(_verb(verbs, "remove", "remove a partition"), _remove)
    removing.add_argument("-f", "--force", action="store_true", help="remove it even if programs use it")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tool."""
    made = build_parser()
    return tool.run(NAME, made, lambda given: _do(given, made), arguments)


_Verbs = argparse._SubParsersAction  # what add_subparsers gives has no public name


def _verb(verbs: _Verbs[argparse.ArgumentParser], name: str, help: str) -> argparse.ArgumentParser:
    made = verbs.add_parser(name, help=help, description=help.capitalize() + ".")
    _connection(made)
    return made


def _connection(made: argparse.ArgumentParser) -> None:
    """Options that say where a server is; they may stand before or behind the command."""
    for names in (
        ("-H", "--api-host"),
        ("--api-port",),
        ("--api-user-id",),
        ("--api-access-key",),
        ("--config",),
    ):
        made.add_argument(
            *names, metavar="VALUE", default=argparse.SUPPRESS, help="has no effect here: there is no server"
        )


def _listing(made: argparse.ArgumentParser) -> None:
    what = ("partitions", "partition", "allocations", "allocation", "ipu-attrs")
    made.add_argument("what", choices=what, metavar="partitions|allocations|ipu-attrs")
    made.set_defaults(action=_list)


def _plain(
    made: argparse.ArgumentParser, action: Callable[[argparse.Namespace], int]
) -> argparse.ArgumentParser:
    made.add_argument("what", choices=("partition",), metavar="partition")
    made.add_argument("name", metavar="NAME", help="name of the partition")
    made.set_defaults(action=action)
    return made


def _create(made: argparse.ArgumentParser) -> None:
    _plain(made, _make)
    made.add_argument(
        "-s", "--size", type=tool.positive, required=True, metavar="N", help="number of IPUs, a power of two"
    )
    made.add_argument("--reconfigurable", action="store_true", help="allow devices of any size")
    made.add_argument(
        "--num-gcds", "--gcds", type=tool.positive, default=1, metavar="N", help="graph compile domains"
    )
    made.add_argument("--allocation", default="", metavar="NAME", help="stored and shown only")
    made.add_argument(
        "--sync-type", choices=partitions.SYNC_TYPES, metavar="TYPE", help=", ".join(partitions.SYNC_TYPES)
    )
    made.add_argument(
        "--index",
        type=tool.whole_number,
        metavar="N",
        help="position of the partition, counted in partitions of this size",
    )
    for name in ("--gw-routing", "--routing", "--cluster", "--num-ilds", "--topology"):
        made.add_argument(name, metavar="VALUE", help="has no effect here")


def _get(made: argparse.ArgumentParser) -> None:
    _plain(made, _show)
    made.add_argument(
        "--gcd", type=tool.whole_number, default=0, metavar="N", help="graph compile domain (default: 0)"
    )
    made.add_argument(
        "--ipuof-configs",
        "--ipu-configs",
        action="store_true",
        help="print the configuration file that programs read",
    )


def _do(given: argparse.Namespace, made: argparse.ArgumentParser) -> int:
    for name in ("api_host", "api_port", "api_user_id", "api_access_key", "config"):
        if hasattr(given, name):
            log.no_effect(
                "--" + name.replace("_", "-"),
                "there is no V-IPU server; partitions are local to this machine",
            )
    if given.server_version:
        print(f"version: {__version__}\nhost: none: virtual IPUs of this machine, Tremula")
        return 0
    if given.verb is None:
        made.print_help(sys.stderr)
        return 2
    code: int = given.action(given)
    return code


def _system() -> VirtualSystem:
    found = systems.current()
    if found is None:
        raise tool.no_ipus()
    return found


def _occupancy(name: str) -> Occupancy:
    found = current_occupancy(name)
    if found is None:
        raise tool.no_ipus()
    return found


def _list(given: argparse.Namespace) -> int:
    system = _system()
    if given.what.startswith("allocation"):
        machines = -(-system.ipus // system.hardware.machine.ipus)
        agents = " ".join(f"ag{number}" for number in range(machines))
        lines = table(("Allocation ID", "Agents"), [(f"c{system.ipus}", agents)], ruled_above=True)
    elif given.what == "ipu-attrs":
        lines = table(("Agent", "IPU", "Attribute", "Value"), list(_attributes()))
    else:
        head = ("Partition", "Cluster", "ILDs", "GW Routing", "ILD Routing", "Size", "GCDs", "State")
        rows = [_row(system, each) for each in partitions.partitions(system)]
        lines = table(head, rows)
    print("\n".join(lines))
    return 0


def _row(system: VirtualSystem, each: partitions.Partition) -> tuple[str, ...]:
    ilds, size, gcds = str(_racks(system, each)), str(each.size), str(each.gcds)
    return (each.name, system.name, ilds, "DEFAULT", "DNC", size, gcds, "ACTIVE")


def _racks(system: VirtualSystem, partition: partitions.Partition) -> int:
    """IPU-Link domains that a partition reaches over."""
    per_rack = system.hardware.ipus_per_rack
    ipus = partition.system_range(0, partition.size)
    return ipus[-1] // per_rack - ipus[0] // per_rack + 1


def _attributes() -> list[tuple[str, str, str, str]]:
    rows = []
    for occupancy in inventory.rooms(every_partition=True):
        for record in inventory.records(occupancy):
            values = inventory.attributes(occupancy, record)
            shown = [(name, values[name]) for name in _FIXED]
            for number, (name, value) in enumerate(shown):
                agent = f"ag{record.machine}" if number == 0 else ""
                rows.append((agent, str(record.number) if number == 0 else "", name, value))
    return rows


def _make(given: argparse.Namespace) -> int:
    for name in ("gw_routing", "routing", "cluster", "num_ilds", "topology"):
        if getattr(given, name) is not None:
            log.no_effect(
                "--" + name.replace("_", "-"), "the modelled hardware defines how virtual IPUs are connected"
            )
    if given.reconfigurable and given.sync_type not in (None, "c2-compatible"):
        raise Error("a reconfigurable partition has the sync type c2-compatible; leave --sync-type out.")
    made = partitions.create(
        _system(),
        given.name,
        given.size,
        reconfigurable=given.reconfigurable,
        gcds=given.num_gcds,
        allocation=given.allocation,
        sync_type=given.sync_type or "c2-compatible",
        index=given.index,
    )
    paths = ipuof_file.write(_occupancy(made.name))
    print(f"create partition ({made.name}): success.")
    for path in paths:
        tool.remark(
            f"(written: {path}; programs use the partition with IPUOF_VIPU_API_PARTITION_ID={made.name})"
        )
    return 0


def _show(given: argparse.Namespace) -> int:
    occupancy = _occupancy(given.name)
    if given.ipuof_configs:
        tool.write_json(ipuof_file.content(occupancy, given.gcd))
        return 0
    partition = occupancy.partition
    used = sorted({usage.pid for ipu in range(partition.size) if (usage := occupancy.usage(ipu)) is not None})
    rows = [
        ("Name", partition.name),
        ("State", "PS_ACTIVE"),
        ("Cluster", occupancy.system.name),
        ("Allocation", partition.allocation or "-"),
        ("Size", str(partition.size)),
        ("IPUs of the system", f"{partition.first_ipu} to {partition.first_ipu + partition.size - 1}"),
        ("Reconfigurable", "true" if partition.reconfigurable or not partition.made_by_user else "false"),
        ("GCDs", str(partition.gcds)),
        ("Sync type", partition.sync_type),
        ("Used by processes", " ".join(map(str, used)) or "none"),
    ]
    print("\n".join(table(("Property", "Value"), rows, ruled_above=True)))
    return 0


def _reset(given: argparse.Namespace) -> int:
    occupancy = _occupancy(given.name)
    reset.reset(occupancy, list(range(occupancy.partition.size)))
    print(f"reset partition ({occupancy.partition.name}): success.")
    return 0


def _remove(given: argparse.Namespace) -> int:
    occupancy = _occupancy(given.name)
    ipus = list(range(occupancy.partition.size))
    users = holders_text(occupancy, ipus)
    if users and not given.force:
        raise Error(f"partition {given.name} is in use; use --force to remove it anyway:\n{users}".rstrip())
    gone = partitions.remove(occupancy.system, given.name)
    ipuof_file.remove(occupancy)
    print(f"remove partition ({gone.name}): success.")
    return 0
