"""Does it fit, as a probability: from what published configurations did that the model puts at the same fill.

The fill is the modelled bytes on the fullest tile over the memory of a tile. The compiler packs some programs better
than the model thinks, and others worse; how often a program ran that was modelled at some fill is counted in fit.toml,
and a logistic in the logarithm of the fill lies through it: `centre` is the fill at which half of them run, `width` how
fast that changes. `python -m benchmarks.fidelity --write-fit` writes the file anew when the memory model has changed.
"""

from __future__ import annotations

import functools
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from tremula.errors import Error

#: the words, best first, and the least probability of each. "Yes" and "no" are said where one of twenty is wrong at
#: most. Between them it is whatever is more probable: programs that are called "likely" ran in four of five cases at
#: least, where failures were looked for as well (docs/accuracy.md)
WORDS: tuple[tuple[str, float], ...] = (("yes", 0.95), ("likely", 0.5), ("unlikely", 0.05), ("no", 0.0))
#: the words that count as fitting
FITTING = ("yes", "likely")


@dataclass(frozen=True)
class Fit:
    """Whether a program fits."""

    #: bytes on the fullest tile over the memory of a tile
    fill: float
    probability: float
    #: yes, likely, unlikely or no
    verdict: str
    #: what the probability rests on, in words
    evidence: str

    @property
    def fits(self) -> bool:
        """Whether the verdict is yes or likely."""
        return self.verdict in FITTING

    def __str__(self) -> str:
        return f"fits: {self.words}, {self.fill:.0%} of the fullest tile"

    @property
    def words(self) -> str:
        """The verdict with its probability."""
        return f"{self.verdict} ({percentage(self.probability)})"


@dataclass(frozen=True)
class Bin:
    """Published configurations that were modelled at a fill from `low` to below `high`."""

    low: float
    high: float
    ran: int
    failed: int

    @property
    def says(self) -> str:
        """The fills in words."""
        if math.isinf(self.high):
            return f"more than {100 * self.low:.0f} %"
        if self.low <= 0.0:
            return f"less than {100 * self.high:.0f} %"
        return f"{100 * self.low:.0f} to {100 * self.high:.0f} %"


@dataclass(frozen=True)
class Curve:
    """The probability of fitting by fill, which never rises with it."""

    centre: float
    width: float
    #: share of programs that do the opposite of what their fill says, however far from the centre
    lapse: float
    bins: tuple[Bin, ...]
    #: configurations that it rests on
    rows: int
    date: str = ""
    model_version: str = ""

    def probability(self, fill: float) -> float:
        """That a program runs which the model puts at `fill`."""
        if fill <= 0.0:
            return 1.0 - self.lapse
        steps = (math.log(fill) - math.log(self.centre)) / self.width
        # far out the exponential overflows, and the answer is known
        below = 1.0 / (1.0 + math.exp(steps)) if steps < 500.0 else 0.0
        return self.lapse + (1.0 - 2.0 * self.lapse) * below

    @property
    def full(self) -> float:
        """The fill up to which a program counts as fitting."""
        least = next(least for word, least in reversed(WORDS) if word in FITTING)
        below = (least - self.lapse) / (1.0 - 2.0 * self.lapse)
        return self.centre * math.pow(1.0 / below - 1.0, self.width)

    def fit(self, fill: float) -> Fit:
        """The verdict on a program at `fill`."""
        probability = self.probability(fill)
        return Fit(fill, probability, word_of(probability), self.evidence(fill))

    def evidence(self, fill: float) -> str:
        """What published configurations at about this fill did."""
        for each in self.bins:
            if each.low <= fill < each.high:
                break
        else:
            return f"no published configuration uses about {fill:.0%} of a tile (modelled)"
        about = each.says
        known = each.ran + each.failed
        if not known:
            return f"no published configuration uses {about} of a tile (modelled)"
        configurations = "configuration that was" if known == 1 else "configurations that were"
        return f"of {known} published {configurations} modelled at {about} of a tile, {each.ran} ran"


def word_of(probability: float) -> str:
    """The verdict that goes with a probability."""
    return next(word for word, least in WORDS if probability >= least)


def percentage(probability: float) -> str:
    """A probability in per cent; never all or nothing, for no curve is that sure."""
    if probability > 0.99:
        return "over 99 %"
    if probability < 0.01:
        return "under 1 %"
    return f"{100 * probability:.0f} %"


def fit_of(fill: float) -> Fit:
    """The verdict by the curve that comes with this version of the model."""
    return curve().fit(fill)


@functools.cache
def curve() -> Curve:
    """The curve that comes with this version of the model."""
    text = resources.files("tremula.memory").joinpath("fit.toml").read_text(encoding="utf-8")
    return parse_curve(text)


def parse_curve(text: str) -> Curve:
    """A curve from TOML.

    Raises:
        Error: a value is missing or makes no sense.
    """
    content = tomllib.loads(text)
    try:
        bins = tuple(_bin(each) for each in content["bin"])
        found = Curve(
            centre=float(content["centre"]),
            width=float(content["width"]),
            lapse=float(content["lapse"]),
            bins=bins,
            rows=int(content["rows"]),
            date=str(content["date"]),
            model_version=str(content["model_version"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise Error(
            f"The curve of fits needs centre, width, lapse, rows, date, model_version and bins: {error!r}."
        ) from error
    if not (found.centre > 0.0 and found.width > 0.0 and 0.0 <= found.lapse < 0.05):
        raise Error(
            "The curve of fits must have centre and width above 0 and a lapse below 0.05, not "
            f"{found.centre}, {found.width} and {found.lapse}."
        )
    return found


def _bin(values: Mapping[str, Any]) -> Bin:
    return Bin(float(values["low"]), float(values["high"]), int(values["ran"]), int(values["failed"]))
