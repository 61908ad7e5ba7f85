"""Non-linearities as vertices in a compute set of the user's: one on each tile that holds elements."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.graph.vertices import ComputeSet
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.libs.calls import work_type
from tremula.frontends.poplar.libs.checks import Array, joined, need_floats, need_shape, refuse, single
from tremula.frontends.poplar.libs.outputs import like
from tremula.frontends.poplar.libs.popnn.nonlinearity import (
    DERIVATIVE,
    FORWARD,
    SOFTMAX_KINDS,
    NonLinearityType,
    operation,
)
from tremula.frontends.poplar.libs.vertices import ElementCodelet, add_on_tiles
from tremula.frontends.poplar.types import Type
from tremula.plan.elementwise_vertices import loop, resolve


def apply_on_tiles(graph: Graph, kind: NonLinearityType, values: View, compute_set: ComputeSet) -> None:
    """Replace the elements of a tensor by their non-linearity when the compute set runs."""
    where = "nonLinearityInPlace"
    _check(where, kind, values)
    codelet = ElementCodelet(
        f"popnn::NonLinearity<{values.type},{kind.name}>",
        values.type,
        [values.type],
        partial(_forward, kind.name),
        _rate(operation(kind), values.type),
    )
    add_on_tiles(graph, compute_set, codelet, values, [values])


def gradient_on_tiles(
    graph: Graph, kind: NonLinearityType, values: View, outer: View, compute_set: ComputeSet, debug: str
) -> View:
    """A new tensor that gets the gradient of the input when the compute set runs."""
    where = "nonLinearityInputGradient"
    _check(where, kind, values)
    need_shape(where, "gradient", outer, values.shape)
    made = like(graph, values, values.type, joined(debug, where))
    codelet = ElementCodelet(
        f"popnn::NonLinearityGrad<{values.type},{kind.name}>",
        values.type,
        [values.type, outer.type],
        partial(_backward, kind.name),
        _rate(operation(kind, gradient=True), values.type),
    )
    add_on_tiles(graph, compute_set, codelet, made, [values, outer])
    return made


def _check(where: str, kind: NonLinearityType, values: View) -> None:
    need_floats(where, values)
    if kind in SOFTMAX_KINDS:
        raise refuse(
            where, "a softmax is not a function of single elements: give a Sequence instead of a compute set"
        )


def _rate(names: str, type: Type) -> float:
    """Cycles of a tile for each element, by the loops of the vertices that do the operation."""
    turns = [loop(name, work_type(type)) for name in resolve(names)[0]]
    return sum(each.cycles / each.elements for each in turns)


def _forward(kind: str, dtype: np.dtype[np.generic], values: Array) -> Any:
    return FORWARD[kind](single(values)).astype(dtype)


def _backward(kind: str, dtype: np.dtype[np.generic], values: Array, outer: Array) -> Any:
    return (single(outer) * DERIVATIVE[kind](single(values))).astype(dtype)
