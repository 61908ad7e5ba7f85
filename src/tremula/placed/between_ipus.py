"""Collectives of library functions: the time of their rings, between replicas or between the IPUs of one.

Every IPU of a replica has an equal part of the data. In an all-to-all each chunk goes half of the way round, which is
as much as in an all-gather of half the data of all ranks.
"""

from __future__ import annotations

import numpy as np

from tremula.placed.hardware import PlacedHardware
from tremula.placed.phases import Phase, PhaseKind
from tremula.program.placed import BetweenIpus
from tremula.schedule import collectives


def collective_phases(name: str, given: BetweenIpus, hardware: PlacedHardware) -> list[Phase]:
    """The phase of one collective: all steps of its rings, with their syncs."""
    if given.ranks < 2 or not given.bytes:
        return []
    cost = _cost(given, hardware)
    cycles = cost.seconds * hardware.chip.clock_hz
    tiles = np.arange(hardware.tiles)
    moved = int(cost.ipu_link_bytes)
    return [
        Phase(
            PhaseKind.GLOBAL_EXCHANGE, f"{name}/{cost.name}", cycles, tiles, np.full(len(tiles), cycles),
            bytes_in=moved, bytes_out=moved,
        )
    ]  # fmt: skip


def _cost(given: BetweenIpus, hardware: PlacedHardware) -> collectives.Collective:
    ipus = hardware.ipus if given.replicas else 1
    size, ranks, system = given.bytes, given.ranks, hardware.system
    match given.kind:
        case "all_reduce":
            return collectives.all_reduce(system, size, ranks, ipus)
        case "reduce_scatter":
            return collectives.reduce_scatter(system, size, ranks, ipus)
        case "broadcast":
            return collectives.broadcast(system, size, ranks, ipus)
        case "all_to_all":
            return collectives.all_gather(system, size * ranks / 2, ranks, ipus)
    return collectives.all_gather(system, size * ranks, ranks, ipus)
