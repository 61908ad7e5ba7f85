"""Answers to a search over a whole report: ops, variables and programs by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tremula.profile import Profile
from tremula.view.packed import LONGEST
from tremula.view.parameters import Parameters

#: hits of each kind
_MOST = 8


def search_answer(profile: Profile, params: Parameters) -> dict[str, Any]:
    """The ops, variables and programs with most cycles or bytes whose names hold a text."""
    wanted = params.text("text").strip().lower()
    if len(wanted) < 2:
        return {"hits": []}
    ops = profile.ops
    variables, programs = profile.frame("variables"), profile.frame("programs")
    hits = _hits(
        wanted, [op.name for op in ops], lambda row: ops[row].cycles, ("op", "cycles", "operations", "op")
    )
    hits += _hits(
        wanted,
        variables.column("name"),
        lambda row: float(variables.column("bytes")[row]),
        ("variable", "bytes", "memory", "variable"),
    )
    hits += _hits(
        wanted,
        programs.column("name"),
        lambda row: float(programs.column("cycles")[row]),
        ("program", "cycles", "program", "node"),
    )
    return {"hits": hits}


def _hits(
    wanted: str, names: Sequence[str], size: Callable[[int], float], words: tuple[str, str, str, str]
) -> list[dict[str, Any]]:
    kind, unit, view, key = words
    found = sorted(
        (row for row, name in enumerate(names) if wanted in name.lower()), key=lambda row: -size(row)
    )
    return [
        {
            "kind": kind,
            "name": names[row][:LONGEST],
            "note": f"{size(row):,.0f} {unit}",
            "view": view,
            "values": {key: row},
        }
        for row in found[:_MOST]
    ]
