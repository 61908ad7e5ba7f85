"""Plans with random cycles, which ops share."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tremula.profile import model

from .scale import SUPERSTEPS, TILES, Ints, Scale


@dataclass(frozen=True)
class Plans:
    """Cycles of each superstep of each plan, and the plan of each op."""

    compute: NDArray[np.float64]
    exchange: NDArray[np.float64]
    sync: NDArray[np.float64]
    balance: NDArray[np.float64]
    tiles: Ints
    of_op: Ints


def random_plans(scale: Scale, chance: np.random.Generator) -> Plans:
    """Plans for the ops of a program."""
    shape = (scale.plans, SUPERSTEPS)
    return Plans(
        compute=np.round(chance.gamma(2.0, 3_000.0, shape)),
        exchange=np.round(chance.gamma(2.0, 600.0, shape)),
        sync=np.full(shape, 150.0),
        balance=np.round(chance.uniform(0.4, 1.0, shape), 3),
        tiles=chance.integers(200, TILES, shape),
        of_op=chance.integers(0, scale.plans, scale.ops),
    )


def plan_rows(plans: Plans) -> Iterator[model.Row]:
    """The plans with their supersteps, and types of vertices."""
    why = model.Json(
        json.dumps(
            {
                "plan": "AMP (16 in x 16 out, 16 units): 23 field x 8 in x 8 out on 1472 tiles",
                "formula": "made up for a measurement", "source": "none", "figures": {"tiles": 1472.0, "turns": 4.0},
                "alternatives": [{"plan": f"another, number {n}", "cycles": 1e5, "reason": "slower"} for n in range(6)],
            }
        )
    )  # fmt: skip
    total = (plans.compute + plans.exchange + plans.sync).sum(axis=1)
    for number in range(len(total)):
        yield model.Plan(number, float(total[number]), 20_000 + number, 1_200, 400, 900, 300, why)
        for at in range(SUPERSTEPS):
            tiles = int(plans.tiles[number, at])
            compute = float(plans.compute[number, at])
            yield model.Superstep(
                number, ("rearrange", "multiply", "reduce")[at], 1, compute,
                compute * float(plans.balance[number, at]), float(plans.exchange[number, at]),
                float(plans.sync[number, at]), tiles, TILES - tiles, 1e6 * compute,
            )  # fmt: skip
    for number in range(200):
        yield model.VertexType(
            number, f"poplin::ConvPartial1x1Out<half,half,true,false,16,{number}>", 1 << 20, 1 << 18
        )
