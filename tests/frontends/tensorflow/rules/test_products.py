"""Matrix products: extents, roles and parts."""

import pytest

from tremula.program.op import Phase
from tremula.program.work import Elementwise, MatMul


def extents(work):
    return work.rows, work.inner, work.columns, work.groups


def test_a_dense_layer_and_its_gradients(graph):
    x, w = graph.input(32, 100), graph.read(graph.variable(100, 10))
    y = graph("MatMul", x, w, shape=(32, 10))
    graph.phase = Phase.BACKWARD
    gradient = graph("OnesLike", y, shape=y.shape)
    dx = graph("MatMul", gradient, w, shape=(32, 100), transpose_b=True)
    dw = graph("MatMul", x, gradient, shape=(100, 10), transpose_a=True)
    lowered = graph.lower()
    assert [(extents(lowered[v.node].works[0]), lowered[v.node].works[0].role) for v in (y, dx, dw)] == [
        ((32, 100, 10, 1), "forward"),
        ((32, 10, 100, 1), "input_gradient"),
        ((100, 32, 10, 1), "weight_gradient"),
    ]


def test_a_weight_gradient_with_the_gradient_on_the_left_is_turned(graph):
    """Of y = x w^T the gradient of w is g^T x; the device's libraries have the input on the left."""
    x, w = graph.input(32, 100), graph.read(graph.variable(10, 100))
    y = graph("MatMul", x, w, shape=(32, 10), transpose_b=True)
    graph.phase = Phase.BACKWARD
    gradient = graph("Exp", y, shape=y.shape)
    dw = graph("MatMul", gradient, x, shape=(10, 100), transpose_a=True)
    work = graph.of(dw).works[0]
    assert (extents(work), work.role) == ((100, 32, 10, 1), "weight_gradient")


def test_one_right_operand_for_a_batch_is_one_product_of_more_rows(graph):
    x, w = graph.input(8, 16, 32), graph.read(graph.variable(32, 64))
    y = graph("BatchMatMulV2", x, w, shape=(8, 16, 64))
    assert extents(graph.of(y).works[0]) == (128, 32, 64, 1)


@pytest.mark.parametrize(
    ("equation", "left", "right", "made", "expected"),
    [
        ("abc,cde->abde", (2, 128, 768), (768, 12, 64), (2, 128, 12, 64), (256, 768, 768, 1)),
        ("aecd,abcd->acbe", (2, 128, 12, 64), (2, 100, 12, 64), (2, 12, 100, 128), (128, 64, 100, 24)),
        ("...ij,jk->...ik", (2, 3, 4, 5), (5, 6), (2, 3, 4, 6), (24, 5, 6, 1)),
        ("ij,ij->i", (4, 6), (4, 6), (4,), (1, 6, 1, 4)),
    ],
)
def test_einsum(graph, equation, left, right, made, expected):
    a, b = graph.input(*left), graph.input(*right)
    y = graph("Einsum", a, b, shape=made, equation=equation)
    assert extents(graph.of(y).works[0]) == expected


def test_an_einsum_that_sums_nothing_is_a_pass(graph):
    a, b = graph.input(4, 6), graph.input(4, 6)
    y = graph("Einsum", a, b, shape=(4, 6), equation="ij,ij->ij")
    (work,) = graph.of(y).works
    assert isinstance(work, Elementwise)


def test_an_einsum_of_one_operand_is_a_view_or_a_sum(graph):
    a = graph.input(4, 6)
    turned = graph("Einsum", a, shape=(6, 4), equation="ij->ji")
    summed = graph("Einsum", a, shape=(4,), equation="ij->i")
    lowered = graph.lower()
    assert lowered[turned.node].kind == "view"
    assert (lowered[summed.node].works[0].outer, lowered[summed.node].works[0].reduced) == (4, 6)


def test_roles_of_an_einsum_layer(graph):
    x, w = graph.input(2, 128, 768), graph.read(graph.variable(768, 12, 64))
    y = graph("Einsum", x, w, shape=(2, 128, 12, 64), equation="abc,cde->abde")
    graph.phase = Phase.BACKWARD
    gradient = graph("Exp", y, shape=y.shape)
    dx = graph("Einsum", gradient, w, shape=(2, 128, 768), equation="abde,cde->abc")
    dw = graph("Einsum", gradient, x, shape=(768, 12, 64), equation="abde,abc->cde")
    lowered = graph.lower()
    assert [lowered[v.node].works[0].role for v in (dx, dw)] == ["input_gradient", "weight_gradient"]
    assert extents(lowered[dw.node].works[0]) == (768, 256, 768, 1)


@pytest.mark.parametrize(
    ("dimension", "parts"),
    [("a_columns", (8, 100, 10)), ("a_rows_b_columns", (32, 25, 10)), ("b_rows", (32, 100, 3))],
)
def test_a_serialised_product_is_done_in_parts(graph, dimension, parts):
    x, w = graph.input(32, 100), graph.read(graph.variable(100, 10))
    y = graph(
        "MatMul",
        x,
        w,
        shape=(32, 10),
        facts={"serialization_factor": 4, "serialization_dimension": dimension},
    )
    works = graph.of(y).works
    products = [work for work in works if isinstance(work, MatMul)]
    assert [extents(work)[:3] for work in products] == [parts] * 4
    assert len(works) - len(products) == (3 if dimension == "a_rows_b_columns" else 0)


def test_a_bias_is_added_in_place(graph):
    x, w, b = graph.input(32, 100), graph.read(graph.variable(100, 10)), graph.read(graph.variable(10))
    y = graph("MatMul", x, w, shape=(32, 10))
    z = graph("BiasAdd", y, b, shape=(32, 10))
    graph("Relu", z, shape=(32, 10))
    added = graph.of(z)
    assert added.shares == (y.name,)
    assert added.works == (
        Elementwise("add", 320, operands=2, broadcast_elements=10, broadcast_inner=True, in_place=True),
    )


def test_a_product_that_something_else_reads_is_not_overwritten_by_its_bias(graph):
    x, b = graph.input(32, 10), graph.read(graph.variable(10))
    y = graph("MatMul", x, graph.input(10, 10), shape=(32, 10))
    z = graph("BiasAdd", y, b, shape=(32, 10))
    graph("Sum", y, graph.const([0]), shape=(10,))
    assert graph.of(z).shares == (None,)


@pytest.mark.parametrize(
    ("flags", "crossed"),
    [
        ({}, "right"),
        ({"adj_y": True}, ""),
        ({"adj_x": True}, "both"),
        ({"adj_x": True, "adj_y": True}, "left"),
    ],
)
def test_operands_of_a_batched_product_that_lie_against_the_grain(graph, flags, crossed):
    a, b = graph.input(6, 32, 32), graph.input(6, 32, 32)
    y = graph("BatchMatMulV2", a, b, shape=(6, 32, 32), **flags)
    assert graph.of(y).works[0].crossed == crossed


@pytest.mark.parametrize(
    ("equation", "crossed"),
    [("aecd,abcd->acbe", ""), ("acbe,aecd->abcd", "right"), ("acbe,abcd->aecd", "both")],
)
def test_operands_of_an_einsum_that_lie_against_the_grain(graph, equation, crossed):
    extents_of = {"a": 2, "b": 16, "c": 4, "d": 8, "e": 16}
    inputs, _, made = equation.partition("->")
    left, right, result = ([extents_of[letter] for letter in text] for text in (*inputs.split(","), made))
    y = graph("Einsum", graph.input(*left), graph.input(*right), shape=tuple(result), equation=equation)
    assert graph.of(y).works[0].crossed == crossed
