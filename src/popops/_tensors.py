"""Padding, encodings, sorting, tests, statistics and images."""

from __future__ import annotations

from typing import NamedTuple

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


def pad(graph, *arguments):
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
        lower, upper = taken.integers("lower"), taken.integers("upper")
    if itself or taken.next_is(padding.Type):
        kind = taken.take("type", padding.Type)
        taken.end()
        return _padding.with_itself(view, lower, upper, kind.name)
    value = taken.maybe(View)
    if value is None:
        value = taken.any("value") if taken.next_is_number() else 0
    method = taken.maybe(padding.MappingMethod) or padding.MappingMethod.ZERO
    taken.end()
    return _padding.with_value(graph, view, lower, upper, value, method.name)


def encodeOneHot(graph, indices, encoded, prog, *arguments, debug="", options=None) -> None:
    """`encodeOneHot(graph, indices, encoded, prog[, on, off])`: one element of each row is on."""
    taken = Arguments("popops::encodeOneHot", [prog, *arguments], debug, options)
    program = taken.program()
    values = (taken.view("on"), taken.view("off")) if taken.next_is(View) else None
    encoding.one_hot(graph, indices, encoded, values, program, taken.end()[0])


def iota(graph, t, startInteger, prog, debug="", options=None) -> None:
    """Fill a vector with consecutive integers."""
    taken = Arguments("popops::iota", [startInteger, prog], debug, options)
    start, program = taken.integer("startInteger"), taken.program()
    encoding.iota(graph, t, start, program, taken.end()[0])


def selectScalarFromRows(graph, params, indices, prog, debug="", options=None):
    """One element of each row: NaN where the index is outside, zero where it is MASKED_LABEL_CODE."""
    taken = Arguments("popops::selectScalarFromRows", [prog], debug, options)
    program = taken.program()
    return encoding.select_scalar_from_rows(graph, params, indices, program, taken.end()[0])


def updateScalarInRows(graph, params, indices, program, debug="", options=None) -> None:
    """Subtract one from one element of each row."""
    taken = Arguments("popops::updateScalarInRows", [program], debug, options)
    where = taken.program()
    encoding.update_scalar_in_rows(graph, params, indices, where, taken.end()[0])


def sort(graph, t, dim, prog, debug="", options=None):
    """The elements in ascending order along a dimension, in a new tensor."""
    taken = Arguments("popops::sort", [dim, prog], debug, options)
    axis, program = taken.integer("dim"), taken.program()
    return sorting.sort_views(graph, t, None, axis, program, taken.end()[0], in_place=False)


def sortInPlace(graph, t, dim, prog, debug="", options=None) -> None:
    """Sort a tensor along a dimension."""
    taken = Arguments("popops::sortInPlace", [dim, prog], debug, options)
    axis, program = taken.integer("dim"), taken.program()
    sorting.sort_views(graph, t, None, axis, program, taken.end()[0], in_place=True)


def sortKeyValue(graph, k, v, dim, prog, debug="", options=None):
    """The values in the ascending order of their keys, in a new tensor."""
    taken = Arguments("popops::sortKeyValue", [dim, prog], debug, options)
    axis, program = taken.integer("dim"), taken.program()
    return sorting.sort_views(graph, k, v, axis, program, taken.end()[0], in_place=False)


def sortKeyValueInPlace(graph, k, v, dim, prog, debug="", options=None) -> None:
    """Sort keys and values by the keys."""
    taken = Arguments("popops::sortKeyValueInPlace", [dim, prog], debug, options)
    axis, program = taken.integer("dim"), taken.program()
    sorting.sort_views(graph, k, v, axis, program, taken.end()[0], in_place=True)


class TopKParams:
    """How many elements of each row, the largest or the smallest, and in which order. Equal ones keep theirs."""

    def __init__(self, k: int, largest: bool, sortOrder: SortOrder, stableSort: bool = False) -> None:
        self.k, self.largest, self.sortOrder, self.stableSort = (
            int(k),
            bool(largest),
            sortOrder,
            bool(stableSort),
        )

    def __repr__(self) -> str:
        return f"TopKParams(k={self.k}, largest={self.largest}, {self.sortOrder.name})"


def _top_k(graph, prog, keys, values, params, places, debug, options):
    taken = Arguments("popops::topK", [prog], debug, options)
    program = taken.program()
    p = params if isinstance(params, TopKParams) else TopKParams(*params)
    name = taken.end()[0]
    return sorting.top_k(graph, keys, values, p.k, p.largest, p.sortOrder, program, name, places=places)


def topK(graph, prog, t, params, debug="", options=None):
    """The k largest or smallest elements of each row."""
    return _top_k(graph, prog, t, None, params, False, debug, options)[0]


def topKKeyValue(graph, prog, keys, values, params, debug="", options=None):
    """The same with the values that belong to them: a pair of tensors."""
    return _top_k(graph, prog, keys, values, params, False, debug, options)


def topKWithPermutation(graph, prog, t, params, debug="", options=None):
    """The same with their places in the row: a pair of tensors."""
    return _top_k(graph, prog, t, None, params, True, debug, options)


def createTopKInput(graph, type, shape, params, debug="", options=None):
    """A tensor for `topK`."""
    return outputs.linear(graph, type, shape, str(debug))


def allTrue(graph, A, prog, debug="", options=None):
    """Whether all elements are true."""
    taken = Arguments("popops::allTrue", [prog], debug, options)
    program = taken.program()
    return checks.test(graph, A, "all", program, taken.end()[0] or "popops::allTrue")


