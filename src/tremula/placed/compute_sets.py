"""Compute sets: what vertices read comes from other tiles, they compute, and what they wrote goes to other tiles.

What a vertex reads of its own tile it reads in place; what lies on other tiles comes to a buffer. What it writes to
other tiles is written to a buffer and sent afterwards.
"""

from __future__ import annotations

import numpy as np

from tremula.placed.exchange import NO_EXCHANGE, Exchange, exchange_of
from tremula.placed.hardware import PlacedHardware
from tremula.placed.phases import ModelledSet, Phase, PhaseKind, VertexGroup
from tremula.placed.pieces import NOWHERE, Pieces, split
from tremula.placed.workers import compute_cycles
from tremula.program.placed import ComputeSet, FieldRuns, Ints, Runs, Variables, Vertices


def modelled_set(given: ComputeSet, hardware: PlacedHardware) -> ModelledSet:
    """The vertices of a compute set on their tiles."""
    batches = tuple(each for each in given.batches if each.count)
    found = compute_cycles(batches, hardware.chip.worker_contexts)
    vertices = {
        each.type: VertexGroup(
            each.count,
            len(np.unique(each.tile)),
            float(np.maximum(each.cycles, 0.0).sum()),
            each.source,
        )
        for each in batches
    }
    flops = sum(float(each.flops.sum()) for each in batches if each.flops is not None)
    return ModelledSet(given.name, vertices, found.tiles, found.cycles, found.busy, flops)


def read_exchange(given: ComputeSet, variables: Variables, hardware: PlacedHardware) -> Exchange:
    """What vertices read from other tiles."""
    pieces, target = _of_fields(given, variables, reads=True)
    return NO_EXCHANGE if pieces is None else exchange_of(pieces, target, hardware)


def write_exchange(given: ComputeSet, variables: Variables, hardware: PlacedHardware) -> Exchange:
    """What vertices have written to other tiles."""
    pieces, home = _of_fields(given, variables, reads=False)
    if pieces is None:
        return NO_EXCHANGE
    # the elements are on the vertex's tile, and wanted on their own
    there = Pieces(
        pieces.run, pieces.position, pieces.start, pieces.count, pieces.stride, home, pieces.variable,
        pieces.element_bytes,
    )  # fmt: skip
    return exchange_of(there, pieces.tile, hardware)


def _of_fields(given: ComputeSet, variables: Variables, *, reads: bool) -> tuple[Pieces | None, Ints]:
    """Pieces of fields that are not on the tile of their vertex, and that tile."""
    parts: list[tuple[Pieces, Ints]] = []
    for batch in given.batches:
        for field in batch.fields:
            if field.reads if reads else field.writes:
                found = _remote(batch, field, variables)
                if found is not None:
                    parts.append(found)
    if not parts:
        return None, np.zeros(0, dtype=np.int64)
    names = Pieces.__dataclass_fields__
    joined = Pieces(*(np.concatenate([getattr(piece, name) for piece, _ in parts]) for name in names))
    return joined, np.concatenate([tile for _, tile in parts])


def _remote(batch: Vertices, field: FieldRuns, variables: Variables) -> tuple[Pieces, Ints] | None:
    # many vertices of a tile are given the same elements: each run of a tile counts once
    runs = field.runs
    _, first = np.unique(
        np.stack([batch.tile[field.vertex], runs.start, runs.count, runs.stride]), axis=1, return_index=True
    )
    pieces = split(Runs(runs.start[first], runs.count[first], runs.stride[first]), variables)
    tile = batch.tile[field.vertex[first]][pieces.run]
    away = (pieces.tile != tile) & (pieces.tile != NOWHERE) & (tile != NOWHERE)
    return (pieces.chosen(away), tile[away]) if away.any() else None


def around(
    name: str, exchange: Exchange, hardware: PlacedHardware, suffix: str = "ExchangePre"
) -> list[Phase]:
    """The phases of an exchange: all tiles wait for each other, then data move."""
    phases = []
    if len(exchange.tiles) and exchange.slowest:
        phases.append(Phase(PhaseKind.SYNC, f"{name}/Sync", hardware.sync_cycles))
        phases.append(
            Phase(
                PhaseKind.EXCHANGE,
                f"{name}/{suffix}",
                exchange.slowest,
                exchange.tiles,
                exchange.cycles,
                code_bytes=int(exchange.code_bytes.sum()),
            )
        )
    if exchange.between_ipus is not None:
        phases.append(Phase(PhaseKind.GLOBAL_SYNC, f"{name}/GlobalSync", hardware.global_sync_cycles))
        tiles = np.arange(hardware.tiles)
        phases.append(
            Phase(
                PhaseKind.GLOBAL_EXCHANGE,
                f"{name}/GlobalPre",
                exchange.between_cycles,
                tiles,
                np.full(len(tiles), exchange.between_cycles),
                bytes_in=sum(exchange.bytes_in),
                bytes_out=sum(exchange.bytes_out),
            )
        )
    return phases
