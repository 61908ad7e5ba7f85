"""Traffic between IPUs: which links a transfer takes, how full they get, how long that lasts.

IPUs stand on a ladder, two to a rung. A transfer to the other side crosses its rung first and then goes straight
up or down, in a torus the shorter way round; to another rack it goes through the gateway of its machine. Links
work at the same time, so the fullest one decides. Topology, rates and the length of a sync are those of PopLibs'
multi-IPU model (poplibs_test/Util.cpp).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tremula.errors import Error
from tremula.hardware.system import System
from tremula.plan.cost import Why
from tremula.schedule.constants import FITTED_SCHEDULE, ScheduleConstants

_SOURCE = "PopLibs poplibs_test/Util.cpp; pieces fitted (schedule/constants.py)"
#: share of the GW-Links' nominal rate that data gets; not published, taken as that of IPU-Links (PopLibs Util.cpp)
GATEWAY_EFFICIENCY = 0.85


@dataclass(frozen=True, order=True)
class Link:
    """The links of one kind that leave an IPU: pair, cross, up or down; or a machine: gateway."""

    kind: str
    #: the IPU, or the machine of a gateway
    at: int


@dataclass(frozen=True)
class Transfer:
    """The cost of one exchange between IPUs."""

    #: all of it: sync, latency and the transfer itself
    seconds: float
    sync_seconds: float
    #: bytes that each link carries
    bytes_by_link: Mapping[Link, float]
    why: Why


def gateway_bytes_per_second(system: System) -> float:
    """Usable rate of the GW-Links of one machine; 0 if it has none."""
    return GATEWAY_EFFICIENCY * system.link_bytes_per_second("gateway")


def sync_seconds(system: System, ipus: int) -> float:
    """Time for `ipus` IPUs to agree that a phase is over; 0 for one, whose tiles sync among themselves."""
    if ipus <= 1:
        return 0.0
    hops = 1 + ipus // 2 // 2
    return 2 * hops * system.machine.sync_hop_seconds


def route(system: System, source: int, destination: int) -> Iterator[Link]:
    """The links from one IPU to another, in order.

    Raises:
        Error: one of them is not in the system, or no link leads there.
    """
    for ipu in (source, destination):
        if not 0 <= ipu < system.ipus:
            raise Error(
                f"There is no IPU {ipu} in {system.name}, which has {system.ipus}; use a larger system."
            )
    if source == destination:
        return
    if source // system.ipus_per_rack != destination // system.ipus_per_rack:
        # gateways of the same place in each rack are joined; what is left of the way is on links of the far rack
        yield Link("gateway", source // system.machine.ipus)
        first = destination // system.ipus_per_rack * system.ipus_per_rack
        yield from route(system, first + source % system.ipus_per_rack, destination)
        return
    if source // 2 == destination // 2:
        yield Link("pair", source)
        return
    at = source
    if at % 2 != destination % 2:
        yield Link("cross", at)
        at ^= 1
    rungs = system.ipus_per_rack // 2
    ahead = (destination // 2 - at // 2) % rungs
    upwards = 2 * ahead <= rungs if system.wraps else at < destination
    rack = at // system.ipus_per_rack * system.ipus_per_rack
    for _ in range(ahead if upwards else rungs - ahead):
        yield Link("up" if upwards else "down", at)
        at = rack + (at - rack + (2 if upwards else -2)) % system.ipus_per_rack


def bytes_by_link(system: System, transfers: Mapping[tuple[int, int], float]) -> dict[Link, float]:
    """Bytes that each link carries for `transfers`: bytes by (from, to)."""
    carried: dict[Link, float] = {}
    for (source, destination), size in transfers.items():
        for link in route(system, source, destination):
            carried[link] = carried.get(link, 0.0) + size
    return carried


def exchange(
    system: System,
    transfers: Mapping[tuple[int, int], float],
    *,
    pieces: int = 1,
    ipus: int | None = None,
    constants: ScheduleConstants = FITTED_SCHEDULE,
) -> Transfer:
    """The cost of all `transfers` at once.

    Args:
        system: the links.
        transfers: bytes by (from IPU, to IPU).
        pieces: separate pieces that the busiest tile sends to other IPUs. A tensor that lies in one piece on
            each tile has 1; a halo whose points are strided has one per point.
        ipus: IPUs that must agree before and after; all that occur in `transfers` if None.
        constants: the fitted ones.
    """
    carried = bytes_by_link(
        system, {pair: size for pair, size in transfers.items() if size > 0 and pair[0] != pair[1]}
    )
    involved = ipus if ipus is not None else len({ipu for pair in transfers for ipu in pair})
    sync = sync_seconds(system, involved)
    if not carried:
        why = Why(plan="nothing crosses between IPUs", formula="0", source=_SOURCE)
        return Transfer(0.0, 0.0, {}, why)
    busiest, slowest = "", 0.0
    for link, size in carried.items():
        rate = (
            gateway_bytes_per_second(system)
            if link.kind == "gateway"
            else system.link_bytes_per_second(link.kind)
        )
        if not rate:
            raise Error(
                f"{system.name} has no {link.kind} links, so IPUs {sorted({i for p in transfers for i in p})} cannot "
                "reach each other; use another system, or add the links to its machine's file (docs/hardware.md)."
            )
        if size / rate > slowest:
            busiest, slowest = f"{link.kind} links of {link.at}", size / rate
    issue = pieces * constants.piece_cycles / system.chip.clock_hz
    latency = system.machine.link_latency_seconds
    seconds = sync + latency + slowest + issue
    total = float(sum(transfers.values()))
    why = Why(
        plan=f"{total:,.0f} bytes between {involved} IPUs, {pieces} pieces from the busiest tile; fullest: {busiest}",
        formula="sync + latency + bytes on the fullest links / their rate + pieces x cycles per piece / clock",
        source=_SOURCE,
        figures={
            "sync seconds": sync,
            "latency seconds": latency,
            "fullest link seconds": slowest,
            "pieces seconds": issue,
        },
    )
    return Transfer(seconds, sync, carried, why)


def stage_copies(
    system: System,
    bytes_between: Mapping[tuple[int, int], float],
    ipus_per_replica: int,
    *,
    constants: ScheduleConstants = FITTED_SCHEDULE,
) -> Transfer:
    """The copies between the stages of a pipeline after one of its cycles: all at once, on each replica's own links.

    Args:
        system: the links.
        bytes_between: bytes by (IPU of the replica that sends, IPU that receives).
        ipus_per_replica: IPUs that wait for each other.
        constants: the fitted ones.
    """
    return exchange(system, bytes_between, ipus=ipus_per_replica, constants=constants)


def halo_transfers(grid: tuple[int, int], edges: tuple[float, float]) -> dict[tuple[int, int], float]:
    """Transfers of a halo over IPUs that lie on a grid of rows x columns, numbered row by row.

    Args:
        grid: rows and columns of IPUs.
        edges: bytes that an IPU sends to the one above or below it, and to the one beside it.
    """
    rows, columns = grid
    transfers: dict[tuple[int, int], float] = {}
    for row in range(rows):
        for column in range(columns):
            here = row * columns + column
            if row + 1 < rows:
                transfers[here, here + columns] = transfers[here + columns, here] = edges[0]
            if column + 1 < columns:
                transfers[here, here + 1] = transfers[here + 1, here] = edges[1]
    return transfers
