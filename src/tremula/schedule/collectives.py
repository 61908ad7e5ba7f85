"""Collectives between replicas: all-reduce, reduce-scatter, all-gather, broadcast, as formulas.

Inside a rack the IPUs at the same place in each replica form a ring over IPU-Links; a chunk goes round one way, or
half of the data each way, or both ways until they meet. Over several racks there is one ring through all replicas:
where it leaves a rack, everything that goes round passes the gateways of the machines of one replica. The rings and
which of them use both directions follow PopLibs popops/Collectives.cpp (before it became GCL). That racks are joined
by one flat ring is read off MLPerf training on 128 and 256 IPUs: a ring of racks in which each machine sends its part
would take a twentieth of the time that is missing there. No part of the cost is found by walking over replicas, so
its run time does not depend on their number.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from tremula.errors import Error
from tremula.formatting import counted
from tremula.hardware.system import System
from tremula.plan.cost import Alternative, Why
from tremula.schedule.links import gateway_bytes_per_second, sync_seconds

_SOURCE = "PopLibs popops/Collectives.cpp (rings), poplibs_test/Util.cpp (links); data sheets (gateways)"
#: links that a chunk passes from rack to rack: to the gateway, between gateways, from the gateway
_GATEWAY_HOPS = 3
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
) -> Collective:
    """The sum over all replicas, on all of them.

    Args:
        system: where the replicas are; they fill it from its first IPU on.
        size: bytes of each replica.
        replicas: how many take part.
        ipus_per_replica: IPUs over which each replica's bytes lie.
        fullest_share: part of the bytes that lies on the fullest IPU; an equal part if None.
    """
    return _collective("all-reduce", system, size, replicas, ipus_per_replica, fullest_share)


def reduce_scatter(
    system: System,
    size: float,
    replicas: int,
    ipus_per_replica: int = 1,
    *,
    fullest_share: float | None = None,
) -> Collective:
    """The sum over all replicas, an equal part of it on each. `size`: bytes of each replica before."""
    return _collective("reduce-scatter", system, size, replicas, ipus_per_replica, fullest_share)


def all_gather(
    system: System,
    size: float,
    replicas: int,
    ipus_per_replica: int = 1,
    *,
    fullest_share: float | None = None,
) -> Collective:
    """The parts of all replicas, on all of them. `size`: bytes of each replica afterwards."""
    return _collective("all-gather", system, size, replicas, ipus_per_replica, fullest_share)


def broadcast(
    system: System,
    size: float,
    replicas: int,
    ipus_per_replica: int = 1,
    *,
    fullest_share: float | None = None,
) -> Collective:
    """The bytes of one replica, on all of them: handed on in chunks, which costs what an all-gather does."""
    return _collective("broadcast", system, size, replicas, ipus_per_replica, fullest_share)


def _collective(
    name: str,
    system: System,
    size: float,
    replicas: int,
    ipus_per_replica: int,
    fullest_share: float | None,
) -> Collective:
    racks = _check(system, size, replicas, ipus_per_replica)
    on_ipu = size * (fullest_share if fullest_share is not None else 1 / ipus_per_replica)
    if replicas == 1 or on_ipu == 0:
        why = Why(plan=f"{name} of one replica or of nothing: nothing to do", formula="0", source=_SOURCE)
        return Collective(name, 0.0, 0, 0.0, 0.0, {}, why)
    phases = 2 if name == "all-reduce" else 1
    in_rack = math.ceil(replicas / racks)
    ringed = replicas if racks > 1 else in_rack
    border = (replicas - 1) / replicas * size / _machines(system, ipus_per_replica)
    slowest = _gateway_seconds(system, border) if racks > 1 else 0.0
    rings = _rings(system, on_ipu, ringed, ipus_per_replica, slowest)
    ring = rings[0]
    crossing = phases * border if racks > 1 else 0.0
    adds = 0.0
    if name in ("all-reduce", "reduce-scatter"):
        per_tile = on_ipu * (replicas - 1) / replicas / system.chip.tiles
        adds = per_tile / _ADDED_BYTES_PER_CYCLE / system.chip.clock_hz
    seconds = phases * ring.seconds + adds
    figures = {
        "bytes on the fullest IPU": on_ipu,
        "replicas in a rack": float(in_rack),
        "racks": float(racks),
        "seconds of the ring": phases * ring.seconds,
        "seconds through gateways": phases * slowest,
        "seconds of additions": adds,
    }
    if racks == 1:
        plan = f"{name}: {ring.method} over {in_rack} replicas of {counted(ipus_per_replica, 'IPU')}"
    else:
        plan = f"{name}: {ring.method} over {replicas} replicas, {in_rack} in each of {racks} racks"
    why = Why(
        plan=plan,
        formula="phases x (steps x (latency + sync) + bytes / the slowest of links one way and gateways) + adds",
        source=_SOURCE,
        figures=figures,
        alternatives=_alternatives(system, rings[1:], on_ipu, phases, racks, in_rack, ipus_per_replica, adds),
    )
    carried = {"pair" if ringed == 2 and ipus_per_replica == 1 else "up": phases * ring.busiest_direction}
    if ring.sent > ring.busiest_direction:
        carried["down"] = phases * (ring.sent - ring.busiest_direction)
    sharing = _rings_per_rail(ipus_per_replica)
    carried = {kind: value * sharing for kind, value in carried.items() if value}
    if crossing:
        carried["gateway"] = crossing
    return Collective(
        name=name,
        seconds=seconds,
        steps=phases * ring.steps,
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


def _machines(system: System, ipus_per_replica: int) -> float:
    """Machines over which a replica lies, and whose gateways its part of a ring goes through."""
    return max(1.0, ipus_per_replica / system.machine.ipus)


def _rings(
    system: System, on_ipu: float, replicas: int, ipus_per_replica: int, gateway_seconds: float = 0.0
) -> list[_Ring]:
    """The ways round for one phase, cheapest first; `gateway_seconds`: what all bytes take between racks."""
    if replicas == 1:
        return [_Ring("nothing", 0, 0.0, 0.0, 0.0)]
    pair = replicas == 2 and ipus_per_replica == 1
    rate = system.link_bytes_per_second("pair" if pair else "up") / _rings_per_rail(ipus_per_replica)
    if not rate:
        raise Error(
            f"{system.name} has no IPU-Links over which {replicas} replicas of {ipus_per_replica} IPUs could make a "
            "ring; use another system, or add the links to its machine's file (docs/hardware.md)."
        )
    hops = _GATEWAY_HOPS if gateway_seconds else 1
    step = hops * system.machine.link_latency_seconds + sync_seconds(system, replicas * ipus_per_replica)
    chunk = on_ipu / replicas

    def ring(method: str, steps: int, sent: float, directions: int) -> _Ring:
        busiest = math.ceil(steps / directions) * chunk if method == "meeting rings" else sent / directions
        turns = math.ceil(steps / directions) if method == "meeting rings" else steps
        return _Ring(method, turns, sent, busiest, turns * step + max(busiest / rate, gateway_seconds))

    sent = (replicas - 1) * chunk
    found = [ring("one-way ring", replicas - 1, sent, 1)]
    # replicas of one IPU go up one rail and down the other, so both ways round are free. Larger replicas on a
    # ladder without a loop, or on a part of one, already need both directions of each rail for one way round.
    loop = system.wraps and replicas * ipus_per_replica % system.ipus_per_rack == 0
    if replicas > 2 and (ipus_per_replica == 1 or loop):
        found.append(ring("two-way ring", replicas - 1, sent, 2))
        found.append(ring("meeting rings", replicas - 1, sent, 2))
    return sorted(found, key=lambda each: each.seconds)


def _gateway_seconds(system: System, crossing: float) -> float:
    if not crossing:
        return 0.0
    rate = gateway_bytes_per_second(system)
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
    racks: int,
    in_rack: int,
    ipus_per_replica: int,
    adds: float,
) -> tuple[Alternative, ...]:
    """The other ways round; with several racks, rings inside racks and a ring of racks as well."""
    clock = system.chip.clock_hz
    found = [
        Alternative(
            each.method, (phases * each.seconds + adds) * clock, "more bytes in one direction, or more steps"
        )
        for each in rings
    ]
    if racks > 1:
        inside = _rings(system, on_ipu, in_rack, ipus_per_replica)[0].seconds
        part = (racks - 1) / racks * on_ipu / in_rack * min(system.machine.ipus, ipus_per_replica * in_rack)
        between = _gateway_seconds(system, part)
        found.append(
            Alternative(
                "rings inside racks, then a ring of racks",
                (phases * (inside + between) + adds) * clock,
                "published runs take longer",
            )
        )
    return tuple(found)