def hasNaN(graph, src, prog, debug="", options=None):
    """Whether any element is NaN."""
    taken = Arguments("popops::hasNaN", [prog], debug, options)
    program = taken.program()
    return checks.test(graph, src, "nan", program, taken.end()[0] or "popops::hasNaN")


def hasNaNOrInf(graph, src, prog, debug="", options=None):
    """Whether any element is NaN or infinite."""
    taken = Arguments("popops::hasNaNOrInf", [prog], debug, options)
    program = taken.program()
    return checks.test(graph, src, "infinite", program, taken.end()[0] or "popops::hasNaNOrInf")


def sequenceSlice(
    graph, tIn, tOut, tN, tInOffset, tOutOffset, zeroUnused, prog, debug="", options=None
) -> None:
    """Copy stretches of rows of `tIn` to rows of `tOut`."""
    taken = Arguments("popops::sequenceSlice", [prog], debug, options)
    program = taken.program()
    sequences.sequence_slice(
        graph, tIn, tOut, tN, tInOffset, tOutOffset, bool(zeroUnused), program, taken.end()[0]
    )


def createNormaliseImageInput(graph, type, shape, debug="", options=None):
    """A tensor for images, with whole pixels on each tile."""
    return images.image_input(graph, type, tuple(shape), str(debug))


def normaliseImage(graph, seq, tIn, inScale, offsets, scales, debug="", options=None):
    """`(pixel inScale - offset) scale` for each of three channels, and a fourth channel of zeros."""
    taken = Arguments("popops::normaliseImage", [seq], debug, options)
    program = taken.program()
    return images.normalise_image(graph, tIn, float(inScale), offsets, scales, program, taken.end()[0])


def histogram(graph, input, *arguments, debug="", options=None):
    """`histogram(graph, input, levels, absoluteOfInput, prog)`: a new tensor of counts;
    `histogram(graph, input, output, updateOutput, levels, absoluteOfInput, prog)`: into `output`."""
    taken = Arguments("popops::histogram", arguments, debug, options)
    first, flag = taken.view("levels or output"), taken.any("absoluteOfInput or updateOutput")
    if not taken.next_is(View):
        program = taken.program()
        return statistics.histogram(graph, input, first, bool(flag), program, *taken.end())
    levels, absolute = taken.view("levels"), taken.any("absoluteOfInput")
    program = taken.program()
    statistics.histogram(
        graph, input, levels, bool(absolute), program, *taken.end(), out=first, update=bool(flag)
    )
    return None


def splineBasis(
    graph, pseudo, kernelSize, isOpenSpline, basis, weightIndex, degree, prog, debug="", options=None
) -> None:
    """Coefficients and weight indices of B-splines for each edge of a graph."""
    taken = Arguments("popops::splineBasis", [degree, prog], debug, options)
    number, program = taken.integer("degree"), taken.program()
    splines.spline_basis(
        graph, pseudo, kernelSize, isOpenSpline, basis, weightIndex, number, program, taken.end()[0]
    )


def splineWeighting(graph, input, weight, basis, weightIndex, prog, debug="", options=None):
    """Features of each edge, weighted by the kernels of its splines."""
    taken = Arguments("popops::splineWeighting", [prog], debug, options)
    program = taken.program()
    return splines.spline_weighting(graph, input, weight, basis, weightIndex, program, taken.end()[0])


class IndicesAndTensor(NamedTuple):
    """Row numbers for a remote buffer, and the tensor for the rows."""

    indices: View
    tensor: View


def createHostTransferableTensor(graph, type, shape, isRead, *arguments, debug="", options=None):
    """`createHostTransferableTensor(graph, type, shape, isRead[, offset])`: a tensor for transfers with the host."""
    taken = Arguments("popops::createHostTransferableTensor", arguments, debug, options)
    if taken.next_is_number():
        taken.integer("offset")
    return outputs.linear(graph, type, shape, taken.end()[0])


def createHostSliceableTensor(graph, type, shape, isRead, *arguments, debug="", options=None):
    """`createHostSliceableTensor(graph, type, shape, isRead[, offset])`: rows of a remote buffer, and their numbers."""
    made = createHostTransferableTensor(graph, type, shape, isRead, *arguments, debug=debug, options=options)
    return IndicesAndTensor(outputs.linear(graph, UNSIGNED_INT, (shape[0],), "indices"), made)


def createOutputForElementWiseOp(graph, inputs, outputType, debug="", options=None):
    """A tensor for the result of an element-wise function."""
    from tremula.frontends.poplar.libs.popops.mapping import broadcast_shape

    return outputs.of_element_wise(graph, inputs, broadcast_shape(inputs), outputType, str(debug))


__all__ = [
    "MASKED_LABEL_CODE", "IndicesAndTensor", "SortOrder", "TopKParams", "allTrue", "createHostSliceableTensor",
    "createHostTransferableTensor", "createNormaliseImageInput", "createOutputForElementWiseOp", "createTopKInput",
    "encodeOneHot", "hasNaN", "hasNaNOrInf", "histogram", "iota", "normaliseImage", "pad", "selectScalarFromRows",
    "sequenceSlice", "sort", "sortInPlace", "sortKeyValue", "sortKeyValueInPlace", "splineBasis", "splineWeighting",
    "topK", "topKKeyValue", "topKWithPermutation", "updateScalarInRows",
]  # fmt: skip
