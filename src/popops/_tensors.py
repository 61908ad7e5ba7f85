"""Padding, encodings, sorting, tests, statistics and images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from poplar import Graph, Tensor, Type
from poplar._tensor import as_pair, as_tensor
from poplar.program import Sequence as Program
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.libs import outputs
from tremula.frontends.poplar.libs.arguments import Arguments
from tremula.frontends.poplar.libs.errors import PoplibsError
from tremula.frontends.poplar.libs.popops import (
    checks,
    encoding,
    images,
    sequences,
    sorting,
    splines,
    statistics,
)
from tremula.frontends.poplar.libs.popops import padding as _padding
from tremula.frontends.poplar.libs.popops.encoding import MASKED_LABEL_CODE
from tremula.frontends.poplar.libs.popops.sorting import SortOrder
from tremula.frontends.poplar.types import UNSIGNED_INT

from . import padding


def pad(graph: Any, *arguments: Any) -> Tensor:
    """`pad(graph, t, lower, upper[, value][, mappingMethod])`, with numbers and `dim` in place of lists too, or
    `pad(t, lower, upper[, dim], padding.Type)`. Negative paddings cut off. Nothing runs: the result is a view."""
    itself = isinstance(graph, View)
    taken = Arguments("popops::pad", (graph, *arguments) if itself else arguments)
    view = taken.view("t")
    if taken.next_is_number():
        before, after, dim = taken.integer("lower"), taken.integer("upper"), taken.integer("dim")
        if not 0 <= dim < view.rank:
            raise PoplibsError(f"popops::pad: a tensor of shape {list(view.shape)} has no dimension {dim}")
        lower, upper = (
            [each if place == dim else 0 for place in range(view.rank)] for each in (before, after)
        )
    else:
        lower, upper = list(taken.integers("lower")), list(taken.integers("upper"))
    if itself or taken.next_is(padding.Type):
        kind = taken.take("type", padding.Type)
        taken.end()
        return as_tensor(_padding.with_itself(view, lower, upper, kind.name))
    value: Any = taken.maybe(View)
    if value is None:
        value = taken.any("value") if taken.next_is_number() else 0
    method = taken.maybe(padding.MappingMethod) or padding.MappingMethod.ZERO
    taken.end()
    return as_tensor(_padding.with_value(graph, view, lower, upper, value, method.name))


def encodeOneHot(
    graph: Graph,
    indices: Tensor,
    encoded: Tensor,
    prog: Program,
    *arguments: Any,
    debug: Any = "",
    options: Any = None,
) -> None:
    """`encodeOneHot(graph, indices, encoded, prog[, on, off])`: one element of each row is on."""
    taken = Arguments("popops::encodeOneHot", [prog, *arguments], debug, options)
    program = taken.program()
    values = (taken.view("on"), taken.view("off")) if taken.next_is(View) else None
    encoding.one_hot(graph, indices, encoded, values, program, taken.end()[0])


def iota(
    graph: Graph, t: Tensor, startInteger: int, prog: Program, debug: Any = "", options: Any = None
) -> None:
    """Fill a vector with consecutive integers."""
    taken = Arguments("popops::iota", [startInteger, prog], debug, options)
    start, program = taken.integer("startInteger"), taken.program()
    encoding.iota(graph, t, start, program, taken.end()[0])


def selectScalarFromRows(
    graph: Graph, params: Tensor, indices: Tensor, prog: Program, debug: Any = "", options: Any = None
) -> Tensor:
    """Select one element of each row: NaN if the index is out of range, zero if it is MASKED_LABEL_CODE."""
    taken = Arguments("popops::selectScalarFromRows", [prog], debug, options)
    program = taken.program()
    return as_tensor(encoding.select_scalar_from_rows(graph, params, indices, program, taken.end()[0]))


def updateScalarInRows(
    graph: Graph, params: Tensor, indices: Tensor, program: Program, debug: Any = "", options: Any = None
) -> None:
    """Subtract one from one element of each row."""
    taken = Arguments("popops::updateScalarInRows", [program], debug, options)
    where = taken.program()
    encoding.update_scalar_in_rows(graph, params, indices, where, taken.end()[0])


def sort(graph: Graph, t: Tensor, dim: int, prog: Program, debug: Any = "", options: Any = None) -> Tensor:
    """Sort the elements along a dimension into a new tensor."""
    taken = Arguments("popops::sort", [dim, prog], debug, options)
    axis, program = taken.integer("dim"), taken.program()
    made: Any = sorting.sort_views(graph, t, None, axis, program, taken.end()[0], in_place=False)
    return as_tensor(made)


def sortInPlace(
    graph: Graph, t: Tensor, dim: int, prog: Program, debug: Any = "", options: Any = None
) -> None:
    """Sort a tensor along a dimension."""
    taken = Arguments("popops::sortInPlace", [dim, prog], debug, options)
    axis, program = taken.integer("dim"), taken.program()
    sorting.sort_views(graph, t, None, axis, program, taken.end()[0], in_place=True)


def sortKeyValue(
    graph: Graph, k: Tensor, v: Tensor, dim: int, prog: Program, debug: Any = "", options: Any = None
) -> Tensor:
    """Sort the values by their keys into a new tensor."""
    taken = Arguments("popops::sortKeyValue", [dim, prog], debug, options)
    axis, program = taken.integer("dim"), taken.program()
    made: Any = sorting.sort_views(graph, k, v, axis, program, taken.end()[0], in_place=False)
    return as_tensor(made)


def sortKeyValueInPlace(
    graph: Graph, k: Tensor, v: Tensor, dim: int, prog: Program, debug: Any = "", options: Any = None
) -> None:
    """Sort keys and values by the keys."""
    taken = Arguments("popops::sortKeyValueInPlace", [dim, prog], debug, options)
    axis, program = taken.integer("dim"), taken.program()
    sorting.sort_views(graph, k, v, axis, program, taken.end()[0], in_place=True)


class TopKParams:
    """The number of elements of each row, largest or smallest, and their order. Equal elements keep their order."""

    def __init__(self, k: int, largest: bool, sortOrder: SortOrder, stableSort: bool = False) -> None:
        self.k, self.largest, self.sortOrder, self.stableSort = (
            int(k),
            bool(largest),
            sortOrder,
            bool(stableSort),
        )

    def __repr__(self) -> str:
        return f"TopKParams(k={self.k}, largest={self.largest}, {self.sortOrder.name})"


def _top_k(
    graph: Graph,
    prog: Program,
    keys: Tensor,
    values: Tensor | None,
    params: TopKParams,
    places: bool,
    debug: Any,
    options: Any,
) -> tuple[Tensor, Tensor]:
    taken = Arguments("popops::topK", [prog], debug, options)
    program = taken.program()
    p = params if isinstance(params, TopKParams) else TopKParams(*params)
    name = taken.end()[0]
    made: Any = sorting.top_k(graph, keys, values, p.k, p.largest, p.sortOrder, program, name, places=places)
    return as_pair(made)


def topK(
    graph: Graph, prog: Program, t: Tensor, params: TopKParams, debug: Any = "", options: Any = None
) -> Tensor:
    """The k largest or smallest elements of each row."""
    return _top_k(graph, prog, t, None, params, False, debug, options)[0]


def topKKeyValue(
    graph: Graph,
    prog: Program,
    keys: Tensor,
    values: Tensor,
    params: TopKParams,
    debug: Any = "",
    options: Any = None,
) -> tuple[Tensor, Tensor]:
    """The k largest or smallest keys of each row, and their values: a pair of tensors."""
    return _top_k(graph, prog, keys, values, params, False, debug, options)


def topKWithPermutation(
    graph: Graph, prog: Program, t: Tensor, params: TopKParams, debug: Any = "", options: Any = None
) -> tuple[Tensor, Tensor]:
    """The k largest or smallest elements of each row, and their positions: a pair of tensors."""
    return _top_k(graph, prog, t, None, params, True, debug, options)


def createTopKInput(
    graph: Graph, type: Type, shape: Sequence[int], params: TopKParams, debug: Any = "", options: Any = None
) -> Tensor:
    """A tensor for `topK`."""
    return as_tensor(outputs.linear(graph, type, shape, str(debug)))


def allTrue(graph: Graph, A: Tensor, prog: Program, debug: Any = "", options: Any = None) -> Tensor:
    """Whether all elements are true."""
    taken = Arguments("popops::allTrue", [prog], debug, options)
    program = taken.program()
    return as_tensor(checks.test(graph, A, "all", program, taken.end()[0] or "popops::allTrue"))


def hasNaN(graph: Graph, src: Tensor, prog: Program, debug: Any = "", options: Any = None) -> Tensor:
    """Whether any element is NaN."""
    taken = Arguments("popops::hasNaN", [prog], debug, options)
    program = taken.program()
    return as_tensor(checks.test(graph, src, "nan", program, taken.end()[0] or "popops::hasNaN"))


def hasNaNOrInf(graph: Graph, src: Tensor, prog: Program, debug: Any = "", options: Any = None) -> Tensor:
    """Whether any element is NaN or infinite."""
    taken = Arguments("popops::hasNaNOrInf", [prog], debug, options)
    program = taken.program()
    return as_tensor(checks.test(graph, src, "infinite", program, taken.end()[0] or "popops::hasNaNOrInf"))


def sequenceSlice(
    graph: Graph,
    tIn: Tensor,
    tOut: Tensor,
    tN: Tensor,
    tInOffset: Tensor,
    tOutOffset: Tensor,
    zeroUnused: bool,
    prog: Program,
    debug: Any = "",
    options: Any = None,
) -> None:
    """Copy ranges of rows of `tIn` to rows of `tOut`."""
    taken = Arguments("popops::sequenceSlice", [prog], debug, options)
    program = taken.program()
    sequences.sequence_slice(
        graph, tIn, tOut, tN, tInOffset, tOutOffset, bool(zeroUnused), program, taken.end()[0]
    )


def createNormaliseImageInput(
    graph: Graph, type: Type, shape: Sequence[int], debug: Any = "", options: Any = None
) -> Tensor:
    """A tensor for images, with whole pixels on each tile."""
    return as_tensor(images.image_input(graph, type, tuple(shape), str(debug)))


def normaliseImage(
    graph: Graph,
    seq: Program,
    tIn: Tensor,
    inScale: float,
    offsets: Tensor,
    scales: Tensor,
    debug: Any = "",
    options: Any = None,
) -> Tensor:
    """`(pixel inScale - offset) scale` for each of three channels, and a fourth channel of zeros."""
    taken = Arguments("popops::normaliseImage", [seq], debug, options)
    program = taken.program()
    return as_tensor(
        images.normalise_image(graph, tIn, float(inScale), offsets, scales, program, taken.end()[0])
    )


def histogram(
    graph: Graph, input: Tensor, *arguments: Any, debug: Any = "", options: Any = None
) -> Tensor | None:
    """`histogram(graph, input, levels, absoluteOfInput, prog)`: a new tensor of counts;
    `histogram(graph, input, output, updateOutput, levels, absoluteOfInput, prog)`: into `output`."""
    taken = Arguments("popops::histogram", arguments, debug, options)
    first, flag = taken.view("levels or output"), taken.any("absoluteOfInput or updateOutput")
    if not taken.next_is(View):
        program = taken.program()
        return as_tensor(statistics.histogram(graph, input, first, bool(flag), program, *taken.end()))
    levels, absolute = taken.view("levels"), taken.any("absoluteOfInput")
    program = taken.program()
    statistics.histogram(
        graph, input, levels, bool(absolute), program, *taken.end(), out=first, update=bool(flag)
    )
    return None


def splineBasis(
    graph: Graph,
    pseudo: Tensor,
    kernelSize: Tensor,
    isOpenSpline: Tensor,
    basis: Tensor,
    weightIndex: Tensor,
    degree: int,
    prog: Program,
    debug: Any = "",
    options: Any = None,
) -> None:
    """Coefficients and weight indices of B-splines for each edge of a graph."""
    taken = Arguments("popops::splineBasis", [degree, prog], debug, options)
    number, program = taken.integer("degree"), taken.program()
    splines.spline_basis(
        graph, pseudo, kernelSize, isOpenSpline, basis, weightIndex, number, program, taken.end()[0]
    )


def splineWeighting(
    graph: Graph,
    input: Tensor,
    weight: Tensor,
    basis: Tensor,
    weightIndex: Tensor,
    prog: Program,
    debug: Any = "",
    options: Any = None,
) -> Tensor:
    """Features of each edge, weighted by the kernels of its splines."""
    taken = Arguments("popops::splineWeighting", [prog], debug, options)
    program = taken.program()
    return as_tensor(
        splines.spline_weighting(graph, input, weight, basis, weightIndex, program, taken.end()[0])
    )


class IndicesAndTensor(NamedTuple):
    """Row numbers for a remote buffer, and the tensor for the rows."""

    indices: View
    tensor: View


def createHostTransferableTensor(
    graph: Graph,
    type: Type,
    shape: Sequence[int],
    isRead: bool,
    *arguments: Any,
    debug: Any = "",
    options: Any = None,
) -> Tensor:
    """`createHostTransferableTensor(graph, type, shape, isRead[, offset])`: a tensor for transfers with the host."""
    taken = Arguments("popops::createHostTransferableTensor", arguments, debug, options)
    if taken.next_is_number():
        taken.integer("offset")
    return as_tensor(outputs.linear(graph, type, shape, taken.end()[0]))


def createHostSliceableTensor(
    graph: Graph,
    type: Type,
    shape: Sequence[int],
    isRead: bool,
    *arguments: Any,
    debug: Any = "",
    options: Any = None,
) -> IndicesAndTensor:
    """`createHostSliceableTensor(graph, type, shape, isRead[, offset])`: rows of a remote buffer, and their numbers."""
    made = createHostTransferableTensor(graph, type, shape, isRead, *arguments, debug=debug, options=options)
    return IndicesAndTensor(outputs.linear(graph, UNSIGNED_INT, (shape[0],), "indices"), made)


def createOutputForElementWiseOp(
    graph: Graph, inputs: Sequence[Tensor], outputType: Type, debug: Any = "", options: Any = None
) -> Tensor:
    """A tensor for the result of an element-wise function."""
    from tremula.frontends.poplar.libs.popops.mapping import broadcast_shape

    return as_tensor(outputs.of_element_wise(graph, inputs, broadcast_shape(inputs), outputType, str(debug)))


__all__ = [
    "MASKED_LABEL_CODE", "IndicesAndTensor", "SortOrder", "TopKParams", "allTrue", "createHostSliceableTensor",
    "createHostTransferableTensor", "createNormaliseImageInput", "createOutputForElementWiseOp", "createTopKInput",
    "encodeOneHot", "hasNaN", "hasNaNOrInf", "histogram", "iota", "normaliseImage", "pad", "selectScalarFromRows",
    "sequenceSlice", "sort", "sortInPlace", "sortKeyValue", "sortKeyValueInPlace", "splineBasis", "splineWeighting",
    "topK", "topKKeyValue", "topKWithPermutation", "updateScalarInRows",
]  # fmt: skip
