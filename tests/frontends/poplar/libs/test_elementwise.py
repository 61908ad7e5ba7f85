"""Element-wise functions compute what NumPy computes, with the device's laws where the two differ."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import popops
from popops import expr
from popops._elementwise import FUNCTIONS, NAMES
from tremula.frontends.poplar.errors import InvalidOption
from tremula.frontends.poplar.graph import mapping
from tremula.frontends.poplar.libs.errors import PoplibsError
from tremula.frontends.poplar.libs.popops.operations import KINDS
from tremula.frontends.poplar.types import BOOL, FLOAT, HALF, INT, UNSIGNED_INT

from .running import LAYOUTS, Case, arrays

REFERENCE: dict[str, Any] = {
    "abs": np.abs, "asin": np.arcsin, "bitwiseNot": np.invert, "cbrt": np.cbrt, "ceil": np.ceil, "cos": np.cos,
    "countLeadingZeros": np.vectorize(lambda v: 32 - (int(v) & 0xFFFFFFFF).bit_length()),
    "erf": np.vectorize(math.erf), "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "floor": np.floor,
    "geluErf": lambda x: x / 2 * (1 + np.vectorize(math.erf)(x / math.sqrt(2))), "inv": np.reciprocal,
    "isFinite": np.isfinite, "isInf": np.isinf, "isNaN": np.isnan, "log": np.log, "log1p": np.log1p,
    "logicalNot": np.logical_not, "nearbyint": np.rint, "neg": np.negative,
    "popcount": lambda x: np.vectorize(lambda v: int(v).bit_count())(x.view(np.uint32)),
    "round": lambda x: np.sign(x) * np.floor(np.abs(x) + 0.5), "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "signum": np.sign, "sin": np.sin, "sqrt": np.sqrt,
    "square": np.square, "tan": np.tan, "tanh": np.tanh, "trunc": np.trunc,
    "add": np.add, "atan2": np.arctan2, "bitwiseAnd": np.bitwise_and, "bitwiseOr": np.bitwise_or,
    "bitwiseXor": np.bitwise_xor, "bitwiseXnor": lambda x, y: ~(x ^ y), "div": np.true_divide, "eq": np.equal,
    "gt": np.greater, "gteq": np.greater_equal, "invStdDevToVariance": lambda x, y: 1 / x**2 - y,
    "logicalAnd": np.logical_and, "logicalOr": np.logical_or, "lt": np.less, "lteq": np.less_equal,
    "max": np.maximum, "min": np.minimum, "mul": np.multiply, "neq": np.not_equal, "pow": np.power, "rem": np.fmod,
    "shiftLeft": np.left_shift, "shiftRight": lambda x, y: x.view(np.uint32) >> y.view(np.uint32),
    "shiftRightSignExtend": np.right_shift, "sub": np.subtract,
    "varianceToInvStdDev": lambda x, y: 1 / np.sqrt(x + y), "clamp": np.clip,
    "select": lambda x, y, c: np.where(c, x, y),
}  # fmt: skip
POSITIVE = {"log", "log1p", "rsqrt", "sqrt", "inv", "pow", "varianceToInvStdDev", "invStdDevToVariance"}


def operands(name: str, shape: tuple[int, ...]) -> list[np.ndarray]:
    """Operands of a type that the operation takes."""
    kinds = KINDS[NAMES[name]]
    count = 3 if name in ("clamp", "select") else 1 if popops_arity(name) == 1 else 2
    if "f" in kinds:
        low, high = (0.1, 4.0) if name in POSITIVE else (-1.0, 1.0) if name == "asin" else (-4.0, 4.0)
        made = [arrays(shape, seed, np.float32, low, high) for seed in range(count)]
        if name == "select":
            made[2] = made[2] > 0
        if name == "clamp":
            made[1], made[2] = np.minimum(made[1], made[2]), np.maximum(made[1], made[2])
        return made
    if kinds == "b":
        return [arrays(shape, seed) > 0 for seed in range(count)]
    made = [arrays(shape, seed, np.int32, -1e6, 1e6) for seed in range(count)]
    if name.startswith("shift"):
        made[1] = np.abs(made[1]) % 31
    return made


def popops_arity(name: str) -> int:
    from tremula.frontends.poplar.libs.popops.expressions import of_operation
    from tremula.frontends.poplar.libs.popops.operations import BY_NAME

    return len(of_operation(BY_NAME[NAMES[name]]).arguments)


@pytest.mark.parametrize("name", sorted(NAMES))
def test_each_function_and_its_forms(name: str) -> None:
    given_arrays = operands(name, (5, 3))
    expected = REFERENCE[name](*(each.astype(np.float64) if each.dtype == np.float32 else each
                                 for each in given_arrays))  # fmt: skip
    case = Case()
    views = [
        case.tensor(each, layout=layout) for each, layout in zip(given_arrays, LAYOUTS[1:], strict=False)
    ]
    made = getattr(popops, name)(case.graph, *views, case.program)
    out = case.tensor(np.zeros((5, 3), given_arrays[0].dtype if made.type is not BOOL else bool))
    getattr(popops, f"{name}WithOutput")(case.graph, *views, out, case.program)
    in_place = f"{name}InPlace" in FUNCTIONS and made.type is views[0].type
    if in_place:
        getattr(popops, f"{name}InPlace")(case.graph, *views, case.program, "debug", {})
    case.run()
    results = [case[made], case[out], *([case[views[0]]] if in_place else [])]
    for result in results:
        if result.dtype.kind == "f":
            np.testing.assert_allclose(result, expected, rtol=3e-6, atol=3e-7)
        else:
            np.testing.assert_array_equal(result.view(np.asarray(expected).astype(result.dtype).dtype),
                                          np.asarray(expected).astype(result.dtype))  # fmt: skip
    assert len(case.works) == len(results)


def test_the_functions_in_place_are_those_of_the_table() -> None:
    assert set(REFERENCE) == set(NAMES)
    assert "isNaNInPlace" not in FUNCTIONS
    assert "isNaNWithOutput" in FUNCTIONS


@given(
    rank=st.integers(0, 3),
    drop=st.integers(0, 3),
    ones=st.tuples(st.booleans(), st.booleans(), st.booleans()),
    layouts=st.tuples(st.sampled_from(LAYOUTS), st.sampled_from(LAYOUTS)),
    swap=st.booleans(),
    seed=st.integers(0, 99),
)
def test_operands_are_broadcast_as_numpy_does(
    rank: int, drop: int, ones: tuple[bool, ...], layouts: tuple[str, str], swap: bool, seed: int
) -> None:
    shape = tuple(np.random.default_rng(seed).integers(1, 5, rank).tolist())
    small = tuple(1 if one else length for one, length in zip(ones, shape, strict=False))[min(drop, rank) :]
    first, second = arrays(shape, seed), arrays(small, seed + 1)
    case = Case()
    views = [case.tensor(first, layout=layouts[0]), case.tensor(second, layout=layouts[1])]
    if swap:
        made = popops.sub(case.graph, views[1], views[0], case.program)
        expected = second - first
    else:
        made = popops.sub(case.graph, *views, case.program)
        expected = first - second
        popops.subInPlace(case.graph, *views, case.program)
    case.run()
    np.testing.assert_array_equal(case[made], expected)
    if not swap:
        np.testing.assert_array_equal(case[views[0]], expected)


def test_a_result_lies_where_its_operand_lies() -> None:
    case = Case()
    one, other = case.graph.add_variable(FLOAT, (8, 8)), case.graph.add_variable(FLOAT, (8, 8))
    case.graph.set_tile_mapping(one, 3)
    for row in range(8):
        case.graph.set_tile_mapping(other[row], row)
    made = popops.add(case.graph, one, other.transpose(), case.program)
    assert np.array_equal(
        mapping.tiles_of(case.graph.memory, made), mapping.tiles_of(case.graph.memory, other.transpose())
    )
    assert set(mapping.tiles_of(case.graph.memory, popops.exp(case.graph, one, case.program))) == {3}


def test_numbers_stand_for_operands_and_take_their_type() -> None:
    case = Case()
    x, n = case.tensor(np.float32([1, 2, 4])), case.tensor(np.uint32([1, 2, 4]))
    results = [
        popops.add(case.graph, x, 2, case.program),
        popops.sub(case.graph, 2.0, x, case.program),
        popops.sub(case.graph, 2, n, case.program),
        popops.gt(case.graph, n, 1.5, case.program),
    ]
    popops.mulInPlace(case.graph, x, 0.5, case.program)
    case.run()
    found = [case[each] for each in results]
    np.testing.assert_array_equal(found[0], [3, 4, 6])
    np.testing.assert_array_equal(found[1], [1, 0, -2])
    np.testing.assert_array_equal(found[2], np.uint32([1, 0, 2**32 - 2]))
    np.testing.assert_array_equal(found[3], [False, True, True])
    np.testing.assert_array_equal(case[x], [0.5, 1, 2])
    assert results[2].type is UNSIGNED_INT
    assert results[3].type is BOOL


def test_integers_follow_the_device() -> None:
    case = Case()
    a = case.tensor(np.int32([7, -7, 7, -7, 2**31 - 1, 5]))
    b = case.tensor(np.int32([2, 2, -2, -2, 1, -3]))
    names = ("div", "rem", "add", "pow", "shiftRight", "max")
    made = {name: getattr(popops, name)(case.graph, a, b, case.program) for name in names}
    case.run()
    np.testing.assert_array_equal(case[made["div"]], [3, -3, -3, 3, 2**31 - 1, -1])
    np.testing.assert_array_equal(case[made["rem"]], [1, -1, 1, -1, 0, 2])
    np.testing.assert_array_equal(case[made["add"]][4], -(2**31))
    np.testing.assert_array_equal(case[made["pow"]], [49, 49, 0, 0, 2**31 - 1, 0])
    np.testing.assert_array_equal(case[made["shiftRight"]][1], (2**32 - 7) >> 2)


def test_nan_is_smaller_and_larger_than_no_number() -> None:
    case = Case()
    a, b = case.tensor(np.float32([np.nan, 1, np.nan])), case.tensor(np.float32([1, np.nan, np.nan]))
    made = [
        each(case.graph, a, b, case.program)
        for each in (popops.max, popops.min, popops.eq, popops.neq, popops.lt)
    ]
    sign = popops.signum(case.graph, a, case.program)
    case.run()
    np.testing.assert_array_equal(case[made[0]], [1, 1, np.nan])
    np.testing.assert_array_equal(case[made[1]], [1, 1, np.nan])
    assert not case[made[2]].any()
    assert case[made[3]].all()
    assert not case[made[4]].any()
    np.testing.assert_array_equal(case[sign], [0, 1, 0])


@pytest.mark.parametrize(
    ("accurate", "expected"), [(True, np.float16(1.001) * np.float16(1.001)), (False, None)]
)
def test_half_is_rounded_only_where_that_was_asked_for(accurate: bool, expected: Any) -> None:
    case = Case(accurate_half=accurate)
    x = case.tensor(np.float32([1.001]), HALF)
    made = popops.square(case.graph, x, case.program)
    case.run()
    assert made.type is HALF
    wanted = expected if accurate else np.square(np.float32(1.001))
    np.testing.assert_array_equal(case[made], [wanted])


def test_expressions_are_computed_in_one_call() -> None:
    case = Case()
    x, y = arrays((4, 3), 0), arrays((3,), 1)
    views = [case.tensor(x), case.tensor(y, layout="reversed")]
    tree = expr.Select(expr.Cast(expr._1 * 2 + expr._2, INT), expr.Cast(expr._2, INT), expr._1 > 0.5)
    made = popops.map(case.graph, tree, views, case.program)
    several = popops.map(case.graph, [expr._1 + expr._2, expr.Max(expr._1, 1.0)], views, case.program)
    popops.mapInPlace(case.graph, popops.BinaryOpType.SUBTRACT, *views, case.program)
    case.run()
    wanted = np.where(x > 0.5, (x * 2 + y).astype(np.int32), y.astype(np.int32))
    np.testing.assert_array_equal(case[made], wanted)
    np.testing.assert_array_equal(case[several[0]], x + y)
    np.testing.assert_array_equal(case[several[1]], np.maximum(x, 1))
    np.testing.assert_array_equal(case[views[0]], x - y)
    assert len(case.program.programs) == 3


def test_nested_lists_are_expressions() -> None:
    case = Case()
    x = case.tensor(np.float32([1, 2]))
    made = popops.map(
        case.graph, ["ADD", ["MULTIPLY", ["_", 1], ["const", "FLOAT", 3]], ["_", 1]], [x], case.program
    )
    case.run()
    np.testing.assert_array_equal(case[made], [4, 8])


def test_a_pass_for_each_operation_without_generated_vertices() -> None:
    case = Case()
    x = case.tensor(arrays((64,), 0))
    popops.map(case.graph, expr.Exp(expr._1) * expr._1 + 1, [x], case.program)
    popops.map(
        case.graph, expr.Exp(expr._1) * expr._1 + 1, [x], case.program, "", {"enableGenerateCodelet": "false"}
    )
    assert [each.operation for each in case.works] == ["exp+mul+add", "exp", "mul", "add"]


def test_what_cannot_be_is_an_error() -> None:
    case = Case()
    x, n = case.tensor(np.float32([1, 2])), case.tensor(np.int32([1, 2]))
    long = case.tensor(np.float32([1, 2, 3]))
    graph, program = case.graph, case.program
    with pytest.raises(PoplibsError, match="types float and int"):
        popops.add(graph, x, n, program)
    with pytest.raises(PoplibsError, match="cannot be broadcast"):
        popops.add(graph, x, long, program)
    with pytest.raises(PoplibsError, match="takes no operands of type int"):
        popops.exp(graph, n, program)
    with pytest.raises(PoplibsError, match="more than once"):
        popops.negInPlace(graph, x.reshape((2, 1)).broadcast(2, 1), program)
    with pytest.raises(PoplibsError, match="operand _2"):
        popops.map(graph, expr._2, [x], program)
    with pytest.raises(InvalidOption, match="frob"):
        popops.exp(graph, x, program, "", {"frob": "1"})
    with pytest.raises(PoplibsError, match="prog has to be a Sequence"):
        popops.exp(graph, x)
    with pytest.raises(PoplibsError, match="no truth value"):
        bool(expr._1 > 0)
    with pytest.raises(AttributeError, match=r"docs/poplar-libs\.md"):
        popops.frobnicate
    assert not program.programs
