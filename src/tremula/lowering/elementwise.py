"""Passes over the data: what element-wise operations become, with what has to be cast or rearranged before them.

A pass is one vertex walk over all elements, by a name that the cycle table of `plan.elementwise_table` has, or
several joined by "+", which are one expression.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tremula.lowering.operand import Operand
from tremula.lowering.rearrangement import rearranged, same_order
from tremula.program.dtypes import FLOATS
from tremula.program.work import Cast, Elementwise, Work

#: results of comparisons are bool whatever the operands are
TRUTH = frozenset({
    "eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_xor", "logical_not", "isnan", "isinf",
    "isfinite",
})  # fmt: skip

_POWERS = {2: "square", 0.5: "sqrt", -0.5: "rsqrt", -1: "reciprocal", 3: "square+mul"}


def parsed(table: str) -> dict[str, tuple[str, ...]]:
    """Entries `name: pass, pass` of a table; a name alone is a pass of that name."""
    entries: dict[str, tuple[str, ...]] = {}
    name, continues = "", False
    for word in table.split():
        if word.endswith(":"):
            name, continues = word[:-1], True
            entries[name] = ()
        elif continues:
            entries[name] += (word.rstrip(","),)
            continues = word.endswith(",")
        else:
            entries[word] = (word,)
    return entries


def power(exponent: object) -> str:
    """The pass that raises to a known exponent, `pow` if it is not a simple one."""
    return _POWERS.get(exponent, "pow") if isinstance(exponent, int | float) else "pow"


def passes_over(
    operations: Iterable[str],
    operands: Sequence[Operand[Any]],
    result: Operand[Any],
    *,
    in_place: bool = False,
    scalar: bool = False,
) -> list[Work]:
    """The passes over the data, after what has to be cast or rearranged for them.

    Args:
        operations: the passes, one after the other; the later ones are in place.
        operands: the tensors that they read.
        result: what they make.
        in_place: whether the first pass overwrites an operand too.
        scalar: whether the other operand of a single tensor is a number of the program's text.
    """
    works: list[Work] = []
    numbers = [o for o in operands if o.elements > 0]
    dtype = computed_in(numbers, result)
    for o in numbers:
        if o.dtype != dtype and o.dtype in FLOATS and dtype in FLOATS and o.distinct > 1:
            works.append(Cast(o.distinct, o.dtype, dtype))
        if o.shape == result.shape and not same_order(o, result):
            works.append(rearranged(o, result))
    elements = result.elements
    if len(numbers) == 1 and numbers[0].distinct < elements:
        elements = numbers[0].distinct  # done before the expansion, which is a view
    repeated = [o for o in numbers if o.distinct < elements]
    operand_count = max(1, len(numbers))
    broadcast: int | None = None
    inner = False
    if repeated:
        widest = max(repeated, key=lambda o: o.distinct)
        broadcast = widest.distinct
        inner = broadcast > 1 and runs_innermost(widest, result)
        operand_count = max(2, operand_count)
    elif len(numbers) == 1 and scalar:
        broadcast, operand_count = 1, 2
    for position, operation in enumerate(operations):
        truth = operation.rpartition("+")[2] in TRUTH
        works.append(
            Elementwise(
                operation=operation,
                elements=elements,
                dtype=dtype,
                operands=operand_count,
                broadcast_elements=broadcast,
                broadcast_inner=inner,
                output_dtype="bool" if truth else result.dtype if result.dtype != dtype else None,
                in_place=in_place or position > 0,
            )
        )
    return works


def computed_in(operands: Iterable[Operand[Any]], result: Operand[Any]) -> str:
    """The type in which the arithmetic is done: the result's, or for comparisons the operands'."""
    if result.dtype in FLOATS:
        return result.dtype
    wide = [o.dtype for o in operands if o.dtype != "bool"]
    for dtype in ("fp32", "fp16"):
        if dtype in wide:
            return dtype
    return wide[0] if wide else result.dtype


def runs_innermost(operand: Operand[Any], result: Operand[Any]) -> bool:
    """Whether a repeated operand has the result's innermost dimension."""
    for size, stride, whole in zip(
        reversed(operand.shape), reversed(operand.strides), reversed(result.shape), strict=False
    ):
        if whole > 1:
            return size == whole and stride != 0
    return False


def one_hot(elements: int, rows: int, dtype: str) -> Elementwise:
    """Each of `elements` compared with the class of its row, and kept or not: how popnn picks probabilities."""
    return Elementwise("eq+mul", elements, dtype, operands=2, broadcast_elements=rows)
