"""Errors of predictions and their medians by category, rows used for fitting apart from rows never used.

A row that was used for fitting has two predictions: one with the shipped constants, which counts as used, and
one with constants that were fitted on the other folds, which counts as unused.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .fidelity_evaluate import Prediction
from .fidelity_kinds import CATEGORIES, TIMES


@dataclass(frozen=True)
class Row:
    """A case with its predictions."""

    prediction: Prediction
    #: with constants fitted without this row; None for rows that are never fitted
    without: Prediction | None = None
    #: from the torch version, of rows that are predicted from a TensorFlow program
    torch: Prediction | None = None

    @property
    def front_ends_ratio(self) -> float | None:
        """The prediction from the TensorFlow program over that from the torch version; None: there are not both."""
        if self.torch is None or not self.torch.predicted or self.prediction.predicted is None:
            return None
        return self.prediction.predicted / self.torch.predicted

    @property
    def category(self) -> str:
        """What the row is reported under."""
        return self.prediction.case.category

    @property
    def unused(self) -> Prediction:
        """The prediction that owes nothing to the row's published value."""
        return self.without if self.without is not None else self.prediction


@dataclass(frozen=True)
class Spread:
    """Absolute errors of some rows."""

    rows: int
    median: float | None
    ninetieth: float | None
    #: median of predicted over published rates: above 1 the model is too fast
    ratio: float | None = None


@dataclass(frozen=True)
class Summary:
    """One category: rows that were fitted, and all rows predicted without their own value."""

    category: str
    fitted: Spread
    unused: Spread
    target: float | None
    failed: int

    @property
    def met(self) -> bool | None:
        """Whether the median on unused rows is within the target; None without target or rows."""
        if self.target is None or self.unused.median is None:
            return None
        # as printed: to a tenth of a percent
        return round(100 * self.unused.median, 1) <= round(100 * self.target, 1)


def error(prediction: Prediction) -> float | None:
    """|predicted / published - 1|; for yes or no, 0 if right and 1 if wrong."""
    if prediction.predicted is None:
        return None
    case = prediction.case
    if case.metric == "fits":
        return float(prediction.predicted != case.published)
    return abs(prediction.predicted / case.published - 1.0)


def rate_ratio(prediction: Prediction) -> float | None:
    """Predicted over published rate: times are turned round. None for what is not a rate."""
    ratio, metric = prediction.ratio, prediction.case.metric
    if not ratio or metric in ("fits", "max_batch_fit"):
        return None
    return 1.0 / ratio if metric in TIMES else ratio


def spread(predictions: Iterable[Prediction]) -> Spread:
    """Median and 90th percentile of the errors, and the median ratio."""
    known = list(predictions)
    errors = sorted(each for each in map(error, known) if each is not None)
    if not errors:
        return Spread(0, None, None)
    ratios = [each for each in map(rate_ratio, known) if each is not None]
    middle = statistics.median(ratios) if ratios else None
    return Spread(len(errors), statistics.median(errors), percentile(errors, 0.9), middle)


def percentile(ordered: Sequence[float], share: float) -> float:
    """The value below which `share` of the ordered values lie, between neighbours in proportion."""
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def summaries(rows: Sequence[Row], *, blind: bool = False) -> list[Summary]:
    """All categories that have rows, in the order of the targets; of blind rows, or of those that were known."""
    found = []
    for category, target in CATEGORIES.items():
        own = [row for row in rows if row.category == category and row.prediction.case.blind == blind]
        if not own:
            continue
        found.append(
            Summary(
                category,
                fitted=spread(row.prediction for row in own if row.prediction.case.fit),
                unused=spread(row.unused for row in own),
                target=target,
                failed=sum(row.prediction.predicted is None for row in own),
            )
        )
    return found
