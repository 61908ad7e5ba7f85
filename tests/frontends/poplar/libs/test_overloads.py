"""Every form of the element-wise functions in C++ is reached with positional arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import popops
from popops import expr
from popops._elementwise import FUNCTIONS, NAMES
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.libs.popops.operations import BY_NAME, KINDS, TRUTHS, BinaryOpType, UnaryOpType
from tremula.frontends.poplar.types import BOOL, FLOAT, HALF, INT

from .running import Case

BINARY = [name for name in NAMES if isinstance(BY_NAME[NAMES[name]], BinaryOpType)]
UNARY = [name for name in NAMES if isinstance(BY_NAME[NAMES[name]], UnaryOpType)]
ENDS: list[tuple[Any, ...]] = [(), ("name",), ("name", {}), ("", {"enableGenerateCodelet": "true"})]


def operand(case: Case, name: str) -> View:
    kinds = KINDS[NAMES[name]]
    dtype = np.float32 if "f" in kinds else np.int32 if "i" in kinds else np.bool_
    return case.tensor(np.ones((2, 3), dtype))


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("name", BINARY)
def test_either_operand_may_be_a_number(name: str, end: tuple[Any, ...]) -> None:
    case = Case()
    x = operand(case, name)
    number: Any = True if x.type is BOOL else 1
    graph, program = case.graph, case.program
    result = BOOL if NAMES[name] in TRUTHS else x.type
    out = case.tensor(np.zeros((2, 3)), result)
    for operands in ([x, x], [x, number], [number, x]):
        made = getattr(popops, name)(graph, *operands, program, *end)
        assert made.type is result
        assert made.shape == (2, 3)
        assert getattr(popops, f"{name}WithOutput")(graph, *operands, out, program, *end) is None
        if result is x.type and operands[0] is x:
            assert FUNCTIONS[f"{name}InPlace"](graph, *operands, program, *end) is None
    assert len(program.programs) == (8 if result is x.type else 6)
    case.run()


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("name", UNARY)
def test_forms_with_one_operand(name: str, end: tuple[Any, ...]) -> None:
    case = Case()
    x = operand(case, name)
    made = getattr(popops, name)(case.graph, x, case.program, *end)
    getattr(popops, f"{name}WithOutput")(case.graph, x, made, case.program, *end)
    if made.type is x.type:
        FUNCTIONS[f"{name}InPlace"](case.graph, x, case.program, *end)
    case.run()
    assert made.type is (BOOL if NAMES[name] in TRUTHS else x.type)


@pytest.mark.parametrize("end", ENDS)
def test_forms_of_map(end: tuple[Any, ...]) -> None:
    case = Case()
    x, y, c = (case.tensor(np.ones(3, dtype)) for dtype in (np.float32, np.float32, np.bool_))
    graph, program = case.graph, case.program
    out, second = case.tensor(np.zeros(3, np.float32)), case.tensor(np.zeros(3, np.float32))
    one, two, three = popops.UnaryOpType.SQUARE, popops.BinaryOpType.ADD, popops.TernaryOpType.SELECT
    both = [expr._1 + expr._2, expr.Any(expr._1 - expr._2)]
    assert popops.map(graph, one, x, program, *end).type is FLOAT
    assert popops.map(graph, two, x, y, program, *end).type is FLOAT
    assert popops.map(graph, three, x, y, c, program, *end).type is FLOAT
    assert popops.map(graph, expr.Add(expr._1, 1), [x], program, *end).type is FLOAT
    assert len(popops.map(graph, both, [x, y], program, *end)) == 2
    popops.mapInPlace(graph, one, x, program, *end)
    popops.mapInPlace(graph, two, x, y, program, *end)
    popops.mapInPlace(graph, three, x, y, c, program, *end)
    popops.mapInPlace(graph, expr._1 * 2, [x], program, *end)
    popops.mapInPlace(graph, both, [x, y], program, *end)
    popops.mapWithOutput(graph, one, x, out, program, *end)
    popops.mapWithOutput(graph, two, x, y, out, program, *end)
    popops.mapWithOutput(graph, three, x, y, c, out, program, *end)
    popops.mapWithOutput(graph, expr._1 * 2, [x], out, program, *end)
    popops.mapWithOutput(graph, both, [x, y], [out, second], program, *end)
    assert len(program.programs) == 15
    case.run()


def test_variances_take_a_type_for_their_result() -> None:
    case = Case()
    variance, epsilon = case.tensor(np.float32([4, 9])), case.tensor(np.float32(0))
    made = popops.varianceToInvStdDev(case.graph, variance, epsilon, case.program, HALF, "name")
    back = popops.invStdDevToVariance(case.graph, made, 0.0, case.program, FLOAT)
    case.run()
    np.testing.assert_allclose(case[made], [0.5, 1 / 3], rtol=1e-3)
    np.testing.assert_allclose(case[back], [4, 9], rtol=3e-3)
    assert made.type is HALF
    assert back.type is FLOAT


def test_constants_of_expressions_take_the_type_of_their_neighbours() -> None:
    case = Case()
    n, x, c = (
        case.tensor(np.int32([1, 5])),
        case.tensor(np.float32([1, 5])),
        case.tensor(np.array([True, False])),
    )
    graph, program = case.graph, case.program
    same = popops.map(graph, (expr._1 + 1.5) * 2, [n], program)
    either = popops.map(graph, expr.Select(1.5, 2.5, expr._1), [c], program)
    clamped = popops.map(graph, expr.Clamp(expr._1, 2, expr.Const(3)), [x], program)
    alone = popops.map(graph, expr.Cast(expr._1 > 2, INT) + 2, [x], program)
    case.run()
    np.testing.assert_array_equal(case[same], [4, 12])
    np.testing.assert_array_equal(case[either], [1.5, 2.5])
    np.testing.assert_array_equal(case[clamped], [2, 3])
    np.testing.assert_array_equal(case[alone], [2, 3])
