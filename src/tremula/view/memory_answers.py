"""Answers about memory: bytes on tiles by use and by module, and what comes and goes over a step."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.errors import Error
from tremula.module_paths import first_parts
from tremula.profile import Profile
from tremula.profile.variables import on_tiles
from tremula.view.packed import LONGEST, packed_numbers
from tremula.view.parameters import Parameters

#: points of a curve in one answer
MOST_POINTS = 20_000
#: modules that have a band of their own
_LAYERS = 12
_REST = "(everything else)"

Bytes = NDArray[np.int64]


def tile_map_answer(profile: Profile, _: Parameters) -> dict[str, Any]:
    """Bytes on every tile of every IPU at its fullest moment, IPU after IPU."""
    tiles = profile.target.tiles_per_ipu
    total = np.zeros((len(profile.ipus), tiles), dtype=np.int64)
    for row in profile.ipus:
        total[row.ipu] = _tile_totals(profile, row.ipu)
    return {
        "ipus": len(profile.ipus),
        "tiles": tiles,
        "room": profile.target.tile_memory_bytes,
        "bytes": packed_numbers(total.reshape(-1)),
    }


def tiles_answer(profile: Profile, params: Parameters) -> dict[str, Any]:
    """Bytes on each tile of an IPU at its fullest moment, by use; with `by=layer`, by module."""
    ipu = ipu_of(profile, params)
    by_layer = params.text("by") == "layer"
    names = {category.name: category for category in profile.categories}
    return {
        "ipu": ipu,
        "tiles": profile.target.tiles_per_ipu,
        "room": profile.target.tile_memory_bytes,
        "bands": [[name[:LONGEST], 0, packed_numbers(values)] for name, values in _layers(profile, ipu)]
        if by_layer
        else [
            [name[:LONGEST], names[name].always_live, packed_numbers(values)]
            for name, values in profile.tile_bytes(ipu).items()
        ],
    }


def _layers(profile: Profile, ipu: int) -> list[tuple[str, Bytes]]:
    """Bytes on each tile by the module that they belong to, the modules with most; then everything else."""
    tiles = profile.target.tiles_per_ipu
    total = _tile_totals(profile, ipu)
    frame = profile.frame("variables")
    alive = profile.alive_at(ipu, profile.ipus[ipu].peak_step, always=True)
    modules = frame.column("module")
    placed = alive[frame.column("tile_bytes")[alive] >= 0]
    rows = [row for row in placed.tolist() if modules[row]]
    depth = _depth({modules[row] for row in rows})
    groups: dict[str, list[int]] = {}
    for row in rows:
        groups.setdefault(first_parts(modules[row][:LONGEST], depth), []).append(row)
    sizes = frame.column("bytes")
    ranked = sorted(groups, key=lambda name: -int(sizes[groups[name]].sum()))
    kept = set(ranked[:_LAYERS])
    found = []
    rest = total
    for name in groups:
        if name in kept:
            at = np.asarray(groups[name], dtype=np.int64)
            first, count = frame.column("first_tile")[at], frame.column("tiles")[at]
            found.append((name, on_tiles(first, count, frame.column("tile_bytes")[at], sizes[at], tiles)))
            rest = rest - found[-1][1]
    return [*found, (_REST, np.maximum(rest, 0))]


def _depth(modules: Collection[str]) -> int:
    """The names of a module path that tell layers apart: as many as give at least six of them."""
    return next((depth for depth in range(1, 6) if len({first_parts(m, depth) for m in modules}) >= 6), 5)


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
        "room": profile.target.tile_memory_bytes * profile.target.tiles_per_ipu,
        "peak": profile.ipus[ipu].peak_step,
        "at": packed_numbers(at),
        "live": packed_numbers(live[at]),
        "temporary": packed_numbers(temporary[at]),
        "op": packed_numbers(ops[at] if len(ops) == steps else np.full(len(at), -1)),
        "again": packed_numbers(again[at] if len(again) == steps else np.zeros(len(at))),
        # a page that has the ops needs no names
        "names": _op_names(profile, ops[at]) if params.text("names") and len(ops) == steps else {},
    }


def _op_names(profile: Profile, numbers: Bytes) -> dict[str, str]:
    """Names of ops, without the scopes around them."""
    names = profile.frame("ops").column("name")
    return {str(number): names[number][:LONGEST] for number in np.unique(numbers).tolist() if number >= 0}


def _tile_totals(profile: Profile, ipu: int) -> Bytes:
    found = np.zeros(profile.target.tiles_per_ipu, dtype=np.int64)
    for values in profile.tile_bytes(ipu).values():
        found += values
    return found


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
