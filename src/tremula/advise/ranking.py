"""Which advice is worth listing, and in which order: what makes a program fit, what makes it faster, what makes room.

More IPUs come last, by how well they are used. Of one rule the mildest change that brings nearly as much as the best
is listed.
"""

from __future__ import annotations

from collections.abc import Iterable

from tremula.advise.advice import CLOSE, SMALLEST_EFFECT, SMALLEST_ROOM, Advice

#: share of the best gain of a rule that a milder change must bring to be listed instead
_NEARLY = 0.9


def ranked(tried: Iterable[Advice]) -> list[Advice]:
    """What is worth listing of `tried`, best first; changes of one rule come from mild to strong."""
    by_rule: dict[str, list[Advice]] = {}
    for each in tried:
        if worth(each):
            by_rule.setdefault(each.rule, []).append(each)
    return sorted((_of_rule(each) for each in by_rule.values()), key=_order)


def worth(advice: Advice) -> bool:
    """Whether the effect is large enough to be listed."""
    before, after = advice.before, advice.after
    if not before.runs:
        return after.runs or advice.frees >= SMALLEST_ROOM
    if not after.runs:
        return False
    faster = advice.effect >= 1.0 + SMALLEST_EFFECT
    close = before.tile_share > CLOSE and after.ipus == before.ipus
    return faster or (close and advice.frees >= SMALLEST_ROOM)


def _order(advice: Advice) -> tuple[int, float]:
    """The smaller the earlier."""
    if not advice.before.runs:
        return (0, -advice.effect_per_ipu) if advice.after.runs else (1, advice.after.tile_share)
    if advice.after.ipus > advice.before.ipus:
        return 2, -advice.effect_per_ipu
    if advice.effect >= 1.0 + SMALLEST_EFFECT:
        return 0, -advice.effect
    return 1, advice.after.tile_share


def _of_rule(found: list[Advice]) -> Advice:
    """The mildest that brings nearly as much as the best."""
    best = min(found, key=_order)
    gain = best.effect - 1.0
    if not best.before.runs or best.after.ipus > best.before.ipus or gain < SMALLEST_EFFECT:
        return best
    return next(each for each in found if each.effect - 1.0 >= _NEARLY * gain)
