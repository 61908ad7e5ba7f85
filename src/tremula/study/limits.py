"""Limits for a comparison, as a CI gate states them: `worst_tile>+2%`, `throughput<-3%`, `step_time>10ms`.

A limit says what must not happen. A number with a sign is a change from A to B, in per cent of A or in units; one
without a sign is the value of B. All figures are modelled, so a limit compares two runs of the same model: its error
largely cancels between two versions of one program, but not between a limit and hardware.
"""

from __future__ import annotations

import difflib
import math
import operator
import re
from collections.abc import Mapping
from dataclasses import dataclass

from tremula.errors import Error
from tremula.formatting import plain
from tremula.study.compare import Comparison, Difference

#: short names of figures
ALIASES: Mapping[str, str] = {
    "worst_tile": "tile_bytes",
    "samples_per_second": "throughput",
    "step_time": "step_seconds",
    "latency": "latency_seconds",
    "cycles": "cycles_per_step",
    "memory": "ipu_bytes",
    "fit": "fit_probability",
}
_UNITS: Mapping[str, float] = {
    "": 1.0,
    "s": 1.0,
    "ms": 1e-3,
    "us": 1e-6,
    "ns": 1e-9,
    "B": 1.0,
    "kB": 1e3,
    "MB": 1e6,
    "GB": 1e9,
    "KiB": 2.0**10,
    "MiB": 2.0**20,
    "GiB": 2.0**30,
}
_COMPARISONS = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}
_LIMIT = re.compile(
    r"\s*(?P<name>[A-Za-z_][\w./ -]*?)\s*(?P<relation>>=|<=|>|<)\s*(?P<sign>[+-]?)\s*"
    r"(?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d{1,3})?|\.\d+)\s*(?P<unit>%|[A-Za-z]*)\s*"
)


@dataclass(frozen=True)
class Limit:
    """What must not happen to one measure."""

    text: str
    name: str
    relation: str
    number: float
    #: compared with the change from A to B, not with the value of B
    of_change: bool
    #: the number is per cent: of A for a change, of one for a value
    percent: bool


@dataclass(frozen=True)
class Check:
    """A limit and what was found."""

    limit: Limit
    found: Difference
    #: what the limit's number was compared with
    value: float
    exceeded: bool

    @property
    def shown(self) -> str:
        """The value in the form of the limit."""
        unit = " %" if self.limit.percent else ""
        sign = "+" if self.limit.of_change else ""
        return f"{self.value:{sign},.4g}{unit}" if math.isfinite(self.value) else "from nothing"


def parse_limit(text: str) -> Limit:
    """The limit that `text` states; raises Error if it states none."""
    found = _LIMIT.fullmatch(text[:500])
    if found is None:
        raise Error(
            f"{plain(text, 80)!r} is not a limit. A limit is a name, a relation and a number, for example "
            "'worst_tile>+2%', 'throughput<-3%' or 'step_time>10ms'. A sign means the change from A to B."
        )
    unit = found["unit"]
    if unit != "%" and unit not in _UNITS:
        known = ", ".join(filter(None, _UNITS))
        raise Error(f"{plain(text, 80)!r} has an unknown unit {unit!r}; the units are %, {known}.")
    number = float(found["number"]) * (1.0 if unit == "%" else _UNITS[unit])
    if not math.isfinite(number):
        raise Error(f"{plain(text, 80)!r} has a number that is too large.")
    return Limit(
        text=text.strip(),
        name=found["name"],
        relation=found["relation"],
        number=-number if found["sign"] == "-" else number,
        of_change=bool(found["sign"]),
        percent=unit == "%",
    )


def check(comparison: Comparison, limit: Limit) -> Check:
    """Whether `limit` is exceeded; raises Error if one side does not have the measure."""
    known = measures(comparison)
    name = ALIASES.get(limit.name, limit.name)
    if name not in known:
        names = sorted({*known, *ALIASES})
        near = difflib.get_close_matches(limit.name, names, 3, 0.5)
        hint = f"Did you mean {', '.join(map(plain, near))}? " if near else ""
        listed = ", ".join(plain(each, 60) for each in names if "." not in each)
        raise Error(
            f"{plain(limit.text, 80)!r}: there is no figure {plain(limit.name, 60)!r} on both sides. {hint}"
            f"The figures are {listed}, time.PART, memory.USE and cycles.MODULE."
        )
    found = known[name]
    if not limit.of_change:
        value = found.b * (100.0 if limit.percent else 1.0)
    elif not limit.percent:
        value = found.change
    elif found.a:
        value = 100.0 * found.change / abs(found.a)
    else:
        value = math.copysign(math.inf, found.change) if found.change else 0.0
    return Check(limit, found, value, _COMPARISONS[limit.relation](value, limit.number))


def measures(comparison: Comparison) -> dict[str, Difference]:
    """Everything that a limit may name: figures of both sides, and parts by time, use of memory and module."""
    a, b = comparison.a.figures, comparison.b.figures
    found = {name: Difference(name, a[name].value, b[name].value) for name in a if name in b}
    for prefix, parts in (
        ("time", (*comparison.parts, comparison.total)),
        ("memory", comparison.memory),
        ("cycles", comparison.modules),
    ):
        for each in parts:
            found[f"{prefix}.{each.name.replace(' ', '_')}"] = each
    return found
