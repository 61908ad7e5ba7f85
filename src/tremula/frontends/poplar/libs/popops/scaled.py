"""Sums and differences of scaled tensors, in place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.libs import calls, options
from tremula.frontends.poplar.libs.calls import computing, work_type
from tremula.frontends.poplar.libs.errors import PoplibsError
from tremula.frontends.poplar.libs.popops.mapping import check_writeable
from tremula.frontends.poplar.lines import user_line
from tremula.frontends.poplar.program.library import Arrays, Kernel
from tremula.frontends.poplar.program.programs import Sequence_
from tremula.program import work

_WITHOUT_EFFECT = {
    "optimizeForSpeed": "the chip model does not place operands in separate memory elements",
    "scaleFloatToHalfTolerance": "scales keep the type that they are given in",
}


@computing("popops.scaled_add")
def scaled_add_kernel(attributes: Mapping[str, Any]) -> Kernel:
    """`a A + b B` into A: inputs are A, B, then the scales that are tensors. `a` "minus" stands for A - a A."""
    given_a, given_b = attributes["a"], attributes["b"]
    sign, complement = attributes["sign"], attributes["complement"]

    def compute(inputs: Arrays, outputs: Arrays) -> None:
        out, second = outputs[0], inputs[1]
        scales = iter(inputs[2:])
        wide = _wide(out.dtype, second.dtype)
        a = _scale(given_a, scales, wide)
        b = _scale(given_b, scales, wide) * wide.type(sign)
        if complement:
            a = wide.type(1) - a
        if out.dtype == wide == second.dtype:
            term = np.multiply(second, b)
            if given_a != 1.0 or complement:
                np.multiply(out, a, out=out)
            np.add(out, term, out=out)
        else:
            out[...] = out.astype(wide) * a + second.astype(wide) * b

    return compute


def _wide(one: np.dtype[Any], other: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(np.float32) if one.kind == "f" else np.result_type(one, other)


def _scale(given: float | None, tensors: Any, wide: np.dtype[Any]) -> Any:
    value = next(tensors).reshape(()) if given is None else np.asarray(given)
    return value.astype(wide)[()]


def add_scaled(
    graph: Graph,
    first: View,
    scale_a: View | float,
    second: View,
    scale_b: View | float,
    program: Sequence_,
    name: str,
    given: Mapping[str, str],
    *,
    subtract: bool = False,
    complement: bool = False,
) -> None:
    """`first` becomes `scale_a first + scale_b second`, or its difference; `complement`: `1 - scale_a` instead."""
    function = "popops::scaledSubtractFrom" if subtract else "popops::scaledAddTo"
    options.check(function, given, without_effect=_WITHOUT_EFFECT)
    if tuple(first.shape) != tuple(second.shape):
        raise PoplibsError(
            f"{function}: tensors of shapes {list(first.shape)} and {list(second.shape)} are not of one shape "
            f"({user_line()})"
        )
    if first.type is not second.type and not (first.type.is_floating and second.type.is_floating):
        raise PoplibsError(f"{function}: operands of types {first.type} and {second.type} ({user_line()})")
    check_writeable(first, f"the first operand of {function}")
    scales = [each for each in (scale_a, scale_b) if isinstance(each, View)]
    if any(each.elements != 1 for each in scales):
        raise PoplibsError(f"{function}: a scale is one element ({user_line()})")
    plain = scale_a == 1.0 if not isinstance(scale_a, View) else False
    attributes = {
        "a": None if isinstance(scale_a, View) else float(scale_a),
        "b": None if isinstance(scale_b, View) else float(scale_b),
        "sign": -1 if subtract else 1,
        "complement": complement,
    }
    operation = "scaled_add" if plain and not complement else "axpby"
    works = [work.Elementwise(operation, first.elements, work_type(first.type), operands=2, in_place=True)]
    calls.add_call(
        program, "popops.scaled_add", [first, second, *scales], [first], attributes, works, name or function
    )
