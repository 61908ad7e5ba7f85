"""The curve from fill to the probability of fitting (src/tremula/memory/fit.toml), found from evidence.

A logistic in the logarithm of the fill has two parameters. They are the most probable ones after the evidence, where
beforehand a tile is thought to be full at about 100 % of the modelled bytes: with little evidence, or with evidence
that a line separates, the curve stays soft. Some cases are wrong in what they say of a program, whatever its size; a
lapse on both sides keeps the curve from widening for them.

Runs are published more often than failures. Failures weigh more for it, as if they were a share of `FAILURES`.
"""

from __future__ import annotations

import datetime
import itertools
import math
import pathlib
from collections.abc import Sequence

import numpy as np

from tremula.estimate.estimate import VERSION
from tremula.memory.verdict import Bin, Curve

from .fidelity_cases import ROOT
from .fidelity_fit_evidence import Evidence, families

FIT = ROOT / "src" / "tremula" / "memory" / "fit.toml"
#: limits of the counted bins
EDGES = (0.0, 0.5, 0.75, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, math.inf)
#: what is thought of log(centre) and log(width) without evidence: mean and standard deviation
CENTRE_BEFORE = (0.0, 0.2)
WIDTH_BEFORE = (math.log(0.1), 0.7)
#: share of cases at any fill that do what the curve says of the opposite
LAPSE = 0.04
#: share of failures among programs that somebody asks about, and the most that a failure weighs to make up for it
FAILURES = 0.3
MOST_WEIGHT = 3.0
#: steps of the search to each side, and how much finer each round is
_STEPS = 20
_FINER = 0.15
_ROUNDS = 5

_HEAD = """\
# How often published configurations ran, by the modelled fill of their fullest tile, and a logistic through it:
# probability = lapse + (1 - 2 lapse) / (1 + (fill / centre) ** (1 / width)).
# Written by `python -m benchmarks.fidelity --write-fit`; do not edit by hand.
"""


def fit_curve(rows: Sequence[Evidence]) -> Curve:
    """The most probable curve after `rows`."""
    fills = np.log([max(row.fill, 1e-3) for row in rows]) if rows else np.zeros(0)
    ran = np.array([row.ran for row in rows], dtype=bool)
    weights = np.where(ran, 1.0, weight_of_failures(rows))
    centre, width = CENTRE_BEFORE[0], WIDTH_BEFORE[0]
    span = 3.0
    for _ in range(_ROUNDS):
        centres = centre + CENTRE_BEFORE[1] * span * np.linspace(-1.0, 1.0, 2 * _STEPS + 1)
        widths = width + WIDTH_BEFORE[1] * span * np.linspace(-1.0, 1.0, 2 * _STEPS + 1)
        steps = (fills[None, None, :] - centres[:, None, None]) / np.exp(widths)[None, :, None]
        runs = LAPSE + (1.0 - 2.0 * LAPSE) / (1.0 + np.exp(np.clip(steps, -500.0, 500.0)))
        surprise = -(weights * np.log(np.where(ran, runs, 1.0 - runs))).sum(axis=2)
        surprise += 0.5 * ((centres[:, None] - CENTRE_BEFORE[0]) / CENTRE_BEFORE[1]) ** 2
        surprise += 0.5 * ((widths[None, :] - WIDTH_BEFORE[0]) / WIDTH_BEFORE[1]) ** 2
        best = np.unravel_index(int(np.argmin(surprise)), surprise.shape)
        centre, width = float(centres[best[0]]), float(widths[best[1]])
        span *= _FINER
    return Curve(
        centre=math.exp(centre),
        width=math.exp(width),
        lapse=LAPSE,
        bins=counted(rows),
        rows=len(rows),
        date=datetime.datetime.now(datetime.UTC).date().isoformat(),
        model_version=VERSION,
    )


def weight_of_failures(rows: Sequence[Evidence]) -> float:
    """What a failure counts, where a run counts 1."""
    ran = sum(row.ran for row in rows)
    failed = len(rows) - ran
    if not ran or not failed:
        return 1.0
    return min(MOST_WEIGHT, max(1.0, FAILURES / (1.0 - FAILURES) * ran / failed))


def counted(rows: Sequence[Evidence]) -> tuple[Bin, ...]:
    """How many ran and failed by fill."""
    bins = []
    for low, high in itertools.pairwise(EDGES):
        inside = [row.ran for row in rows if low <= row.fill < high]
        bins.append(Bin(low, high, sum(inside), len(inside) - sum(inside)))
    return tuple(bins)


def curves_without(rows: Sequence[Evidence]) -> dict[str, Curve]:
    """For each family, the curve of all the others."""
    return {family: fit_curve([row for row in rows if row.family != family]) for family in families(rows)}


def as_toml(found: Curve) -> str:
    """The file of a curve."""
    parts = [
        _HEAD,
        f"centre = {found.centre:.4g}\nwidth = {found.width:.4g}\nlapse = {found.lapse:g}\nrows = {found.rows}\n",
        f'date = "{found.date}"\nmodel_version = "{found.model_version}"\n',
    ]
    parts += [
        f"\n[[bin]]\nlow = {each.low:g}\nhigh = {each.high:g}\nran = {each.ran}\nfailed = {each.failed}\n"
        for each in found.bins
    ]
    return "".join(parts)


def write_fit(rows: Sequence[Evidence], path: pathlib.Path = FIT) -> Curve:
    """Find the curve and write the file that comes with the package."""
    found = fit_curve(rows)
    path.write_text(as_toml(found), encoding="utf-8")
    return found
