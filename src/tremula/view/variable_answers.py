"""Answers about variables: those on a tile, those that are alive in a program step, those with most bytes.

Files of earlier versions have no variables of their own; what they keep of the largest tensors is used instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tremula.profile import Profile
from tremula.view.memory_answers import ipu_of
from tremula.view.packed import LONGEST
from tremula.view.parameters import Parameters

#: rows of a list in one answer
MOST_LISTED = 500

#: id, name, module, use, bytes, always live, first and last program step, op of birth, op of death
VariableRow = list[Any]


def tile_variables_answer(profile: Profile, params: Parameters) -> dict[str, Any]:
    """The variables that have a part on a tile at the fullest moment of its IPU, largest first."""
    ipu = ipu_of(profile, params)
    tile = params.integer("tile", high=profile.target.tiles_per_ipu - 1)
    if not len(profile.frame("variables")):
        return {"ipu": ipu, "tile": tile, "known": False, "variables": [], "left_out": [0, 0]}
    rows, sizes = profile.variables_on_tile(ipu, tile)
    return {
        "ipu": ipu,
        "tile": tile,
        "known": True,
        "variables": variable_rows(profile, rows[:MOST_LISTED].tolist(), sizes[:MOST_LISTED].tolist()),
        "left_out": [max(0, len(rows) - MOST_LISTED), int(sizes[MOST_LISTED:].sum())],
    }


def alive_answer(profile: Profile, params: Parameters) -> dict[str, Any]:
    """The tensors that are alive on an IPU in a program step, largest first, with the ops of birth and death.

    With `always`, what is there for the whole run instead.
    """
    ipu = ipu_of(profile, params)
    step = params.integer("step")
    if len(profile.frame("variables")):
        rows = profile.alive_at(ipu, step)
        if params.text("always"):
            rows = np.setdiff1d(profile.alive_at(ipu, step, always=True), rows)
        sizes = profile.frame("variables").column("bytes")[rows]
        order = np.argsort(-sizes, kind="stable")
        rows, sizes = rows[order], sizes[order]
        listed = variable_rows(profile, rows[:MOST_LISTED].tolist(), sizes[:MOST_LISTED].tolist())
        left = [max(0, len(rows) - MOST_LISTED), int(sizes[MOST_LISTED:].sum())]
        return {"ipu": ipu, "step": step, "known": True, "variables": listed, "left_out": left}
    found = [t for t in profile.lifetimes if t.ipu == ipu and t.first_step <= step <= t.last_step]
    found.sort(key=lambda tensor: -tensor.bytes)
    listed = [
        [-1, t.name[:LONGEST], t.module[:LONGEST], "tensor", t.bytes, 0, t.first_step, t.last_step,
         op_of_step(profile, t.first_step), op_of_step(profile, t.last_step)]
        for t in found[:MOST_LISTED]
    ]  # fmt: skip
    rest = found[MOST_LISTED:]
    left = [len(rest), sum(t.bytes for t in rest)]
    return {"ipu": ipu, "step": step, "known": False, "variables": listed, "left_out": left}


def variable_rows(profile: Profile, rows: Sequence[int], sizes: Sequence[int]) -> list[VariableRow]:
    """Rows of the frame `variables` for a page, with `sizes` as their bytes."""
    frame = profile.frame("variables")
    names, modules = frame.column("name"), frame.column("module")
    category, always = frame.column("category"), frame.column("always_live")
    first, last = frame.column("first_step"), frame.column("last_step")
    return [
        [row, names[row][:LONGEST], modules[row][:LONGEST], profile.categories[int(category[row])].name[:LONGEST], size,
         int(always[row]), int(first[row]), int(last[row]),
         "" if always[row] else op_of_step(profile, int(first[row])),
         "" if always[row] else op_of_step(profile, int(last[row]))]
        for row, size in zip(rows, sizes, strict=True)
    ]  # fmt: skip


def largest_variables(profile: Profile, most: int) -> list[list[Any]]:
    """Name, module, use, IPU and bytes of the variables with most bytes at the fullest moment of their IPU."""
    frame = profile.frame("variables")
    if not len(frame):
        ranked = sorted(profile.contributors, key=lambda each: -each.bytes)[:most]
        return [
            [c.name[:LONGEST], "", profile.categories[c.category_id].name[:LONGEST], c.ipu, c.bytes]
            for c in ranked
        ]
    sizes = frame.column("bytes")
    names, modules = frame.column("name"), frame.column("module")
    there = [profile.alive_at(row.ipu, row.peak_step, always=True) for row in profile.ipus]
    alive = np.concatenate(there) if there else np.zeros(0, dtype=np.int64)
    named = alive[frame.column("tile_bytes")[alive] >= 0]  # the others are what is left of a use
    rows = named[np.argsort(-sizes[named], kind="stable")][:most].tolist()
    category, ipu = frame.column("category"), frame.column("ipu")
    return [
        [names[row][:LONGEST], modules[row][:LONGEST], profile.categories[int(category[row])].name[:LONGEST],
         int(ipu[row]), int(sizes[row])]
        for row in rows
    ]  # fmt: skip


def op_of_step(profile: Profile, step: int) -> str:
    """The name of the op that runs in a program step; empty if there is none."""
    ops, _ = profile.program_steps
    if 0 <= step < len(ops) and ops[step] >= 0:
        name: str = profile.frame("ops").window("name", int(ops[step]), 1)[0]
        return name[:LONGEST]
    return ""
