"""Sums, extrema, scans and sorts along dimensions."""

from __future__ import annotations

import math

from tremula.frontends.tensorflow.rules.call import Call, Operand
from tremula.lowering.reductions import shaped
from tremula.lowering.strides import reshaped
from tremula.program.lowered import Lowered
from tremula.program.work import Elementwise, Reduction, Scan, Softmax, Sort, Work

OPERATIONS = {
    "Sum": "add", "Mean": "add", "Prod": "mul", "Max": "max", "Min": "min", "All": "and", "Any": "or",
    "ArgMax": "argmax", "ArgMin": "argmin", "EuclideanNorm": "square_add",
}  # fmt: skip


def axes_of(call: Call, source: Operand, position: int = 1) -> tuple[int, ...]:
    """The dimensions that the input at `position` names, all if it is not known."""
    rank = len(source.shape)
    axes = call.known_ints(position)
    if axes is None:
        if call.node.outputs:
            axes = _missing(source.shape, call.node.output.shape)
        else:
            axes = tuple(range(rank))
    return tuple(sorted({axis % rank for axis in axes})) if rank else ()


def _missing(shape: tuple[int, ...], result: tuple[int, ...]) -> tuple[int, ...]:
    """Dimensions that a result of the same rank has not; else as many as are missing, from the front."""
    if len(shape) == len(result):
        return tuple(d for d, (n, m) in enumerate(zip(shape, result, strict=True)) if n != m)
    return tuple(range(len(shape) - len(result)))


def reduction(call: Call) -> Lowered:
    """Sum, Mean, Prod, Max, Any, ArgMax ... over some dimensions."""
    source = call.given(0)
    axes = axes_of(call, source)
    operation = OPERATIONS[call.type]
    if math.prod(source.shape[d] for d in axes) == 1 and "arg" not in operation:
        return _unreduced(call, source)
    works: list[Work] = [shaped(source, axes, operation)]
    if call.type == "EuclideanNorm":
        works.append(Elementwise("sqrt", call.output.elements, call.output.dtype))
    return call.lowered(works)


def _unreduced(call: Call, source: Operand) -> Lowered:
    strides = reshaped(source, call.node.output.shape)
    return call.view(strides) if strides is not None else call.view()


def half_of_squares(call: Call) -> Lowered:
    """L2Loss: half of the sum of squares."""
    source = call.given(0)
    return call.lowered((Reduction(1, source.elements, 1, source.dtype, "square_add"),))


def log_sum_exp(call: Call) -> Lowered:
    """What a softmax computes but for the last product, and a logarithm."""
    source = call.given(0)
    columns = math.prod(source.shape[d] for d in axes_of(call, source))
    result = call.output
    return call.lowered((
        Softmax(source.elements // max(1, columns), columns, source.dtype),
        Elementwise("log+add", result.elements, result.dtype, operands=2),
    ))  # fmt: skip


def scan(call: Call) -> Lowered:
    """Cumsum, Cumprod and CumulativeLogsumexp."""
    source = call.given(0)
    columns = source.extent(call.known_int(1) % max(1, len(source.shape)))
    return call.lowered((Scan(source.elements // max(1, columns), columns, source.dtype),))


def sort(call: Call) -> Lowered:
    """TopK, TopKV2, InTopK, NthElement and XLA's sorts."""
    source = call.given(1 if call.type.startswith("InTopK") else 0)
    columns = source.extent(-1)
    k: int | None = None
    if "TopK" in call.type:
        k = int(call.attribute("k", 0)) or call.known_int(-1, 1)
    elif call.type == "NthElement":
        k = call.known_int(1, 0) + 1
    return call.lowered((Sort(source.elements // max(1, columns), columns, source.dtype, k),))


def unique(call: Call) -> Lowered:
    """Unique and its versions: a sort, and neighbours compared."""
    source = call.given(0)
    return call.lowered((
        Sort(1, source.elements, source.dtype),
        Elementwise("ne", source.elements, source.dtype, operands=2, output_dtype="bool"),
        Scan(1, source.elements, "int32"),
    ))  # fmt: skip


def counts(call: Call) -> Lowered:
    """Bincount and its versions: every value compared with every bin."""
    source, bins = call.given(0), max(1, call.output.elements)
    pairs = source.elements * bins
    return call.lowered((
        Elementwise("eq", pairs, source.dtype, 2, source.elements, output_dtype="bool"),
        Reduction(1, source.elements, bins, "int32"),
    ))  # fmt: skip


def searched(call: Call) -> Lowered:
    """LowerBound and UpperBound: each value compared with all boundaries of its row, and the hits counted."""
    boundaries, values = call.given(0), call.given(1)
    pairs = values.elements * boundaries.extent(-1)
    return call.lowered((
        Elementwise("gt", pairs, values.dtype, 2, values.elements, output_dtype="bool"),
        Reduction(values.elements, boundaries.extent(-1), 1, "int32"),
    ))  # fmt: skip


def contrast(call: Call) -> Lowered:
    """AdjustContrastv2: the distance from the mean of each channel, scaled."""
    source = call.given(0)
    channels = max(1, source.extent(-1))
    return call.lowered((
        Reduction(1, source.elements // channels, channels, source.dtype),
        Elementwise("sub+mul+add", source.elements, source.dtype, 2, channels, broadcast_inner=True),
    ))  # fmt: skip
