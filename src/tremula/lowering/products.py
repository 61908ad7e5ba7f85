"""Matrix products: types of partial sums, what is added to a result, products done in parts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tremula.lowering.operand import Operand
from tremula.program.work import Elementwise, MatMul, Work


def partials(dtype: str, wanted: str) -> str:
    """The type of partial sums: only products of short numbers have a choice."""
    return wanted if dtype in ("fp16", "fp8") else "fp32"


def crossed(left: int, right: int) -> str:
    """Operands of a product whose inner extent does not lie together.

    Args:
        left: the dimension of the left operand that lies together, counted from the end (-1: the last).
        right: that of the right operand.
    """
    bad_left, bad_right = left != -1, right != -2
    return "both" if bad_left and bad_right else "left" if bad_left else "right" if bad_right else ""


def innermost(strides: Sequence[int], shape: Sequence[int]) -> int:
    """The dimension of a tensor that lies together, counted from the end; -1 where strides do not say."""
    found = [d for d in range(-1, -len(shape) - 1, -1) if shape[d] > 1 and strides[d] == 1]
    return found[0] if found else -1


def bias(result: Operand[Any], added: Operand[Any], operation: str = "add") -> Elementwise:
    """What is added to a product's result, in place; channels lie innermost on the device."""
    repeated = added.distinct < result.elements
    return Elementwise(
        operation=operation,
        elements=result.elements,
        dtype=result.dtype,
        operands=2,
        broadcast_elements=added.distinct if repeated else None,
        broadcast_inner=repeated and added.distinct > 1,
        in_place=True,
    )


def serialised(work: MatMul, cut: str | None, factor: int, sums_dtype: str | None = None) -> list[Work]:
    """The parts of a product that are done one after the other.

    Args:
        work: the whole product.
        cut: the extent that is cut: rows, inner or columns; None: none.
        factor: into how many parts.
        sums_dtype: type of the sum of the parts, where the inner extent is cut; by default the product's.
    """
    if cut is None or factor < 2:
        return [work]
    part = replace(work, **{cut: max(1, math.ceil(getattr(work, cut) / factor))})
    if cut != "inner":
        return [part] * factor
    sums = Elementwise(
        operation="scaled_add",
        elements=work.rows * work.columns * work.groups,
        dtype=sums_dtype or work.dtype,
        operands=2,
        in_place=True,
    )
    works: list[Work] = [part]
    for _ in range(factor - 1):
        works += [part, sums]
    return works
