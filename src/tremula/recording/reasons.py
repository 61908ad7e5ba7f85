"""Reasons of costs as JSON that always fits the file.

The words and numbers are the planners'. A reason that would be too long loses rejected plans first, then parts, and
says how many parts were left out.
"""

from __future__ import annotations

import json
import math
from typing import Any

from tremula.plan.cost import Why
from tremula.profile.model import Json
from tremula.profile.schema import MAX_JSON

#: characters of a sentence, and entries of each list, that are kept
_MAX_SENTENCE = 1_000
_MAX_ENTRIES = 40
_MAX_ALTERNATIVES = 12
_DEEPEST = 8


def as_json(why: Why) -> Json:
    """`why` as the profile stores it."""
    for parts, alternatives in ((_MAX_ENTRIES, _MAX_ALTERNATIVES), (_MAX_ENTRIES, 3), (4, 1), (0, 0)):
        text = json.dumps(_plain(why, parts, alternatives, 0), separators=(",", ":"), allow_nan=False)
        if len(text) <= MAX_JSON:
            break
    return Json(text)


def _plain(why: Why, parts: int, alternatives: int, depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {"plan": why.plan[:_MAX_SENTENCE]}
    for name in ("formula", "source"):
        text = getattr(why, name)
        if text:
            found[name] = text[:_MAX_SENTENCE]
    figures = {
        name[:_MAX_SENTENCE]: float(value)
        for name, value in list(why.figures.items())[:_MAX_ENTRIES]
        if math.isfinite(value)
    }
    if figures:
        found["figures"] = figures
    taken = why.alternatives[:alternatives]
    if taken:
        found["alternatives"] = [
            {
                "plan": each.plan[:_MAX_SENTENCE],
                "cycles": float(each.cycles) if math.isfinite(each.cycles) else 0.0,
                "reason": each.reason[:_MAX_SENTENCE],
            }
            for each in taken
        ]
    kept = why.parts[: parts if depth < _DEEPEST else 0]
    if kept:
        found["parts"] = [_plain(part, parts, alternatives, depth + 1) for part in kept]
    if len(kept) < len(why.parts):
        found["plan"] += f" ({len(why.parts) - len(kept)} parts left out)"
    return found
