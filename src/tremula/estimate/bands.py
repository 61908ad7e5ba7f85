"""How far off a modelled figure may be: from rows of published figures that no constant was fitted to.

A band is that of a category: training, inference, scaling, memory, or a kind of op. Categories with few rows share one.
Bands are of rates (and, for memory, of bytes), published over modelled. A band need not contain 1: where published
figures lie to one side of the model, so does the range, and the modelled value itself is outside of it.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import resources

from tremula.errors import Error
from tremula.program.work import Convolution, Copy, MatMul, Recurrent, SparseMatMul, Stencil, Work

#: the band of all categories with few rows
OTHERS = "others"
_CATEGORIES: Mapping[type, str] = {
    MatMul: "gemm",
    Recurrent: "gemm",
    Convolution: "convolution",
    SparseMatMul: "sparse",
    Stencil: "stencil",
    Copy: "exchange",
}


@dataclass(frozen=True)
class Band:
    """Published over modelled: most rows lie between `low` and `high`."""

    low: float
    high: float
    #: rows that it rests on; 0: a cautious guess
    rows: int
    #: publications of different programs among them
    families: int = 0
    #: share of rows that lie in the band of all other families
    coverage: float | None = None
    #: the categories whose rows are in it, where these are several
    categories: tuple[str, ...] = ()

    def around(self, value: float) -> tuple[float, float]:
        """The range in which the true value probably lies; `value` is outside where the band says so."""
        return value * self.low, value * self.high

    @property
    def inverse(self) -> Band:
        """The band of times, where this is one of rates."""
        return replace(self, low=1.0 / self.high, high=1.0 / self.low)

    @property
    def bias(self) -> str:
        """To which side of the model all of it lies: lower, higher, or neither."""
        return "lower" if self.high < 1.0 else "higher" if self.low > 1.0 else ""

    def __str__(self) -> str:
        several = " of several kinds" if self.categories else ""
        basis = f"{self.rows} published rows{several}" if self.rows else "a cautious default"
        bias = f"; published figures are {self.bias}" if self.bias else ""
        return f"{self.low - 1:+.0%} to {self.high - 1:+.0%}, from {basis}{bias}"


@functools.cache
def bands() -> Mapping[str, Band]:
    """The bands that come with this version of the model, by category."""
    text = resources.files("tremula.estimate").joinpath("bands.toml").read_text(encoding="utf-8")
    return parse_bands(text)


def parse_bands(text: str) -> dict[str, Band]:
    """Bands from TOML.

    Raises:
        Error: a value is missing or makes no sense.
    """
    found: dict[str, Band] = {}
    for category, values in tomllib.loads(text).items():
        try:
            band = Band(
                float(values["low"]),
                float(values["high"]),
                int(values["rows"]),
                int(values.get("families", 0)),
                None if "coverage" not in values else float(values["coverage"]),
                tuple(map(str, values.get("categories", ()))),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise Error(
                f"The band of {category} needs the numbers low, high and rows: {values!r}."
            ) from error
        if not 0 < band.low <= band.high:
            raise Error(f"The band of {category} must have 0 < low <= high, not {band.low} and {band.high}.")
        found[category] = band
    for shared in list(found.values()):
        for category in shared.categories:
            found.setdefault(category, shared)
    return found


def band(category: str) -> Band:
    """The band of `category`: training, inference, scaling, memory or a kind of op (see `op_category`)."""
    known = bands()
    return known.get(category) or known[OTHERS]


def op_category(work: Work) -> str:
    """The category under which published figures of such an op are reported."""
    return _CATEGORIES.get(type(work), "elementwise")
