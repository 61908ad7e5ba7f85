"""Collectives between replicas: all-reduce, reduce-scatter, all-gather, broadcast, as formulas.

Inside a rack the IPUs at the same place in each replica form a ring over IPU-Links; a chunk goes round one way, or
half of the data each way, or both ways until they meet. Racks are joined by a second ring through the gateways,
over which each IPU sends only the part that it holds after the first. The rings and which of them use both
directions follow PopLibs popops/Collectives.cpp (before it became GCL); no part of the cost is found by walking
over replicas, so its run time does not depend on their number.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from tremula.errors import Error
from tremula.formatting import counted
from tremula.hardware.system import System
from tremula.plan.cost import Alternative, Why
from tremula.schedule.constants import FITTED_SCHEDULE, ScheduleConstants
from tremula.schedule.links import sync_seconds

_SOURCE = "PopLibs popops/Collectives.cpp (rings), poplibs_test/Util.cpp (links); share of gateways fitted"
#: bytes that a tile adds in a cycle: three cycles for each 8-byte vector, PopLibs popopsCycleEstimators
_ADDED_BYTES_PER_CYCLE = 8 / 3


@dataclass(frozen=True)
class Collective:
    """The cost of one collective."""

    name: str
    seconds: float
    #: steps of all rings, one after the other, each with its sync
    steps: int
    #: bytes that one IPU sends over IPU-Links
    ipu_link_bytes: float
    #: bytes that one machine sends through its gateway
    gateway_bytes: float
    #: bytes that the fullest links of each kind carry, at one IPU (up, down, pair) or one machine (gateway)
    bytes_by_link: Mapping[str, float]
    why: Why


@dataclass(frozen=True)
class _Ring:
    """One way round, or both, for one phase (reduce-scatter or all-gather) over `replicas`."""

    method: str
    steps: int
    #: bytes that an IPU sends in all, and in each direction
    sent: float
    busiest_direction: float
    seconds: float


def all_reduce(
    system: System,
    size: float,
    replicas: int,
    ipus_per_replica: int = 1,
    *,
    fullest_share: float | None = None,
    constants: ScheduleConstants = FITTED_SCHEDULE,
) -> Collective:
    """The sum over all replicas, on all of them.

    Args:
        system: where the replicas are; they fill it from its first IPU on.
        size: bytes of each replica.
        replicas: how many take part.
        ipus_per_replica: IPUs over which each replica's bytes lie.
        fullest_share: part of the bytes that lies on the fullest IPU; an equal part if None.
        constants: the fitted ones.
    """
    return _collective("all-reduce", system, size, replicas, ipus_per_replica, fullest_share, constants)


def reduce_scatter(
    system: System,
    size: float,
    replicas: int,
    ipus_per_replica: int = 1,
    *,
    fullest_share: float | None = None,
    constants: ScheduleConstants = FITTED_SCHEDULE,
) -> Collective:
    """The sum over all replicas, an equal part of it on each. `size`: bytes of each replica before."""
    return _collective("reduce-scatter", system, size, replicas, ipus_per_replica, fullest_share, constants)


def all_gather(
    system: System,
    size: float,
    replicas: int,
    ipus_per_replica: int = 1,
    *,
    fullest_share: float | None = None,
    constants: ScheduleConstants = FITTED_SCHEDULE,
) -> Collective:
    """The parts of all replicas, on all of them. `size`: bytes of each replica afterwards."""
    return _collective("all-gather", system, size, replicas, ipus_per_replica, fullest_share, constants)


def broadcast(
    system: System,
    size: float,
    replicas: int,
    ipus_per_replica: int = 1,
    *,
    fullest_share: float | None = None,
    constants: ScheduleConstants = FITTED_SCHEDULE,
) -> Collective:
    """The bytes of one replica, on all of them: handed on in chunks, which costs what an all-gather does."""
    return _collective("broadcast", system, size, replicas, ipus_per_replica, fullest_share, constants)


def _collective(
    name: str,
    system: System,
    size: float,
    replicas: int,
    ipus_per_replica: int,
    fullest_share: float | None,
    constants: ScheduleConstants,
) -> Collective:
    racks = _check(system, size, replicas, ipus_per_replica)
    on_ipu = size * (fullest_share if fullest_share is not None else 1 / ipus_per_replica)
    if replicas == 1 or on_ipu == 0:
        why = Why(plan=f"{name} of one replica or of nothing: nothing to do", formula="0", source=_SOURCE)
        return Collective(name, 0.0, 0, 0.0, 0.0, {}, why)
    phases = 2 if name == "all-reduce" else 1
    in_rack = math.ceil(replicas / racks)
    rings = _rings(system, on_ipu, in_rack, ipus_per_replica)
    ring = rings[0]
    # what an IPU holds after its rack's reduce-scatter, or before its rack's all-gather, crosses between racks
    crossing = phases * (racks - 1) / racks * on_ipu / in_rack * system.machine.ipus
    between = _gateway_seconds(system, crossing, constants)
    adds = 0.0
    if name in ("all-reduce", "reduce-scatter"):
        per_tile = on_ipu * (replicas - 1) / replicas / system.chip.tiles
        adds = per_tile / _ADDED_BYTES_PER_CYCLE / system.chip.clock_hz
    seconds = phases * ring.seconds + between + adds
    figures = {
        "bytes on the fullest IPU": on_ipu,
        "replicas in a rack": float(in_rack),
        "racks": float(racks),
        "seconds on IPU-Links": phases * ring.seconds,
        "seconds through gateways": between,
        "seconds of additions": adds,
    }
    if racks == 1:
        plan = f"{name}: {ring.method} over {in_rack} replicas of {counted(ipus_per_replica, 'IPU')}"
    else:
        plan = f"{name}: {ring.method} over {in_rack} replicas in each of {racks} racks, then a ring of racks"
    why = Why(
        plan=plan,
        formula="phases x steps x (chunk / links one way + latency + sync) + part of a machine / gateways + adds",
        source=_SOURCE,
        figures=figures,
        alternatives=_alternatives(
            system, rings[1:], on_ipu, phases, replicas, racks, ipus_per_replica, between + adds, constants
        ),
    )
    carried = {"pair" if in_rack == 2 and ipus_per_replica == 1 else "up": phases * ring.busiest_direction}
    if ring.sent > ring.busiest_direction:
        carried["down"] = phases * (ring.sent - ring.busiest_direction)
    sharing = _rings_per_rail(ipus_per_replica)
    carried = {kind: value * sharing for kind, value in carried.items() if value}
    if crossing:
        carried["gateway"] = crossing
    return Collective(
        name=name,
        seconds=seconds,
        steps=phases * (ring.steps + racks - 1),
        ipu_link_bytes=phases * ring.sent,
        gateway_bytes=crossing,
        bytes_by_link=carried,
        why=why,
    )


def _check(system: System, size: float, replicas: int, ipus_per_replica: int) -> int:
    """Racks over which the replicas spread; a replica that is larger than a rack counts as one."""
    if replicas < 1 or ipus_per_replica < 1 or size < 0:
        raise Error(
            f"A collective takes at least one replica of at least one IPU and no negative size; got {replicas} "
            f"replicas of {ipus_per_replica} IPUs and {size} bytes."
        )
    needed = replicas * ipus_per_replica
    if needed > system.ipus:
        raise Error(
            f"{replicas} replicas of {counted(ipus_per_replica, 'IPU')} take {needed} IPUs, and {system.name} has "
            f"{system.ipus}; use fewer replicas or a larger system."
        )
    if ipus_per_replica > system.ipus_per_rack:
        return replicas
    return min(system.racks, math.ceil(replicas / (system.ipus_per_rack // ipus_per_replica)))


def _rings_per_rail(ipus_per_replica: int) -> int:
    """Rings that share the links of a rail: one for each rung of a replica."""
    return max(1, math.ceil(ipus_per_replica / 2))


def _rings(system: System, on_ipu: float, replicas: int, ipus_per_replica: int) -> list[_Ring]:
    """The ways round a rack for one phase, cheapest first."""
    if replicas == 1:
        return [_Ring("nothing", 0, 0.0, 0.0, 0.0)]
    pair = replicas == 2 and ipus_per_replica == 1
    rate = system.link_bytes_per_second("pair" if pair else "up") / _rings_per_rail(ipus_per_replica)
    if not rate:
        raise Error(
            f"{system.name} has no IPU-Links over which {replicas} replicas of {ipus_per_replica} IPUs could make a "
            "ring; use another system, or add the links to its machine's file (docs/hardware.md)."
        )
    step = system.machine.link_latency_seconds + sync_seconds(system, replicas * ipus_per_replica)
    chunk = on_ipu / replicas

    def ring(method: str, steps: int, sent: float, directions: int) -> _Ring:
        busiest = math.ceil(steps / directions) * chunk if method == "meeting rings" else sent / directions
        turns = math.ceil(steps / directions) if method == "meeting rings" else steps
        return _Ring(method, turns, sent, busiest, turns * step + busiest / rate)

    sent = (replicas - 1) * chunk
    found = [ring("one-way ring", replicas - 1, sent, 1)]
    # replicas of one IPU go up one rail and down the other, so both ways round are free. Larger replicas on a
    # ladder without a loop, or on a part of one, already need both directions of each rail for one way round.
    loop = system.wraps and replicas * ipus_per_replica == system.ipus_per_rack
    if replicas > 2 and (ipus_per_replica == 1 or loop):
        found.append(ring("two-way ring", replicas - 1, sent, 2))
        found.append(ring("meeting rings", replicas - 1, sent, 2))
    return sorted(found, key=lambda each: each.seconds)


def _gateway_seconds(system: System, crossing: float, constants: ScheduleConstants) -> float:
    if not crossing:
        return 0.0
    rate = system.link_bytes_per_second("gateway") * constants.gateway_share
    if not rate:
        raise Error(
            f"The replicas need several racks of {system.name}, which cannot reach each other: "
            f"{system.machine.name} has no gateways. Use fewer replicas or another system."
        )
    return crossing / rate


def _alternatives(
    system: System,
    rings: list[_Ring],
    on_ipu: float,
    phases: int,
    replicas: int,
    racks: int,
    ipus_per_replica: int,
    rest: float,
    constants: ScheduleConstants,
) -> tuple[Alternative, ...]:
    """The other rings in a rack; with several racks, one flat ring through all of them as well."""
    clock = system.chip.clock_hz
    found = [
        Alternative(
            each.method, (phases * each.seconds + rest) * clock, "more bytes in one direction, or more steps"
        )
        for each in rings
    ]
    if racks > 1:
        # every byte of the ring crosses each border between racks, through the gateways of one replica's machines
        machines = max(1.0, ipus_per_replica / system.machine.ipus)
        border = phases * (replicas - 1) / replicas * on_ipu * ipus_per_replica / machines
        flat = _gateway_seconds(system, border, constants)
        found.append(Alternative("one flat ring over all racks", flat * clock, "all bytes pass the gateways"))
    return tuple(found)
