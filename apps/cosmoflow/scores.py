"""How good predictions are, parameter by parameter, with uncertainties from resampling the samples (bootstrap)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosmoflow.data.layout import Parameters
from cosmoflow.evaluation import Predictions


@dataclass(frozen=True)
class Figure:
    """A figure of merit and its standard error."""

    value: float
    error: float

    def __str__(self) -> str:
        return f"{self.value:.4f} ± {self.error:.4f}"


@dataclass(frozen=True)
class ParameterScore:
    """How well one parameter is predicted.

    Attributes:
        name: the parameter.
        mae: mean absolute error, in units of half its range (targets go from -1 to 1).
        mse: mean squared error.
        r2: share of the variance that is explained.
        bias: mean of predicted minus true.
        baseline: mean absolute error of always predicting the mean.
        physical_mae: mean absolute error in the parameter's own units, if they are known.
    """

    name: str
    mae: Figure
    mse: Figure
    r2: Figure
    bias: Figure
    baseline: float
    physical_mae: Figure | None


@dataclass(frozen=True)
class Score:
    """How well all parameters are predicted."""

    samples: int
    parameters: tuple[ParameterScore, ...]
    mae: Figure
    baseline: float

    def as_dict(self) -> dict[str, Any]:
        """For a JSON file."""

        def plain(figure: Figure | None) -> dict[str, float] | None:
            return None if figure is None else {"value": figure.value, "standard_error": figure.error}

        return {
            "samples": self.samples,
            "mae": plain(self.mae),
            "mae_of_predicting_the_mean": self.baseline,
            "parameters": {
                score.name: {
                    **{
                        name: plain(getattr(score, name))
                        for name in ("mae", "mse", "r2", "bias", "physical_mae")
                    },
                    "mae_of_predicting_the_mean": score.baseline,
                }
                for score in self.parameters
            },
        }

    def lines(self) -> list[str]:
        """A table as text."""
        lines = [f"{'parameter':<14}{'MAE':>18}{'MSE':>18}{'R2':>19}{'MAE of the mean':>17}"]
        lines += [
            f"{s.name:<14}{s.mae!s:>18}{s.mse!s:>18}{s.r2!s:>19}{s.baseline:>17.4f}" for s in self.parameters
        ]
        lines.append(f"{'all':<14}{self.mae!s:>18}{'':>37}{self.baseline:>17.4f}")
        return lines


def score(found: Predictions, parameters: Parameters, *, resamplings: int = 1000, seed: int = 0) -> Score:
    """Compare predictions with the truth.

    Args:
        found: the predictions.
        parameters: names and units.
        resamplings: of the bootstrap.
        seed: of the bootstrap.
    """
    truth, error = found.truth, found.predicted - found.truth
    samples = len(truth)
    # how often each sample is drawn: all resampled sums are then products of matrices
    draws = (
        np.random.default_rng(seed).multinomial(samples, np.full(samples, 1 / samples), resamplings) / samples
    )
    spread = truth - truth.mean(0)

    def figure(mean: NDArray[np.float64], resampled: NDArray[np.float64]) -> list[Figure]:
        return [Figure(float(m), float(s)) for m, s in zip(mean, resampled.std(0), strict=True)]

    absolute, square = np.abs(error), error**2
    variance = (draws @ spread**2) - (draws @ spread) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        r2 = figure(1 - square.mean(0) / (spread**2).mean(0), 1 - (draws @ square) / variance)
    mae, mse = figure(absolute.mean(0), draws @ absolute), figure(square.mean(0), draws @ square)
    bias = figure(error.mean(0), draws @ error)
    baseline = np.abs(spread).mean(0)
    half_ranges = (
        (np.array(parameters.high) - np.array(parameters.low)) / 2
        if parameters.physical
        else [None] * len(mae)
    )
    scores = tuple(
        ParameterScore(
            name,
            mae[i],
            mse[i],
            r2[i],
            bias[i],
            float(baseline[i]),
            None if half is None else Figure(mae[i].value * abs(half), mae[i].error * abs(half)),
        )
        for i, (name, half) in enumerate(zip(parameters.names, half_ranges, strict=True))
    )
    overall = Figure(float(absolute.mean()), float((draws @ absolute.mean(1)).std()))
    return Score(samples, scores, overall, float(baseline.mean()))
