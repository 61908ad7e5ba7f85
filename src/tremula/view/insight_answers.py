"""Answers about what takes most memory: tiles, vertices, exchanges, variables; and what to do about each."""

from __future__ import annotations

from typing import Any

import numpy as np

from tremula.profile import Profile
from tremula.profile.program_types import EXCHANGE
from tremula.view.packed import LONGEST
from tremula.view.parameters import Parameters
from tremula.view.variable_answers import largest_variables

#: rows of each list; a page shows fewer and compares all of them
_LISTED = 60

#: what to do where a use of memory is large
_REMEDIES = {
    "weights": "Spread the layers over more IPUs, or keep weights in half precision.",
    "buffers": "Keep fewer or smaller buffers on the device.",
    "optimizer state": "Put the optimizer state into streaming memory, or shard it over replicas.",
    "gradient accumulators": "Accumulate in half precision, or shard the accumulators over replicas.",
    "pipeline stashes": "Recompute activations, or use fewer pipeline stages.",
    "constants": "Compute large constants on the device, or make them smaller.",
    "host I/O buffers": "Send smaller batches, in half precision or as integers, or use fewer buffers.",
    "vertex code": "Use fewer different shapes and types of ops, so that they share code.",
    "vertex state": "Lower the memory that convolutions and matrix products may use for their plans.",
    "exchange code": "Repeat equal blocks as one function, and split tensors less finely.",
    "control code": "Repeat equal blocks as one function or a loop.",
    "activations": "Recompute activations, take smaller micro-batches, or spread layers over more IPUs.",
    "temporaries": "Lower the available memory proportion of the largest ops, or serialise them.",
    "gaps": "Gaps come with interleaved memory and alignment; less of the other uses makes them smaller.",
}


def insights_answer(profile: Profile, _: Parameters) -> dict[str, Any]:
    """The tiles, vertices, exchanges and variables that take most memory, and what to do."""
    return {
        "room": profile.target.tile_memory_bytes,
        "uses": _uses(profile),
        "tiles": _tiles(profile),
        "vertices": _vertices(profile),
        "exchanges": _exchanges(profile),
        "variables": largest_variables(profile, _LISTED),
    }


def _uses(profile: Profile) -> list[list[Any]]:
    """Uses of memory: bytes on all IPUs, on the fullest tile, and what to do about it."""
    totals: dict[str, list[int]] = {}
    full = max(profile.ipus, key=lambda ipu: ipu.max_tile_bytes, default=None)
    for row in profile.ipus:
        for name, values in profile.tile_bytes(row.ipu).items():
            entry = totals.setdefault(name, [0, 0])
            entry[0] += int(values.sum())
            if full is not None and row.ipu == full.ipu and 0 <= row.fullest_tile < len(values):
                entry[1] = int(values[row.fullest_tile])
    ranked = sorted(totals.items(), key=lambda item: -item[1][1])
    return [[name[:LONGEST], *sizes, _REMEDIES.get(name, "")] for name, sizes in ranked]


def _tiles(profile: Profile) -> list[list[Any]]:
    """The fullest tiles: IPU, tile, bytes, and the two largest uses with their bytes."""
    found = []
    for row in profile.ipus:
        uses = profile.tile_bytes(row.ipu)
        if not uses:
            continue
        total = np.sum(list(uses.values()), axis=0)
        for tile in np.argsort(-total, kind="stable")[:_LISTED].tolist():
            largest = sorted(((int(values[tile]), name) for name, values in uses.items()), reverse=True)[:2]
            found.append(
                [row.ipu, tile, int(total[tile]), [[name[:LONGEST], size] for size, name in largest]]
            )
    found.sort(key=lambda each: (-each[2], each[0], each[1]))
    return found[:_LISTED]


def _vertices(profile: Profile) -> list[list[Any]]:
    """Types of vertices with most code and state: name, bytes of code, bytes of state, vertices."""
    frame = profile.frame("vertices")
    counts = np.bincount(
        frame.column("vertex_type"), weights=frame.column("count"), minlength=len(profile.vertex_types)
    )
    ranked = sorted(profile.vertex_types, key=lambda each: -(each.code_bytes + each.state_bytes))[:_LISTED]
    return [[v.name[:LONGEST], v.code_bytes, v.state_bytes, int(counts[v.id])] for v in ranked]


def _exchanges(profile: Profile) -> list[list[Any]]:
    """Exchanges with most code: name, bytes on all tiles, cycles, node of the program."""
    frame = profile.frame("programs")
    code = frame.column("code_bytes")
    rows = np.flatnonzero(np.isin(frame.column("type"), [int(each) for each in EXCHANGE]) & (code > 0))
    rows = rows[np.argsort(-code[rows], kind="stable")][:_LISTED]
    cycles = frame.column("cycles")
    return [
        [frame.window("name", row, 1)[0][:LONGEST], int(code[row]), float(cycles[row]), row]
        for row in rows.tolist()
    ]
