"""Matrix products and einsum.

The role follows from the phase: in the backward pass a product with a transposed left operand sums over rows: it gives
the gradient of weights (input^T x gradient); any other gives the gradient of an input. Where the gradient is on the
left, as for a layer whose weights are transposed, rows and columns change places: the device's libraries have the input
there.
"""

from __future__ import annotations

import math
from dataclasses import replace

from tremula.frontends.tensorflow.capture.nodes import Value
from tremula.frontends.tensorflow.rules.call import Call
from tremula.lowering.elementwise import passes_over
from tremula.lowering.products import bias, crossed, innermost, serialised
from tremula.lowering.reductions import shaped
from tremula.program.lowered import Lowered
from tremula.program.op import Phase
from tremula.program.work import Elementwise, MatMul, SparseMatMul, Work

_VIEWS_TEXT = """
    Identity IdentityN StopGradient Reshape Transpose Squeeze ExpandDims Cast ReadVariableOp StridedSlice Slice
"""
_VIEWS = frozenset(_VIEWS_TEXT.split())

#: which extent of a product the dimensions of a serialised product cut, by role: m, k and n of the forward product
_CUT = {
    "forward": {"a_columns": "rows", "a_rows_b_columns": "inner", "b_rows": "columns"},
    "input_gradient": {"a_columns": "rows", "b_rows": "inner", "a_rows_b_columns": "columns"},
    "weight_gradient": {"a_rows_b_columns": "rows", "a_columns": "inner", "b_rows": "columns"},
}


def product(call: Call) -> Lowered:
    """MatMul and BatchMatMul in their versions."""
    left, right = call.given(0), call.given(1)
    if len(left.shape) < 2 or len(right.shape) < 2:
        return call.unknown()
    turned = bool(call.attribute("transpose_a", call.attribute("adj_x", False)))
    turned_right = bool(call.attribute("transpose_b", call.attribute("adj_y", False)))
    rows, inner = left.shape[-2:][::-1] if turned else left.shape[-2:]
    columns = right.shape[-2] if turned_right else right.shape[-1]
    role = "forward"
    if call.backward:
        role = "weight_gradient" if turned else "input_gradient"
        if turned and is_gradient(call.node.inputs[0]):
            rows, columns = columns, rows
    groups = max(math.prod(left.shape[:-2]), math.prod(right.shape[:-2]))
    if groups > 1 and math.prod(right.shape[:-2]) == 1 and not turned:
        rows, groups = rows * groups, 1  # one right operand for all: more rows
    work = matmul(call, rows, inner, columns, groups, left.dtype, role)
    if groups > 1:
        first, second = (innermost(each.strides, each.shape) for each in (left, right))
        other = {-1: -2, -2: -1}
        first, second = (other.get(d, d) if t else d for d, t in ((first, turned), (second, turned_right)))
        work = replace(work, crossed=crossed(first, second))
    return call.lowered(_serialised(call, work))


def matmul(
    call: Call, rows: int, inner: int, columns: int, groups: int, dtype: str, role: str = "forward"
) -> MatMul:
    """A product with the settings that hold for this node."""
    return MatMul(rows, inner, columns, groups, dtype, call.partials(dtype), call.proportion, role)


def _serialised(call: Call, work: MatMul) -> list[Work]:
    """The parts of a product that the user asked to be done one after the other."""
    facts = call.node.facts
    cut = _CUT[work.role].get(str(facts.get("serialization_dimension")))
    return serialised(work, cut, int(facts.get("serialization_factor", 1) or 1))


def is_gradient(value: Value) -> bool:
    """Whether the backward pass made a value, behind views and casts."""
    while value.node is not None and value.node.type in _VIEWS and value.node.inputs:
        value = value.node.inputs[0]
    return value.node is not None and value.node.phase is Phase.BACKWARD


def is_variable(value: Value) -> bool:
    """Whether a value is a variable, behind views and casts."""
    while value.node is not None and value.node.type in _VIEWS and value.node.inputs:
        value = value.node.inputs[0]
    return value.variable is not None


def einsum(call: Call) -> Lowered:
    """Einsum of one or two operands: sums of what only one has, then a product."""
    equation = str(call.attribute("equation", ""))
    inputs, arrow, made = equation.replace(" ", "").partition("->")
    labels = inputs.split(",")
    if not arrow or len(labels) != len(call.node.inputs) or len(labels) > 2:
        return call.unknown()
    extents: dict[str, int] = {}
    named = []
    for text, operand in zip(labels, call.inputs, strict=True):
        letters = _letters(text, len(operand.shape))
        if letters is None:
            return call.unknown()
        named.append(letters)
        extents.update(
            (letter, max(n, extents.get(letter, 1))) for letter, n in zip(letters, operand.shape, strict=True)
        )
    out = _letters(made, len(call.output.shape))
    if out is None or any(letter not in extents for letter in out):
        return call.unknown()
    if len(named) == 1:
        return _single(call, named[0], out)
    return _pair(call, named, out, extents)


