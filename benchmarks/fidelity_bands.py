"""The bands that go with modelled figures: where published ones lie around them, from rows that were not fitted.

A band is the interval from the 10th to the 90th percentile of log(published / predicted) of a category, whichever side
of the prediction that is on. Percentiles of few rows are too narrow for rows that are not among them, and rows of one
family resemble each other. So each end is moved away from (or towards) the median by one factor: the smallest with
which 80 % of all rows lie in the band of the other families. That share, the coverage, is part of the file.

Rates are taken as they are and times turned round, so that a band is one of rates; that of memory is one of bytes.
"""

from __future__ import annotations

import math
import pathlib
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tremula.estimate.bands import OTHERS, Band, parse_bands

from .fidelity_cases import ROOT
from .fidelity_kinds import CATEGORIES, TIMES, UNRATED
from .fidelity_statistics import Row, percentile

BANDS = ROOT / "src" / "tremula" / "estimate" / "bands.toml"
#: a category with less than this shares a band with the others
FEWEST_ROWS = 20
FEWEST_FAMILIES = 4
#: percentile at the low end; that at the high end is as far from all
TAIL = 0.1
#: share of rows that should lie in the band of the other families, and what is reported as good
COVERAGE = 0.8
GOOD = (0.75, 0.9)
#: differences of logarithms that are rounding
_ROUNDING = 1e-12
#: factors on the distance of an end from the median
_FACTORS = tuple(0.3 + 0.05 * step for step in range(95))
#: bytes share no band with times: with too few rows the cautious default stays
_ALONE = "memory"
#: not shown to anybody with a band
_WITHOUT = ("vertex",)

_HEAD = """\
# How far published figures lie from modelled ones: published / modelled, of rows that were not used for fitting.
# Written by `python -m benchmarks.fidelity --write-bands` (benchmarks/fidelity_bands.py says how); rows = 0 marks a
# cautious default. Coverage is the share of rows in the band of the other families.
"""


@dataclass(frozen=True)
class Ratio:
    """log(published / predicted) of one row, as a rate."""

    category: str
    family: str
    log: float


def ratios(rows: Iterable[Row]) -> list[Ratio]:
    """The rows that say how far a rate (or a number of bytes) is off."""
    found = []
    for row in rows:
        ratio, case = row.unused.ratio, row.unused.case
        if not ratio or case.metric in UNRATED or case.category in _WITHOUT:
            continue
        log = -math.log(ratio)
        found.append(Ratio(case.category, case.family, -log if case.metric in TIMES else log))
    return found


def families(rows: Iterable[Ratio]) -> list[str]:
    """Each family once."""
    return list(dict.fromkeys(row.family for row in rows))


def ends(rows: Sequence[Ratio], factor: float = 1.0) -> tuple[float, float]:
    """Both ends of the band as logarithms, `factor` times as far from the median as the percentiles are."""
    ordered = sorted(row.log for row in rows)
    middle = statistics.median(ordered)
    low, high = percentile(ordered, TAIL), percentile(ordered, 1.0 - TAIL)
    return middle - factor * (middle - low), middle + factor * (high - middle)


def coverage(rows: Sequence[Ratio], factor: float) -> float | None:
    """Share of rows that lie in the band of the other families; None where there are no others."""
    inside = tried = 0
    for family in families(rows):
        others = [row for row in rows if row.family != family]
        if not others:
            return None
        low, high = ends(others, factor)
        own = [row.log for row in rows if row.family == family]
        inside += sum(low - _ROUNDING <= log <= high + _ROUNDING for log in own)
        tried += len(own)
    return inside / tried if tried else None


def band_of(rows: Sequence[Ratio], categories: Sequence[str] = ()) -> Band:
    """The narrowest band of that shape with enough coverage."""
    for factor in _FACTORS:
        covered = coverage(rows, factor)
        if covered is None or covered >= COVERAGE:
            break
    if covered is None:
        factor = 1.0
    low, high = ends(rows, factor)
    return Band(math.exp(low), math.exp(high), len(rows), len(families(rows)), covered, tuple(categories))


def found_bands(rows: Sequence[Row], before: str) -> dict[str, Band]:
    """All bands by category, the shared one last; memory keeps what `before` says if it has too few rows."""
    known = ratios(rows)
    own: dict[str, Band] = {}
    shared: list[Ratio] = []
    for category in CATEGORIES:
        mine = [each for each in known if each.category == category]
        if len(mine) >= FEWEST_ROWS and len(families(mine)) >= FEWEST_FAMILIES:
            own[category] = band_of(mine)
        elif category != _ALONE:
            shared += mine
    own.setdefault(_ALONE, parse_bands(before)[_ALONE])
    if shared:
        own[OTHERS] = band_of(shared, [c for c in CATEGORIES if any(each.category == c for each in shared)])
    return own


