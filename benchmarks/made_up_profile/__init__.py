"""A made-up profile with the proportions of a large program, for measuring what reads profiles."""

from __future__ import annotations

import pathlib

import numpy as np

from tremula.profile import ProfileWriter
from tremula.profile.contexts import contexts_of

from .memory import add_memory
from .ops import op_rows
from .plans import plan_rows, random_plans
from .programs import add_programs
from .scale import Scale
from .steps import add_steps
from .summary import summary_rows

__all__ = ["Scale", "make"]


def make(path: str | pathlib.Path, scale: Scale | None = None) -> pathlib.Path:
    """Write the profile to `path`."""
    scale = scale or Scale()
    chance = np.random.default_rng(22)
    plans = random_plans(scale, chance)
    with ProfileWriter(path) as writer:
        writer.meta["figures"] = "made up, for measuring viewers"
        writer.meta["parts"] = "graph,execution"
        ops = list(op_rows(scale, plans))
        writer.extend(summary_rows(scale, ops))
        writer.extend(ops)
        writer.extend(plan_rows(plans))
        contexts = contexts_of(ops, "poptorch")
        writer.frame("contexts").add(contexts.columns)
        nodes = add_programs(writer, scale, plans, ops, contexts.of_op)
        add_memory(writer, scale, chance)
        add_steps(writer, scale, plans, nodes)
    return pathlib.Path(path)
