"""Plots: truth against prediction, residuals, and the course of training."""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Drawing

from cosmoflow.data.generate import physical
from cosmoflow.data.layout import Parameters
from cosmoflow.evaluation import Predictions
from cosmoflow.scores import Score

#: one colour for each parameter; told apart also by those who do not see red and green as different
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#aa4499")
_GREY, _INK = "#8a919c", "#1f2933"
_STYLE: dict[Any, Any] = {
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": _GREY,
    "axes.labelcolor": _INK,
    "text.color": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "axes.grid": True,
    "grid.color": "#e4e7eb",
    "axes.axisbelow": True,
    "legend.frameon": False,
}


@contextmanager
def _styled() -> Iterator[None]:
    import matplotlib

    with matplotlib.rc_context(_STYLE):
        yield


def _png(drawing: Drawing) -> bytes:
    FigureCanvasAgg(drawing)
    stream = io.BytesIO()
    drawing.savefig(stream, format="png", dpi=130, metadata={"Software": None})
    return stream.getvalue()


def truth_plot(found: Predictions, result: Score, parameters: Parameters) -> bytes:
    """Prediction against truth for each parameter, in its own units if they are known."""
    with _styled():
        drawing = Drawing(figsize=(10, 9.2), layout="constrained")
        for i, axes in enumerate(drawing.subplots(2, 2).flat):
            truth, predicted = _in_units(found, parameters, i)
            low, high = _ends(parameters, i)
            margin = (high - low) * 0.12
            ends = (low - margin, high + margin)
            axes.plot(ends, ends, color=_GREY, lw=1, ls="--", label="truth")
            axes.scatter(truth, predicted, s=14, alpha=0.55, color=COLOURS[i], linewidths=0)
            middles, means, spreads = _profile(truth, predicted, low, high)
            axes.errorbar(
                middles,
                means,
                spreads,
                fmt="o",
                ms=4.5,
                lw=1.4,
                color=_INK,
                capsize=2,
                label="mean and spread of a tenth",
            )
            score = result.parameters[i]
            axes.set(xlim=ends, ylim=ends, xlabel=f"true {score.name}", ylabel=f"predicted {score.name}")
            axes.set_title(
                f"{score.name}   R² = {score.r2.value:.3f} ± {score.r2.error:.3f}", color=COLOURS[i]
            )
            axes.set_aspect("equal")
            if i == 0:
                axes.legend(loc="upper left")
        return _png(drawing)


def residual_plot(found: Predictions, result: Score, parameters: Parameters) -> bytes:
    """Predicted minus true: distribution, and course over the range, in units of half the range."""
    residual = found.predicted - found.truth
    reach = max(0.05, float(np.quantile(np.abs(residual), 0.995)))
    with _styled():
        drawing = Drawing(figsize=(13, 6.2), layout="constrained")
        panels = drawing.subplots(2, 4, sharey="row")
        for i, (above, below) in enumerate(zip(*panels, strict=True)):
            name, bias = result.parameters[i].name, result.parameters[i].bias
            bins = np.linspace(-reach, reach, 32).tolist()
            above.hist(np.clip(residual[:, i], -reach, reach), bins=bins, color=COLOURS[i], alpha=0.85)
            above.axvline(bias.value, color=_INK, lw=1.2)
            above.set_title(name, color=COLOURS[i])
            above.set_xlabel("predicted − true")
            above.text(
                0.03,
                0.95,
                f"mean {bias.value:+.3f}\nspread {residual[:, i].std():.3f}",
                transform=above.transAxes,
                va="top",
            )
            below.axhline(0, color=_GREY, lw=1, ls="--")
            below.scatter(found.truth[:, i], residual[:, i], s=10, alpha=0.5, color=COLOURS[i], linewidths=0)
            middles, means, spreads = _profile(found.truth[:, i], residual[:, i], -1, 1)
            below.errorbar(middles, means, spreads, fmt="o", ms=4, lw=1.3, color=_INK, capsize=2)
            below.set(xlabel=f"true {name} (scaled)", xlim=(-1.08, 1.08), ylim=(-reach * 1.05, reach * 1.05))
        panels[0][0].set_ylabel("samples")
        panels[1][0].set_ylabel("predicted − true")
        return _png(drawing)


def history_plot(history: list[dict[str, float]], result: Score) -> bytes | None:
    """Errors in the course of training; None if there is nothing to show."""
    rows = [row for row in history if "validation_mae" in row]
    if len(rows) < 2:
        return None
    epochs = [row["epoch"] for row in rows]
    with _styled():
        drawing = Drawing(figsize=(10, 3.8), layout="constrained")
        axes = drawing.subplots()
        for i, score in enumerate(result.parameters):
            values = [row.get(f"validation_mae_{i + 1}", np.nan) for row in rows]
            axes.plot(epochs, values, color=COLOURS[i], lw=1.2, alpha=0.8, marker=".", label=score.name)
        axes.plot(
            epochs, [row["validation_mae"] for row in rows], color=_INK, lw=2, marker="o", ms=4, label="mean"
        )
        axes.plot(
            epochs, [row["train_mae"] for row in rows], color=_INK, lw=1.2, ls=":", label="mean, training"
        )
        axes.axhline(result.baseline, color=_GREY, lw=1, ls="--")
        axes.annotate(
            "predicting the mean",
            (epochs[0], result.baseline),
            (0, 4),
            textcoords="offset points",
            color=_GREY,
        )
        axes.set(xlabel="epoch", ylabel="mean absolute error", ylim=(0, None))
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        return _png(drawing)


def _ends(parameters: Parameters, i: int) -> tuple[float, float]:
    return (parameters.low[i], parameters.high[i]) if parameters.physical else (-1.0, 1.0)


def _in_units(found: Predictions, parameters: Parameters, i: int) -> tuple[Any, Any]:
    if not parameters.physical:
        return found.truth[:, i], found.predicted[:, i]
    return physical(found.truth, parameters)[:, i], physical(found.predicted, parameters)[:, i]


def _profile(
    x: Any, y: Any, low: float, high: float, bins: int = 10
) -> tuple[list[float], list[float], list[float]]:
    edges = np.linspace(low, high, bins + 1)
    middles, means, spreads = [], [], []
    for left, right in itertools.pairwise(edges):
        inside = y[(x >= left) & (x < right)]
        if len(inside) > 1:
            middles.append(float(left + right) / 2)
            means.append(float(inside.mean()))
            spreads.append(float(inside.std()))
    return middles, means, spreads