def bands_as_toml(rows: Sequence[Row], before: str) -> str:
    """The file of bands."""
    parts = [_HEAD]
    for category, band in found_bands(rows, before).items():
        parts.append(f"\n[{category}]\nlow = {band.low:.3g}\nhigh = {band.high:.3g}\nrows = {band.rows}\n")
        if band.rows:
            parts.append(f"families = {band.families}\n")
        if band.coverage is not None:
            parts.append(f"coverage = {band.coverage:.2f}\n")
        if band.categories:
            names = ", ".join(f'"{name}"' for name in band.categories)
            parts.append(f"categories = [{names}]\n")
    return "".join(parts)


def write_bands(rows: Sequence[Row], path: pathlib.Path = BANDS) -> None:
    """Write the bands that come with the package."""
    path.write_text(bands_as_toml(rows, path.read_text(encoding="utf-8")), encoding="utf-8")


@dataclass(frozen=True)
class Coverage:
    """How many rows of a category lie in the band that others would give it."""

    category: str
    band: Band
    #: of the category's own rows
    rows: int
    inside: int

    @property
    def share(self) -> float | None:
        return self.inside / self.rows if self.rows else None


def coverages(rows: Sequence[Row], before: str | None = None) -> list[Coverage]:
    """By category, how many rows lie in bands that were found without their family."""
    text = BANDS.read_text(encoding="utf-8") if before is None else before
    known, found = ratios(rows), []
    for name, band in found_bands(rows, text).items():
        members = band.categories or (name,)
        pool = [each for each in known if each.category in members]
        factor = _factor(pool, band)
        for category in members:
            mine = [each for each in pool if each.category == category]
            inside = sum(_inside(each, pool, factor, band) for each in mine)
            found.append(Coverage(category, band, len(mine), inside))
    order = list(CATEGORIES)
    return sorted(found, key=lambda each: order.index(each.category))


def _factor(pool: Sequence[Ratio], band: Band) -> float:
    """The factor that `band` was made with."""
    if not band.rows or len(pool) < 2:
        return 1.0
    low, high = ends(pool)
    return (math.log(band.high) - math.log(band.low)) / (high - low) if high > low else 1.0


def _inside(row: Ratio, pool: Sequence[Ratio], factor: float, band: Band) -> bool:
    others = [each for each in pool if each.family != row.family]
    if not band.rows or not others:  # a default, which owes nothing to the row
        return math.log(band.low) <= row.log <= math.log(band.high)
    low, high = ends(others, factor)
    return low <= row.log <= high


def as_text(rows: Sequence[Row]) -> str:
    """What the command prints."""
    lines = ["bands (published / predicted rate), and rows within the band of the other families:"]
    lines += [f"  {each.category:12} {_cells(each)}" for each in coverages(rows)]
    return "\n".join(lines)


def _cells(each: Coverage) -> str:
    shared = " shared" if each.band.categories else ""
    share = "-" if each.share is None else f"{each.share:.0%}"
    whole = "-" if each.band.coverage is None else f"{each.band.coverage:.0%}"
    return (
        f"{each.band.low:5.2f} to {each.band.high:5.2f}{shared:7}  {each.inside:3} of {each.rows:3} inside ({share}); "
        f"band of {each.band.rows} rows, {each.band.families} families, coverage {whole}"
    )


_INTRODUCTION = """## Bands

A modelled figure is shown with the range in which the true value probably lies. The range is the interval between the
10th and the 90th percentile of published over predicted rates of its category (bytes for memory). It is widened until
{coverage:.0%} of the rows lie in a band that was found without their family. If the model is biased, a band may lie on
one side of the prediction and not contain the modelled value. Categories with fewer than {rows} rows or {families}
families share one band. A coverage between {low:.0%} and {high:.0%} is as intended.
"""


def as_markdown(rows: Sequence[Row]) -> str:
    """The section of the page on accuracy."""
    lines = [
        _INTRODUCTION.format(
            coverage=COVERAGE, rows=FEWEST_ROWS, families=FEWEST_FAMILIES, low=GOOD[0], high=GOOD[1]
        ),
        "| category | published / predicted | rows | inside, family left out | band of | coverage of the band |",
        "|---|---|---:|---:|---|---:|",
    ]
    for each in coverages(rows):
        band = each.band
        share = "" if each.share is None else f"{each.inside} ({each.share:.0%})"
        basis = f"{band.rows} rows, {band.families} families" if band.rows else "a cautious default"
        kind = ", shared" if band.categories else ""
        whole = "" if band.coverage is None else f"{band.coverage:.0%}"
        lines.append(
            f"| {each.category} | {band.low:.2f} to {band.high:.2f} | {each.rows} | {share} | {basis}{kind} | {whole} |"
        )
    return "\n".join(lines) + "\n"
