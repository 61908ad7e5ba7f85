"""Tests of whole tensors: all true, any NaN or infinity, accuracy in another type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.libs import calls
from tremula.frontends.poplar.libs.calls import computing, work_type
from tremula.frontends.poplar.libs.errors import PoplibsError
from tremula.frontends.poplar.libs.popops.arithmetic import converted
from tremula.frontends.poplar.lines import user_line
from tremula.frontends.poplar.program.library import Arrays, Kernel
from tremula.frontends.poplar.program.programs import Sequence_
from tremula.frontends.poplar.types import BOOL, Type
from tremula.program import work


@computing("popops.test")
def test_kernel(attributes: Mapping[str, Any]) -> Kernel:
    """`kind`: all true, NaN, or NaN or infinity."""
    kind = attributes["kind"]

    def compute(inputs: Arrays, outputs: Arrays) -> None:
        if kind == "all":
            outputs[0][...] = np.all(inputs[0])
        elif kind == "nan":
            outputs[0][...] = np.any(np.isnan(inputs[0]))
        else:
            outputs[0][...] = not np.all(np.isfinite(inputs[0]))

    return compute


@computing("popops.check_accuracy")
def check_accuracy_kernel(attributes: Mapping[str, Any]) -> Kernel:
    """Whether a number keeps its value in another type up to a relative tolerance."""
    dtype, tolerance = np.dtype(attributes["dtype"]), attributes["tolerance"]

    def compute(inputs: Arrays, outputs: Arrays) -> None:
        given = inputs[0].astype(np.float64)
        changed = converted(given.astype(np.float32), dtype).astype(np.float64)
        outputs[0][...] = np.all(
            np.isfinite(changed) & (np.abs(given - changed) <= np.abs(given) * tolerance)
        )

    return compute


def test(graph: Graph, view: View, kind: str, program: Sequence_, name: str) -> View:
    """A truth value on tile 0: whether the elements pass a test."""
    if kind == "all" and view.type is not BOOL:
        raise PoplibsError(f"allTrue takes truth values, not elements of type {view.type} ({user_line()})")
    if kind != "all" and not view.type.is_floating:
        raise PoplibsError(f"elements of type {view.type} are never NaN ({user_line()})")
    out = graph.add_variable(BOOL, (), name)
    graph.set_tile_mapping(out, 0)
    works: list[work.Work] = []
    if view.elements:
        operation = "and" if kind == "all" else "max"
        works.append(work.Reduction(1, view.elements, 1, work_type(view.type), operation, "bool"))
    calls.add_call(program, "popops.test", [view], [out], {"kind": kind}, works, name)
    return out


def check_accuracy(
    graph: Graph, view: View, type: Type, tolerance: float, program: Sequence_, name: str
) -> View:
    """A truth value: whether `view`, one number, could be held in another type."""
    if view.elements != 1 or not view.type.is_floating:
        raise PoplibsError(f"the accuracy of a cast is checked for one floating-point number ({user_line()})")
    out = graph.add_variable(BOOL, (), name)
    graph.set_tile_mapping(out, 0)
    # the type itself, not how the host stores it, says what is lost
    attributes = {"dtype": type.host_dtype.name, "tolerance": tolerance}
    works = [work.Cast(1, work_type(view.type), work_type(type))]
    calls.add_call(program, "popops.check_accuracy", [view], [out], attributes, works, name or "accuracy")
    return out
