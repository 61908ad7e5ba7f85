"""Options of library functions: each is honoured, or has no effect for a reason, or is unknown."""

from __future__ import annotations

from collections.abc import Mapping

from tremula import log
from tremula.frontends.poplar.errors import InvalidOption
from tremula.frontends.poplar.lines import user_line

#: why options of plans change nothing
PLANNED_BY_THE_MODEL = "the chip model plans the operation itself, and results do not depend on the plan"
EXACT_ALREADY = "results do not depend on it here"

_TRUTHS = {"true": True, "1": True, "false": False, "0": False}


def check(
    function: str,
    options: Mapping[str, str],
    honoured: tuple[str, ...] = (),
    without_effect: Mapping[str, str] | None = None,
) -> None:
    """Raise for unknown options, and say once of each option without effect why it has none."""
    reasons = without_effect or {}
    for name in options:
        if name in honoured:
            continue
        if name not in reasons:
            known = ", ".join(sorted({*honoured, *reasons})) or "none"
            raise InvalidOption(
                f"{function} has no option {name!r}; its options are: {known} ({user_line()})"
            )
        log.no_effect(f"option {name!r} of {function}", reasons[name])


def truth(function: str, options: Mapping[str, str], name: str, default: bool) -> bool:
    """The value of an option that is true or false."""
    given = options.get(name)
    if given is None:
        return default
    found = _TRUTHS.get(given.lower())
    if found is None:
        raise InvalidOption(f"option {name!r} of {function} is true or false, not {given!r} ({user_line()})")
    return found


def share(function: str, options: Mapping[str, str], name: str, default: float) -> float:
    """The value of an option that is a share of memory."""
    given = options.get(name)
    if given is None:
        return default
    try:
        found = float(given)
    except ValueError:
        found = -1.0
    if not 0.0 <= found < float("inf"):
        raise InvalidOption(
            f"option {name!r} of {function} is a number that is not negative, not {given!r} ({user_line()})"
        )
    return found
