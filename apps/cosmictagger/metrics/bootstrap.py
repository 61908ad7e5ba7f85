"""Uncertainties by drawing events again, with replacement: pixels of one event are far from independent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: draws whose weights are in memory at a time
_AT_ONCE = 128
#: of the central interval, about one standard deviation to each side
_QUANTILES = (0.1587, 0.8413)


@dataclass(frozen=True)
class Estimate:
    """A figure with the interval that holds it in 68 % of the draws; NaN where it is not defined."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        if np.isnan(self.value):
            return "not defined"
        if np.isnan(self.low) or np.isnan(self.high):
            return f"{self.value:.4f}"
        return f"{self.value:.4f} (+{self.high - self.value:.4f} -{self.value - self.low:.4f})"

    def to_plain(self) -> dict[str, float | None]:
        """For JSON, which has no NaN."""
        plain = {"value": self.value, "low": self.low, "high": self.high}
        return {name: None if np.isnan(each) else each for name, each in plain.items()}


def draws(events: int, count: int, seed: int) -> Iterator[Array]:
    """How often each event is drawn: blocks of [draws, events]."""
    random = np.random.default_rng(seed)
    for start in range(0, count, _AT_ONCE):
        block = min(_AT_ONCE, count - start)
        yield random.multinomial(events, np.full(events, 1 / events), size=block).astype(np.float64)


def estimates(
    sums: Array, figures: Callable[[Array], Array], count: int = 1000, seed: int = 0
) -> list[Estimate]:
    """Figures of a sample of events, with intervals.

    Args:
        sums: what is added up over events, [events, n].
        figures: from sums [..., n] to figures [..., m].
        count: number of draws; 0 gives no intervals.
        seed: of the draws.

    Returns:
        One for each of the m figures.
    """
    events = len(sums)
    values = figures(sums.sum(axis=0))
    low = high = np.full(values.shape, np.nan)
    if events and count:
        drawn = np.concatenate([figures(weights @ sums) for weights in draws(events, count, seed)])
        low, high = (_quantile(drawn, each) for each in _QUANTILES)
    return [Estimate(*(float(each) for each in three)) for three in zip(values, low, high, strict=True)]


def _quantile(drawn: Array, share: float) -> Array:
    """A quantile of each column, without draws in which a figure is not defined; NaN if it never is."""
    found = np.full(drawn.shape[1], np.nan)
    some = ~np.isnan(drawn).all(axis=0)
    found[some] = np.nanquantile(drawn[:, some], share, axis=0)
    return found
