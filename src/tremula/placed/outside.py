"""Transfers with the host and with remote buffers, and collectives between replicas.

Data of the host come in their own order, an even share for each tile; an exchange brings what was wanted elsewhere to
its place. Rates are those of the system's machines; the time that the device waits for the host itself is not modelled.
"""

from __future__ import annotations

import numpy as np

from tremula.placed.compute_sets import around
from tremula.placed.exchange import Exchange, exchange_of
from tremula.placed.hardware import PlacedHardware
from tremula.placed.phases import Phase, PhaseKind
from tremula.placed.pieces import NOWHERE, Pieces, split
from tremula.program.placed import Copy, Peer, Transfer, Variables
from tremula.schedule.links import exchange as over_links
from tremula.schedule.streaming import traffic as streaming

#: bytes that a tile gets at least of a transfer: a packet of the host's (as linear mapping in PopLibs, 128 bytes)
LEAST_BYTES = 128


def transfer_phases(
    given: Transfer, variables: Variables, hardware: PlacedHardware
) -> tuple[list[Phase], Exchange]:
    """The phases of a transfer, and the exchange that is a part of it."""
    pieces = split(given.elements, variables)
    size = int(pieces.bytes[pieces.tile != NOWHERE].sum())
    name = given.name or given.handle
    exchange = _to_places(pieces, given.to_device, hardware)
    cycles = _outside_cycles(given.peer, size, hardware)
    tiles = np.arange(hardware.tiles)
    moved = [
        Phase(PhaseKind.GLOBAL_SYNC, f"{name}/StreamCopyBegin", hardware.global_sync_cycles),
        Phase(
            PhaseKind.HOST, f"{name}/StreamCopyMid", cycles, tiles, np.full(len(tiles), cycles),
            bytes_in=size if given.to_device else 0, bytes_out=0 if given.to_device else size,
        ),
    ]  # fmt: skip
    inside = around(name, exchange, hardware, "rearrangement")
    return ([*moved, *inside] if given.to_device else [*inside, *moved]), exchange


def _to_places(pieces: Pieces, to_device: bool, hardware: PlacedHardware) -> Exchange:
    """The exchange between the order of the host and the places of the elements."""
    before = np.cumsum(pieces.bytes) - pieces.bytes
    total = int(pieces.bytes.sum())
    share = max(LEAST_BYTES, -(-total // hardware.tiles))
    # pieces that reach into the share of the next tile are cut there
    first, last = before // share, (before + np.maximum(pieces.bytes, 1) - 1) // share
    spans = last - first + 1
    owner = np.repeat(np.arange(len(pieces)), spans)
    number = np.arange(int(spans.sum())) - np.repeat(np.cumsum(spans) - spans, spans)
    tile = first[owner] + number
    width = pieces.element_bytes[owner]
    begin = np.maximum(before[owner], -(-tile * share // width) * width)
    end = np.minimum((before + pieces.bytes)[owner], -(-(tile + 1) * share // width) * width)
    offset = np.maximum(begin - before[owner], 0) // width
    count = np.maximum(end - begin, 0) // width
    some = count > 0
    owner, offset, count, tile = (
        owner[some],
        offset[some],
        count[some],
        np.minimum(tile[some], hardware.tiles - 1),
    )
    stride = pieces.stride[owner]
    start = pieces.start[owner] + offset * stride
    home = pieces.tile[owner]
    source, target = (tile, home) if to_device else (home, tile)
    return exchange_of(
        Pieces(
            pieces.run[owner], pieces.position[owner] + offset, start, count, stride, source,
            pieces.variable[owner], pieces.element_bytes[owner],
        ),
        target,
        hardware,
    )  # fmt: skip


def _outside_cycles(peer: Peer, size: int, hardware: PlacedHardware) -> float:
    machine, clock = hardware.system.machine, hardware.chip.clock_hz
    if peer is Peer.REMOTE_BUFFER:
        found = streaming(
            hardware.system, float(size), 0.0, replicas=hardware.replicas, ipus_per_replica=hardware.ipus
        )
        return found.seconds * clock
    # the IPUs of a replica have a link each
    return size / hardware.ipus / machine.tile_stream_bytes_per_second * clock


def replica_phases(given: Copy, variables: Variables, hardware: PlacedHardware) -> list[Phase]:
    """A copy from replica to replica: each sends its elements to the next one, over the links."""
    size = int(split(given.source, variables).bytes.sum())
    count = hardware.replicas * hardware.ipus
    between = {
        (ipu, (ipu + hardware.ipus) % count): size / hardware.ipus
        for ipu in range(count if hardware.replicas > 1 else 0)
    }
    found = over_links(hardware.system, between, ipus=count)
    tiles = np.arange(hardware.tiles)
    cycles = (found.seconds - found.sync_seconds) * hardware.chip.clock_hz
    name = given.name or "crossReplicaCopy"
    return [
        Phase(PhaseKind.GLOBAL_SYNC, f"{name}/GlobalSync", hardware.global_sync_cycles),
        Phase(
            PhaseKind.GLOBAL_EXCHANGE, f"{name}/GlobalPre", cycles, tiles, np.full(len(tiles), cycles),
            bytes_in=size, bytes_out=size,
        ),
    ]  # fmt: skip
