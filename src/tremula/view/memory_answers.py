"""Answers about memory: bytes on tiles, what comes and goes, what lies where."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.errors import Error
from tremula.profile import Profile
from tremula.view.packed import LONGEST, packed_numbers
from tremula.view.parameters import Parameters

#: points of a curve, and rows of a list, in one answer
MOST_POINTS = 20_000
MOST_LISTED = 500

Bytes = NDArray[np.int64]


def tile_map_answer(profile: Profile, _: Parameters) -> dict[str, Any]:
    """Bytes on every tile of every IPU at its fullest moment, IPU after IPU."""
    tiles = profile.target.tiles_per_ipu
    total = np.zeros((len(profile.ipus), tiles), dtype=np.int64)
    for row in profile.ipus:
        for values in profile.tile_bytes(row.ipu).values():
            total[row.ipu] += values
    return {
        "ipus": len(profile.ipus),
        "tiles": tiles,
        "room": profile.target.tile_memory_bytes,
        "bytes": packed_numbers(total.reshape(-1)),
    }


def tiles_answer(profile: Profile, params: Parameters) -> dict[str, Any]:
    """Bytes on each tile of an IPU by use."""
    ipu = ipu_of(profile, params)
    names = {category.name: category for category in profile.categories}
    return {
        "ipu": ipu,
        "tiles": profile.target.tiles_per_ipu,
        "room": profile.target.tile_memory_bytes,
        "categories": [
            [name[:LONGEST], names[name].always_live, packed_numbers(values)]
            for name, values in profile.tile_bytes(ipu).items()
        ],
        "contributors": [
            [c.name[:LONGEST], profile.categories[c.category_id].name[:LONGEST], c.bytes]
            for c in profile.contributors
            if c.ipu == ipu
        ][:100],
    }


def tile_variables_answer(profile: Profile, params: Parameters) -> dict[str, Any]:
    """The variables that have a part on a tile, largest first."""
    ipu = ipu_of(profile, params)
    tile = params.integer("tile", high=profile.target.tiles_per_ipu - 1)
    return {"ipu": ipu, "tile": tile, "variables": [], "left_out": 0}


def liveness_answer(profile: Profile, params: Parameters) -> dict[str, Any]:
    """Bytes that come and go on an IPU over program steps; of many steps, the one with most of each group."""
    ipu = ipu_of(profile, params)
    live, temporary = profile.live_bytes(ipu)
    steps = len(live)
    first = params.integer("first", 0, high=max(0, steps - 1))
    last = max(first, params.integer("last", max(0, steps - 1), high=max(0, steps - 1)))
    points = params.integer("points", 2_000, low=1, high=MOST_POINTS)
    group = max(1, -(-(last - first + 1) // points))
    at = fullest_of_groups(live[first : last + 1] + temporary[first : last + 1], group) + first
    ops, again = profile.program_steps
    return {
        "ipu": ipu,
        "steps": steps,
        "first": first,
        "last": last,
        "group": group,
        "always": profile.ipus[ipu].always_live_bytes,
        "at": packed_numbers(at),
        "live": packed_numbers(live[at]),
        "temporary": packed_numbers(temporary[at]),
        "op": packed_numbers(ops[at] if len(ops) == steps else np.full(len(at), -1)),
        "again": packed_numbers(again[at] if len(again) == steps else np.zeros(len(at))),
    }


def alive_answer(profile: Profile, params: Parameters) -> dict[str, Any]:
    """The tensors that are alive on an IPU in a program step, largest first, with the ops of birth and death."""
    ipu = ipu_of(profile, params)
    step = params.integer("step")
    found = [t for t in profile.lifetimes if t.ipu == ipu and t.first_step <= step <= t.last_step]
    found.sort(key=lambda tensor: -tensor.bytes)
    rows = [
        [t.name[:LONGEST], t.module[:LONGEST], "", t.bytes, t.first_step, t.last_step,
         op_of_step(profile, t.first_step), op_of_step(profile, t.last_step)]
        for t in found[:MOST_LISTED]
    ]  # fmt: skip
    left = found[MOST_LISTED:]
    return {"ipu": ipu, "step": step, "tensors": rows, "left_out": [len(left), sum(t.bytes for t in left)]}


def op_of_step(profile: Profile, step: int) -> str:
    """The name of the op that runs in a program step; empty if there is none."""
    ops, _ = profile.program_steps
    if 0 <= step < len(ops) and ops[step] >= 0:
        return profile.ops[int(ops[step])].name[:LONGEST]
    return ""


def fullest_of_groups(values: Bytes, group: int) -> NDArray[np.int64]:
    """The place of the largest of every `group` values."""
    if group == 1 or not len(values):
        return np.arange(len(values), dtype=np.int64)
    padded = np.pad(values, (0, -len(values) % group), mode="constant", constant_values=-1)
    rows = padded.reshape(-1, group)
    return np.asarray(rows.argmax(axis=1) + np.arange(len(rows)) * group, dtype=np.int64)


def ipu_of(profile: Profile, params: Parameters) -> int:
    """The IPU that is asked about; raises Error if there is none of that number."""
    if not profile.ipus:
        raise Error("This report has no memory part.", type="view_error")
    return params.integer("ipu", 0, high=len(profile.ipus) - 1)
