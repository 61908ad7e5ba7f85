"""Calls of a damaged executable end in an error of the front end, whatever their attributes are."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import popops
import poprand
from tremula.frontends.poplar.errors import PoplarError
from tremula.frontends.poplar.types import FLOAT

from .running import Case, arrays

PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 1 << 40)
    | st.floats()
    | st.sampled_from(["ADD", "float32", "", "x"]),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=5,
)


def calls() -> Case:
    """One call of each of several kinds."""
    case = Case()
    graph, program = case.graph, case.program
    x, offset = case.tensor(arrays((4, 3), 0)), case.tensor(np.uint32([1]))
    rows, seed = case.tensor(np.uint32([[1], [2]])), case.tensor(np.uint32([1, 2]))
    popops.map(graph, popops.expr._1 * 2 + popops.expr.Cast(popops.expr._1, FLOAT), [x], program)
    popops.reduce(graph, x, [0], popops.Operation.ADD, program)
    popops.dynamicSlice(graph, x, offset, [0], [2], program)
    popops.multiSlice(graph, x, rows, [0], [1], program, popops.SlicePlan(), {})
    popops.gather(graph, x, rows, 1, [1], [1, 3], [0], [0], program)
    popops.sort(graph, x, 0, program)
    popops.topK(graph, program, x, popops.TopKParams(2, True, popops.SortOrder.NONE))
    poprand.dropout(graph, seed, 0, x, x, 0.5, 2.0, program)
    poprand.uniform(graph, seed, 0, x, FLOAT, 0.0, 1.0, program)
    return case


@given(data=st.data())
@settings(max_examples=120)
def test_any_attribute_may_be_damaged(data: Any) -> None:
    case = calls()
    call = data.draw(st.sampled_from(case.program.programs)).call
    attributes = copy.deepcopy(call.attributes)
    name = data.draw(st.sampled_from(sorted(attributes)))
    attributes[name] = data.draw(PLAIN)
    if data.draw(st.booleans()):
        del attributes[name]
    call.attributes = attributes
    try:
        case.run()
    except PoplarError:
        return
