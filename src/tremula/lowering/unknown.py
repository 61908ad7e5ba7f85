"""The work of an op that no planner knows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tremula.lowering.operand import Operand
from tremula.program.work import Unknown


def unknown(operation: str, read: Sequence[Operand[Any]], written: Sequence[Operand[Any]]) -> Unknown:
    """It is costed by what it reads and writes."""
    dtypes = [operand.dtype for operand in (*written, *read)]
    return Unknown(
        operation=operation,
        read_elements=sum(operand.distinct for operand in read),
        written_elements=sum(operand.elements for operand in written),
        dtype=dtypes[0] if dtypes else "fp32",
    )
