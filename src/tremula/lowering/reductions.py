"""Reductions along dimensions.

A reduction over several dimensions is seen as (outer, reduced, inner): inner is what lies behind the last
reduced dimension, outer all other kept dimensions. A mean is a sum, for popops scales the result on the way.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tremula.lowering.operand import Operand
from tremula.program.work import Reduction


def shaped(
    source: Operand[Any],
    dims: Sequence[int],
    operation: str,
    output_dtype: str | None = None,
    dtype: str | None = None,
) -> Reduction:
    """The reduction of `dims` of a tensor."""
    if not source.shape:
        return Reduction(1, 1, 1, dtype or source.dtype, operation, output_dtype)
    last = max(dims, default=0)
    reduced = math.prod(source.shape[d] for d in dims)
    inner = math.prod(source.shape[last + 1 :])
    return Reduction(
        outer=source.elements // max(1, reduced * inner),
        reduced=reduced,
        inner=inner,
        dtype=dtype or source.dtype,
        operation=operation,
        output_dtype=output_dtype,
    )
