"""Softmax and normalisations, which popnn has as ops of their own, forward and gradient."""

from __future__ import annotations

from typing import Any

from tremula.lowering.operand import Operand
from tremula.program.work import Norm, Softmax


def softmax(
    source: Operand[Any], dim: int = -1, *, logarithm: bool = False, gradient: bool = False
) -> Softmax:
    """A softmax along one dimension."""
    columns = source.extent(dim)
    return Softmax(
        rows=source.elements // max(1, columns),
        columns=columns,
        dtype=source.dtype,
        logarithm=logarithm,
        gradient=gradient,
    )


def norm(
    kind: str,
    source: Operand[Any],
    reduced: int,
    parameters: int,
    *,
    training: bool = True,
    gradient: bool = False,
) -> Norm:
    """A normalisation with statistics over `reduced` elements each."""
    return Norm(
        kind=kind,
        reduced=reduced,
        statistics=source.elements // max(1, reduced),
        parameters=parameters,
        dtype=source.dtype,
        training=training,
        gradient=gradient,
    )
