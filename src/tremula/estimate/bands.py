"""How far off a modelled figure may be: from rows of published figures that no constant was fitted to."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources

from tremula.errors import Error


@dataclass(frozen=True)
class Band:
    """Published over modelled: most rows lie between `low` and `high`."""

    low: float
    high: float
    #: rows that it rests on; 0: a cautious guess
    rows: int

    def around(self, value: float) -> tuple[float, float]:
        """The range in which the true value probably lies; `value` itself is in it, also where the rows are not."""
        return value * min(1.0, self.low), value * max(1.0, self.high)

    @property
    def inverse(self) -> Band:
        """The band of times, where this is one of rates."""
        return Band(1.0 / self.high, 1.0 / self.low, self.rows)

    def __str__(self) -> str:
        basis = f"{self.rows} published rows" if self.rows else "a cautious default"
        return f"{self.low - 1:+.0%} to {self.high - 1:+.0%}, from {basis}"


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
    found = {}
    for category, values in tomllib.loads(text).items():
        try:
            band = Band(float(values["low"]), float(values["high"]), int(values["rows"]))
        except (KeyError, TypeError, ValueError) as error:
            raise Error(
                f"The band of {category} needs the numbers low, high and rows: {values!r}."
            ) from error
        if not 0 < band.low <= band.high:
            raise Error(f"The band of {category} must have 0 < low <= high, not {band.low} and {band.high}.")
        found[category] = band
    return found


def band(category: str) -> Band:
    """The band of `category`: training, inference, scaling or memory."""
    return bands()[category]
