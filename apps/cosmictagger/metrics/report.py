"""The report on a set of events: all metrics with uncertainties, by plane, energy and kind of neutrino.

It is made on the host from counts of each event, never from images. Figures of `Totals` are averages over images;
purity, efficiency and the confusion matrix are over all pixels together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cosmictagger.metrics import summary
from cosmictagger.metrics.bootstrap import Estimate, estimates
from cosmictagger.network.configurations import CLASSES, PLANES

Array = NDArray[np.float64]

#: edges in GeV; the last bin is open
ENERGY_EDGES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0)
#: kinds of interactions that are told apart
CATEGORIES = ("nu_e", "nu_mu", "NC")
CLASS_NAMES = ("background", "cosmic", "neutrino")
_IOUS = ("Cosmic_IoU", "Neutrino_IoU", "mIoU")


@dataclass(frozen=True)
class Curve:
    """Cosmic rejection against neutrino retention, over pixels, as the cut on the neutrino score rises.

    Attributes:
        threshold: a pixel counts as neutrino from this score on.
        retention: share of neutrino pixels that are kept.
        cosmic_rejection: share of cosmic pixels that are not.
        background_rejection: share of background pixels that are not.
    """

    threshold: Array
    retention: Array
    cosmic_rejection: Array
    background_rejection: Array

    @classmethod
    def of(cls, scores: ArrayLike) -> Curve:
        """From histograms [events, planes, true, bins] of the neutrino score."""
        histogram = np.asarray(scores, dtype=np.float64)
        if histogram.ndim != 4 or histogram.shape[1:3] != (PLANES, CLASSES):
            raise ValueError(
                f"histograms are [events, {PLANES}, {CLASSES}, bins], these {list(histogram.shape)}."
            )
        total = histogram.sum(axis=(0, 1))
        bins = total.shape[1]
        # above[c, k]: pixels of class c with a score of at least k / bins
        above = np.concatenate([total[:, ::-1].cumsum(axis=1)[:, ::-1], np.zeros((CLASSES, 1))], axis=1)
        kept = summary.ratio(above, above[:, :1])
        return cls(
            threshold=np.arange(bins + 1) / bins,
            retention=kept[summary.NEUTRINO],
            cosmic_rejection=1 - kept[summary.COSMIC],
            background_rejection=1 - kept[summary.BACKGROUND],
        )

    @property
    def area(self) -> float:
        """Area under rejection against retention: 1 is perfect, 0.5 a guess; NaN where a class is absent."""
        heights, at = self.cosmic_rejection[::-1], self.retention[::-1]
        return float(np.sum(np.diff(at) * (heights[1:] + heights[:-1]) / 2))  # the trapezoidal rule

    def to_plain(self) -> dict[str, Any]:
        """For JSON."""
        names = ("threshold", "retention", "cosmic_rejection", "background_rejection")
        return {name: _plain(getattr(self, name)) for name in names} | {"area": _plain(self.area)}


@dataclass(frozen=True)
class Report:
    """What is known about a set of events.

    Attributes:
        events: how many there are.
        metrics: as `Totals.metrics` names them, and purity and efficiency of each class.
        confusion: pixels [planes, true, predicted].
        by_energy: (lower edge, upper edge, events, intersections over union) of each bin.
        by_category: events and intersections over union of each kind of interaction.
        curve: rejection against retention; None without scores.
        vertex: median distance in pixels and the share of events with a prediction, of each plane; may be empty.
    """

    events: int
    metrics: dict[str, Estimate]
    confusion: Array
    by_energy: list[tuple[float, float, int, dict[str, Estimate]]] = field(default_factory=list)
    by_category: dict[str, tuple[int, dict[str, Estimate]]] = field(default_factory=dict)
    curve: Curve | None = None
    vertex: dict[str, Estimate] = field(default_factory=dict)

    def to_plain(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "events": self.events,
            "metrics": {name: each.to_plain() for name, each in self.metrics.items()},
            "confusion": self.confusion.tolist(),
            "by_energy": [
                {
                    "from_gev": low,
                    "to_gev": _plain(high),
                    "events": count,
                    **{k: v.to_plain() for k, v in found.items()},
                }
                for low, high, count, found in self.by_energy
            ],
            "by_category": {
                name: {"events": count, **{k: v.to_plain() for k, v in found.items()}}
                for name, (count, found) in self.by_category.items()
            },
            "curve": None if self.curve is None else self.curve.to_plain(),
            "vertex": {name: each.to_plain() for name, each in self.vertex.items()},
        }


def make_report(
    counts: ArrayLike,
    *,
    energies: ArrayLike | None = None,
    categories: Sequence[str | None] | None = None,
    scores: ArrayLike | None = None,
    vertex_distances: ArrayLike | None = None,
    energy_edges: Sequence[float] = ENERGY_EDGES,
    bootstrap: int = 1000,
    seed: int = 0,
) -> Report:
    """The report on events.

    Args:
        counts: confusion counts [events, planes, true, predicted].
        energies: of the neutrinos in GeV, NaN where not known.
        categories: `nu_e`, `nu_mu`, `NC` or None, of each event.
        scores: histograms of the neutrino score [events, planes, true, bins].
        vertex_distances: pixels [events, planes], NaN where nothing was predicted or the truth is not known.
        energy_edges: lower edges of the bins of energy; the last is open.
        bootstrap: number of draws for the uncertainties.
        seed: of these draws.

    Raises:
        ValueError: something has not one entry for each event.
    """
    array = summary.checked(counts)
    events = len(array)
    given = {
        "energies": energies,
        "categories": categories,
        "scores": scores,
        "vertex_distances": vertex_distances,
    }
    for name, each in given.items():
        if each is not None and len(each) != events:  # type: ignore[arg-type]
            raise ValueError(f"there are {events} events but {len(each)} {name}.")  # type: ignore[arg-type]
    report = Report(
        events=events,
        metrics=_metrics(array, bootstrap, seed) | _pooled(array, bootstrap, seed),
        confusion=array.sum(axis=0),
        curve=None if scores is None else Curve.of(scores),
    )
    if energies is not None:
        energy = np.asarray(energies, dtype=np.float64)
        for low, high in zip(energy_edges, [*energy_edges[1:], np.inf], strict=True):
            inside = (energy >= low) & (energy < high)
            found = _metrics(array[inside], bootstrap, seed, _IOUS)
            report.by_energy.append((float(low), float(high), int(inside.sum()), found))
    if categories is not None:
        for name in CATEGORIES:
            inside = np.array([each == name for each in categories], dtype=bool)
            found = _metrics(array[inside], bootstrap, seed, _IOUS)
            report.by_category[name] = (int(inside.sum()), found)
    if vertex_distances is not None:
        report.vertex.update(_vertex(np.asarray(vertex_distances, dtype=np.float64), bootstrap, seed))
    return report


def _metrics(
    counts: Array, bootstrap: int, seed: int, wanted: Sequence[str] = summary.METRICS
) -> dict[str, Estimate]:
    """Averages over images, of each plane and of all; those of no image are not defined."""
    if not len(counts):
        return {f"Average/{name}": Estimate(np.nan, np.nan, np.nan) for name in wanted}
    off_background = summary.non_background_accuracy(counts)
    ious = summary.iou(counts)
    cosmic, neutrino = ious[..., summary.COSMIC], ious[..., summary.NEUTRINO]
    values = dict(
        zip(
            summary.METRICS,
            (summary.accuracy(counts), cosmic, neutrino, off_background, 0.5 * (cosmic + neutrino)),
            strict=True,
        )
    )
    chosen = np.stack([values[name] for name in wanted], axis=1)  # [events, metrics, planes]
    defined = ~np.isnan(chosen)
    sums = np.concatenate(
        [np.where(defined, chosen, 0.0).reshape(len(counts), -1), defined.reshape(len(counts), -1)], axis=1
    )

    def figures(total: Array) -> Array:
        upper, lower = np.split(total, 2, axis=-1)
        planes = summary.ratio(upper, lower).reshape(*total.shape[:-1], len(wanted), PLANES)
        average = summary.mean_of_defined(planes, axis=-1)
        return np.concatenate([average[..., None], planes], axis=-1).reshape(*total.shape[:-1], -1)

    names = [
        f"{where}/{name}" for name in wanted for where in ("Average", *(f"plane{p}" for p in range(PLANES)))
    ]
    return dict(zip(names, estimates(sums, figures, bootstrap, seed), strict=True))


def _pooled(counts: Array, bootstrap: int, seed: int) -> dict[str, Estimate]:
    """Purity and efficiency of each class over all pixels of all planes."""
    sums = counts.sum(axis=1).reshape(len(counts), CLASSES * CLASSES)

    def figures(total: Array) -> Array:
        matrix = total.reshape(*total.shape[:-1], CLASSES, CLASSES)
        return np.concatenate([summary.purity(matrix), summary.efficiency(matrix)], axis=-1)

    names = [f"{kind}/{name}" for kind in ("purity", "efficiency") for name in CLASS_NAMES]
    return dict(zip(names, estimates(sums, figures, bootstrap, seed), strict=True))


def _vertex(distances: Array, bootstrap: int, seed: int) -> dict[str, Estimate]:
    """The median distance of each plane, and how many events have a prediction at all."""
    found = {}
    random = np.random.default_rng(seed)
    for plane in range(PLANES):
        known = distances[:, plane]
        near = known[~np.isnan(known)]
        low = high = np.nan
        if len(near) and bootstrap:
            drawn = np.median(near[random.integers(len(near), size=(bootstrap, len(near)))], axis=1)
            low, high = np.quantile(drawn, (0.1587, 0.8413))
        value = float(np.median(near)) if len(near) else np.nan
        found[f"plane{plane}/median_distance"] = Estimate(value, float(low), float(high))
        share = len(near) / len(known) if len(known) else np.nan
        found[f"plane{plane}/found"] = Estimate(share, np.nan, np.nan)
    return found


def _plain(value: Any) -> Any:
    """Numbers for JSON, which has neither NaN nor infinity."""
    array = np.asarray(value, dtype=np.float64)
    if array.ndim:
        return [_plain(each) for each in array]
    return float(array) if np.isfinite(array) else None
