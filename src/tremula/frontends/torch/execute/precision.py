"""The device's half precision on the host: every op on halves computes in float32 and rounds its results once, to
nearest or at random; with half partials, products round their sums in between as well (`half_products`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import fx

from tremula.frontends.torch.execute.folding import drop_detached, drop_unused, unwritten
from tremula.frontends.torch.execute.half_ops import in_half
from tremula.frontends.torch.execute.widening import Widening
from tremula.frontends.torch.graphs.program import TorchProgram


@dataclass(frozen=True)
class Precision:
    """How half precision is computed."""

    stochastic_rounding: bool = False
    half_partials: bool = False


#: round to nearest, sums in float32
DEFAULT_PRECISION = Precision()


def follow(program: TorchProgram, precision: Precision) -> TorchProgram:
    """A program whose graphs compute as `precision` says; the same one if it has no halves."""
    if not any(in_half(node) for module in program.graphs() for node in module.graph.nodes):
        return program
    accumulate, update = program.accumulate, program.update
    return replace(
        program,
        step=followed(program.step, precision),
        accumulate=None if accumulate is None else followed(accumulate, precision),
        update=None if update is None else followed(update, precision),
    )


def followed(module: fx.GraphModule, precision: Precision) -> fx.GraphModule:
    """A copy of a graph that computes as `precision` says."""
    graph = fx.Graph()
    graph.output(graph.graph_copy(module.graph, {}))
    drop_detached(graph)
    with torch.no_grad():
        Widening(
            graph, stochastic=precision.stochastic_rounding, half_partials=precision.half_partials
        ).rewrite()
    drop_unused(graph)
    return unwritten(module, graph)