def _letters(text: str, rank: int) -> tuple[str, ...] | None:
    """The labels of an operand; an ellipsis stands for dimensions that count from the end."""
    before, dots, after = text.partition("...")
    if not dots:
        return tuple(text) if len(text) == rank else None
    free = rank - len(before) - len(after)
    return (*before, *(f".{n}" for n in range(free, 0, -1)), *after) if free >= 0 else None


def _single(call: Call, letters: tuple[str, ...], out: tuple[str, ...]) -> Lowered:
    source = call.given(0)
    summed = [d for d, letter in enumerate(letters) if letter not in out]
    if summed:
        return call.lowered((shaped(source, summed, "add"),))
    if len(set(letters)) < len(letters):
        return call.unknown()
    return call.view(tuple(source.strides[letters.index(letter)] for letter in out))


def _pair(call: Call, named: list[tuple[str, ...]], out: tuple[str, ...], extents: dict[str, int]) -> Lowered:
    (left, right), kept = named, set(out)

    def extent(letters: set[str]) -> int:
        return math.prod(extents[letter] for letter in letters)

    both = set(left) & set(right)
    groups, inner = extent(both & kept), extent(both - kept)
    rows, columns = extent(set(left) & kept - both), extent(set(right) & kept - both)
    works: list[Work] = []
    for letters, operand in zip(named, call.inputs, strict=True):
        lost = [d for d, letter in enumerate(letters) if letter not in kept and letter not in both]
        if lost:
            works.append(shaped(operand, lost, "add"))
    if not both - kept and rows * columns == 1:
        works += passes_over(("mul",), call.inputs, call.output)
        return call.lowered(works)
    role = "forward"
    if call.backward:
        # a gradient with a weight gives the gradient of the input; with an input, that of the weight
        weights = any(is_variable(value) for value in call.node.inputs)
        other = 1 if is_gradient(call.node.inputs[0]) else 0
        sums_rows = not weights and _gradient_of_right(call, other)
        role = "weight_gradient" if sums_rows else "input_gradient"
        if sums_rows and is_gradient(call.node.inputs[0]):
            rows, columns = columns, rows
    work = matmul(call, rows, inner, columns, groups, call.given(0).dtype, role)
    if groups > 1:
        work = replace(work, crossed=_crossed(call, named, both - kept))
    return call.lowered([*works, *_serialised(call, work)])


def _crossed(call: Call, named: list[tuple[str, ...]], summed: set[str]) -> str:
    """Operands of an einsum in which the letter that lies together is not summed over."""
    good = [
        letters[len(letters) + innermost(operand.strides, operand.shape)] in summed
        for letters, operand in zip(named, call.inputs, strict=True)
    ]
    return crossed(-1 if good[0] else -2, -2 if good[1] else -1)


def _gradient_of_right(call: Call, other: int) -> bool:
    """Whether the operand that is not a gradient was on the left of the forward product: this is the right one's."""
    source = call.node.inputs[other]
    forward = [
        user
        for user in source.users
        if user.type == "Einsum" and user.phase is Phase.FORWARD and source in user.inputs
    ]
    return any(user.inputs[0] is source for user in forward) or not forward


def add_bias(call: Call) -> Lowered:
    """BiasAdd: in place on the result of a product, which nothing else reads."""
    source = call.node.inputs[0]
    alone = len(call.facts.users(source)) == 1 and source not in call.facts.kept and source.variable is None
    call.facts.place(call.node.output, call.given(0).strides)
    shares = (source.name,) if alone else None
    return call.lowered((bias(call.output, call.given(1)),), shares=shares)


def sparse_product(call: Call) -> Lowered:
    """SparseTensorDenseMatMul: (places, values, shape, dense); the pattern is data."""
    places, dense = call.given(0), call.given(3)
    rows, columns = call.output.shape[-2:]
    inner = dense.elements // max(1, columns)
    filled = places.extent(0) / max(1, rows * inner)
    work = SparseMatMul(
        rows,
        inner,
        columns,
        min(1.0, filled),
        1,
        dense.dtype,
        call.partials(dense.dtype),
        True,
        call.proportion,
    )
    return call.lowered((work,))


def cross(call: Call) -> Lowered:
    """The cross product of vectors of three."""
    result = call.output
    return call.lowered((Elementwise("mul+mul+sub", result.elements, result.dtype, operands=4),))
