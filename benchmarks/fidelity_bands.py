"""The bands that go with modelled figures: where published ones lie around them, from rows that were not fitted."""

from __future__ import annotations

import pathlib
from collections.abc import Sequence

from .fidelity_cases import ROOT
from .fidelity_statistics import Row, percentile

BANDS = ROOT / "src" / "tremula" / "estimate" / "bands.toml"
CATEGORIES = ("training", "inference", "scaling", "memory")
#: with fewer rows a percentile says nothing, and the band stays as it is
FEWEST_ROWS = 10

_HEAD = """\
# How far published figures lie from modelled ones: published / modelled, 10th and 90th percentile of rows that were
# not used for fitting. Written by `python -m benchmarks.fidelity --write-bands`; rows = 0 marks a cautious default.
"""


def bands_as_toml(rows: Sequence[Row], before: str) -> str:
    """The file of bands; categories with too few rows keep what `before` says."""
    from tremula.estimate.bands import parse_bands

    kept = parse_bands(before)
    parts = [_HEAD]
    for category in CATEGORIES:
        ratios = sorted(
            1.0 / row.unused.ratio for row in rows if row.category == category and row.unused.ratio
        )
        if len(ratios) >= FEWEST_ROWS:
            low, high, count = percentile(ratios, 0.1), percentile(ratios, 0.9), len(ratios)
        else:
            low, high, count = kept[category].low, kept[category].high, kept[category].rows
        parts.append(f"\n[{category}]\nlow = {low:.3g}\nhigh = {high:.3g}\nrows = {count}\n")
    return "".join(parts)


def write_bands(rows: Sequence[Row], path: pathlib.Path = BANDS) -> None:
    """Write the bands that come with the package."""
    path.write_text(bands_as_toml(rows, path.read_text(encoding="utf-8")), encoding="utf-8")
