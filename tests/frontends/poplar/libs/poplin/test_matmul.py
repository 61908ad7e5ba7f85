"""Products of matrices compute what NumPy does, and are what planners are told."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.frontends.poplar.libs.bench import Bench, normal, works_of

from tremula.frontends.poplar.errors import InvalidOption
from tremula.frontends.poplar.libs.errors import PoplibsError
from tremula.frontends.poplar.libs.poplin import matmul
from tremula.frontends.poplar.types import FLOAT, HALF, INT
from tremula.program.work import MatMul

size = st.integers(1, 7)


@settings(max_examples=25, deadline=None)
@given(size, size, size, st.booleans(), st.booleans())
def test_a_product_is_that_of_numpy(rows: int, inner: int, columns: int, turned: bool, half: bool) -> None:
    bench = Bench()
    kind = np.float16 if half else np.float32
    a, b = normal(rows, inner).astype(kind), normal(columns, inner, seed=1).astype(kind)
    left, right = bench.tensor(a), bench.tensor(b).transpose()
    if turned:
        left = bench.tensor(np.ascontiguousarray(a.T)).transpose()
    out = matmul.multiply(bench.graph, "matMul", 2, left, right, bench.prog)
    (found,) = bench.run(out)
    expected = a.astype(np.float64) @ b.astype(np.float64).T
    np.testing.assert_allclose(found, expected, rtol=2e-3 if half else 1e-5, atol=2e-2 if half else 1e-5)


@given(size, size, size, size)
@settings(max_examples=10, deadline=None)
def test_groups_are_products_of_their_own(groups: int, rows: int, inner: int, columns: int) -> None:
    bench = Bench()
    a, b = normal(groups, rows, inner), normal(groups, inner, columns, seed=1)
    out = matmul.multiply(bench.graph, "matMulGrouped", 3, bench.tensor(a), bench.tensor(b), bench.prog)
    np.testing.assert_allclose(bench.run(out)[0], a @ b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("scale", [0.5, "tensor"])
def test_products_are_added_to_a_tensor(scale: float | str) -> None:
    bench = Bench()
    total, a, b = normal(3, 5), normal(3, 4, seed=1), normal(4, 5, seed=2)
    out = bench.tensor(total)
    factor = bench.tensor(np.array([0.5], np.float32)) if scale == "tensor" else 0.5
    matmul.multiply_add("matMulAcc", 2, out, factor, bench.tensor(a), bench.tensor(b), bench.prog)
    np.testing.assert_allclose(bench.run(out)[0], total + 0.5 * (a @ b), rtol=1e-5)


def test_half_is_rounded_only_where_that_is_asked_for() -> None:
    found = []
    for accurate in (True, False):
        bench = Bench(accurate_half=accurate)
        a = bench.tensor(np.array([[1.0, 2**-12]], np.float32), HALF)
        b = bench.tensor(np.array([[1.0], [1.0]], np.float32), HALF)
        out = matmul.multiply(bench.graph, "matMul", 2, a, b, bench.prog)
        one = bench.tensor(np.ones((1, 1), np.float32), HALF)
        less = matmul.multiply(bench.graph, "matMul", 2, out, one, bench.prog, type=FLOAT)
        found.append(float(bench.run(less)[0][0, 0]))
    assert found == [1.0, 1.0 + 2**-12]


def test_options_and_shapes_reach_the_planner() -> None:
    bench = Bench()
    a, b = bench.tensor(normal(6, 8).astype(np.float16)), bench.tensor(normal(8, 10).astype(np.float16))
    options = {
        "partialsType": "half",
        "availableMemoryProportion": "0.2",
        "fullyConnectedPass": "TRAINING_BWD",
    }
    matmul.multiply(bench.graph, "matMul", 2, a, b, bench.prog, options=options)
    (work,) = works_of(bench.prog)
    assert work == MatMul(6, 8, 10, 1, "fp16", "fp16", 0.2, "input_gradient")


@pytest.mark.parametrize(
    "options", [{"partialType": "half"}, {"partialsType": "int"}, {"fullyConnectedPass": "X"}]
)
def test_wrong_options_are_errors(options: dict[str, str]) -> None:
    with pytest.raises(InvalidOption):
        matmul.work_of("matMul", (2, 2), (2, 2), FLOAT, options)


def test_matrices_that_do_not_fit_are_errors() -> None:
    bench = Bench()
    a, b = bench.tensor(normal(2, 3)), bench.tensor(normal(4, 5))
    with pytest.raises(PoplibsError, match="inner extents"):
        matmul.multiply(bench.graph, "matMul", 2, a, b, bench.prog)
    whole = bench.graph.add_variable(INT, (3, 3))
    with pytest.raises(PoplibsError, match="half or float"):
        matmul.multiply(bench.graph, "matMul", 2, a, whole, bench.prog)
