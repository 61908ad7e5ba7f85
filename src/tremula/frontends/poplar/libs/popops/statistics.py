"""Histograms: how many elements lie between neighbouring levels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tremula.frontends.poplar.errors import InvalidOption
from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.libs import calls, options, outputs
from tremula.frontends.poplar.libs.calls import computing, work_type
from tremula.frontends.poplar.libs.errors import PoplibsError
from tremula.frontends.poplar.lines import user_line
from tremula.frontends.poplar.program.library import Arrays, Kernel
from tremula.frontends.poplar.program.programs import Sequence_
from tremula.frontends.poplar.types import FLOAT, UNSIGNED_INT
from tremula.program import work

_FLOAT, _FLOAT_INSIDE = "useFloatArithmetic", "useFloatArithmeticWithUnsignedIntOutput"


@computing("popops.histogram")
def histogram_kernel(attributes: Mapping[str, Any]) -> Kernel:
    """Inputs: elements, levels in ascending order, and the output where it is updated."""
    absolute, update = attributes["absolute"], attributes["update"]

    def compute(inputs: Arrays, outputs: Arrays) -> None:
        values = np.abs(inputs[0]) if absolute else inputs[0]
        places = np.searchsorted(inputs[1], values.reshape(-1), side="right")
        counts = np.bincount(places, minlength=len(outputs[0])).astype(outputs[0].dtype)
        outputs[0][...] = outputs[0] + counts if update else counts

    return compute


def histogram(
    graph: Graph,
    view: View,
    levels: View,
    absolute: bool,
    program: Sequence_,
    name: str,
    given: Mapping[str, str],
    *,
    out: View | None = None,
    update: bool = False,
) -> View:
    """Count the elements below the first level, between levels, and from the last on."""
    function = "popops::histogram"
    options.check(function, given, (_FLOAT,), {_FLOAT_INSIDE: "counts are exact integers here"})
    as_float = options.truth(function, given, _FLOAT, False)
    if as_float and options.truth(function, given, _FLOAT_INSIDE, False):
        raise InvalidOption(f"{function}: {_FLOAT} and {_FLOAT_INSIDE} exclude each other ({user_line()})")
    if levels.rank != 1 or levels.type is not view.type or not view.type.is_floating:
        raise PoplibsError(
            f"{function}: levels of shape {list(levels.shape)} and type {levels.type} for elements of type {view.type} "
            f"({user_line()})"
        )
    if out is None:
        out = outputs.linear(graph, FLOAT if as_float else UNSIGNED_INT, (levels.elements + 1,), name)
    if tuple(out.shape) != (levels.elements + 1,):
        raise PoplibsError(
            f"{function}: {levels.elements} levels need {levels.elements + 1} counts, not {out.elements} "
            f"({user_line()})"
        )
    inputs = [view, levels, *([out] if update else [])]
    kind = work_type(view.type)
    works: list[work.Work] = [work.Elementwise("compare", view.elements, kind, 2, 1)] * levels.elements
    works.append(work.Reduction(1, max(1, view.elements), out.elements, "fp32"))
    calls.add_call(
        program,
        "popops.histogram",
        inputs,
        [out],
        {"absolute": absolute, "update": update},
        works,
        name or function,
    )
    return out
