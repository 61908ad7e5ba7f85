"""B-splines over the edges of a graph: their coefficients, and features weighted with them.

The formulas are those of spline-based convolutions (Fey et al., SplineCNN, 2018), for degrees 1 to 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.libs import calls, outputs
from tremula.frontends.poplar.libs.calls import computing, work_type
from tremula.frontends.poplar.libs.errors import PoplibsError
from tremula.frontends.poplar.lines import user_line
from tremula.frontends.poplar.program.library import Arrays, Kernel
from tremula.frontends.poplar.program.programs import Sequence_
from tremula.frontends.poplar.types import UNSIGNED_CHAR
from tremula.program import work

Array = NDArray[Any]


def _coefficients(x: Array, degree: int) -> Array:
    """The basis functions of one dimension at `x`, the fraction of a knot's distance; the last axis counts them."""
    if degree == 1:
        parts = [1 - x, x]
    elif degree == 2:
        parts = [0.5 * x * x - x + 0.5, -x * x + x + 0.5, 0.5 * x * x]
    else:
        parts = [
            (1 - x) ** 3 / 6,
            (3 * x**3 - 6 * x * x + 4) / 6,
            (-3 * x**3 + 3 * x * x + 3 * x + 1) / 6,
            x**3 / 6,
        ]
    return np.stack(parts, axis=-1)


@computing("popops.spline_basis")
def spline_basis_kernel(attributes: Mapping[str, Any]) -> Kernel:
    """Inputs: coordinates (edges, dimensions), kernel sizes, whether each is open. Outputs: coefficients, indices."""
    degree = attributes["degree"]

    def compute(inputs: Arrays, outputs: Arrays) -> None:
        coordinates = inputs[0].astype(np.float64)
        sizes, is_open = inputs[1].astype(np.int64), inputs[2].astype(np.int64)
        edges, dims = coordinates.shape
        basis = np.ones((edges, 1))
        index = np.zeros((edges, 1), dtype=np.int64)
        stride = 1
        for dim in range(dims):
            knots = coordinates[:, dim] * (sizes[dim] - degree * is_open[dim])
            below = np.floor(knots)
            values = _coefficients(knots - below, degree)
            places = (below.astype(np.int64)[:, np.newaxis] + np.arange(degree + 1)) % sizes[dim]
            # the first dimension changes fastest
            basis = (values[:, :, np.newaxis] * basis[:, np.newaxis, :]).reshape(edges, -1)
            index = (places[:, :, np.newaxis] * stride + index[:, np.newaxis, :]).reshape(edges, -1)
            stride *= int(sizes[dim])
        outputs[0][...] = basis
        outputs[1][...] = index

    return compute


def spline_basis(
    graph: Graph,
    coordinates: View,
    sizes: View,
    is_open: View,
    basis: View,
    index: View,
    degree: int,
    program: Sequence_,
    name: str,
) -> None:
    """Coefficients and weight indices of all splines of each edge."""
    function = "popops::splineBasis"
    dims = coordinates.shape[1] if coordinates.rank == 2 else -1
    shape = (coordinates.shape[0], (degree + 1) ** max(dims, 0)) if coordinates.rank == 2 else ()
    fits = (
        degree in (1, 2, 3)
        and coordinates.type.is_floating
        and tuple(sizes.shape) == tuple(is_open.shape) == (dims,)
        and sizes.type.is_integral
        and is_open.type is UNSIGNED_CHAR
        and tuple(basis.shape) == tuple(index.shape) == shape
    )
    if not fits:
        raise PoplibsError(
            f"{function}: coordinates of shape {list(coordinates.shape)}, kernel sizes of shape {list(sizes.shape)}, "
            f"coefficients of shape {list(basis.shape)} and degree {degree} do not fit; degrees are 1, 2 and 3, kernel "
            f"sizes integers, and whether each is open an unsigned char ({user_line()})"
        )
    works = [work.Elementwise("mul+floor+sub+square+mul+add+mul", basis.elements, work_type(basis.type), 2)]
    calls.add_call(
        program, "popops.spline_basis", [coordinates, sizes, is_open], [basis, index], {"degree": degree}, works,
        name or function,
    )  # fmt: skip


@computing("popops.spline_weighting")
def spline_weighting_kernel(attributes: Mapping[str, Any]) -> Kernel:
    """Inputs: features (edges, in), weights (kernels, in, out), coefficients and indices (edges, splines)."""

    def compute(inputs: Arrays, outputs: Arrays) -> None:
        features, weights, basis, index = inputs
        total = np.zeros(outputs[0].shape, dtype=np.float32)
        for spline in range(basis.shape[1]):
            scaled = features.astype(np.float32) * basis[:, spline, np.newaxis]
            chosen = weights[index[:, spline].astype(np.int64)].astype(np.float32)
            total += np.einsum("ei,eio->eo", scaled, chosen)
        outputs[0][...] = total

    return compute


def spline_weighting(
    graph: Graph, features: View, weights: View, basis: View, index: View, program: Sequence_, name: str
) -> View:
    """Features of each edge, weighted by the kernels that its splines name."""
    function = "popops::splineWeighting"
    fits = (
        features.rank == basis.rank == index.rank == 2
        and weights.rank == 3
        and features.shape[0] == basis.shape[0]
        and tuple(basis.shape) == tuple(index.shape)
        and weights.shape[1] == features.shape[1]
        and features.type is weights.type is basis.type
        and features.type.is_floating
        and index.type.is_integral
    )
    if not fits:
        raise PoplibsError(
            f"{function}: features of shape {list(features.shape)}, weights of shape {list(weights.shape)}, "
            f"coefficients of shape {list(basis.shape)} and indices of shape {list(index.shape)} do not fit "
            f"({user_line()})"
        )
    edges, count = features.shape[0], weights.shape[2]
    out = outputs.linear(graph, features.type, (edges, count), name)
    width = weights.shape[1] * count
    kind = work_type(features.type)
    works: list[work.Work] = [
        work.Gather(max(1, weights.shape[0]), max(1, width), index.elements, kind),
        work.MatMul(1, max(1, weights.shape[1]), max(1, count), max(1, index.elements), kind),
    ]
    calls.add_call(
        program,
        "popops.spline_weighting",
        [features, weights, basis, index],
        [out],
        {},
        works,
        name or function,
    )
    return out
