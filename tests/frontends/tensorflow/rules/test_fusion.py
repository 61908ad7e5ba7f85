"""Element-wise chains: one pass over the data, in the name of the last node."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tremula.frontends.tensorflow.capture.nodes import Block
from tremula.frontends.tensorflow.rules.fusion import MOST_INPUTS
from tremula.program.op import Phase
from tremula.program.work import Cast, Elementwise


def test_a_chain_is_one_pass(graph):
    x, y = graph.input(8, 16), graph.input(8, 16)
    product = graph("Mul", x, y, shape=(8, 16))
    made = graph("Tanh", product, shape=(8, 16))
    lowered = graph.lower()
    assert lowered[made.node].works == (Elementwise("mul+tanh", 128, operands=2),)
    assert lowered[made.node].reads == (x.name, y.name)
    fused = lowered[product.node]
    assert (fused.kind, fused.fused_into, fused.stored, fused.works) == ("fused", made.node.name, False, ())


def test_a_node_alone_is_a_pass_of_its_own(graph):
    made = graph("Relu", graph.input(8, 16), shape=(8, 16))
    assert graph.of(made).works == (Elementwise("relu", 128),)


def test_a_number_of_the_text_is_a_scalar_operand(graph):
    made = graph("Mul", graph.input(8, 16), graph.const(2.0), shape=(8, 16))
    assert graph.of(made).works == (Elementwise("mul", 128, operands=2, broadcast_elements=1),)


def test_what_two_passes_read_is_stored(graph):
    x = graph.input(8, 16)
    shared = graph("Exp", x, shape=(8, 16))
    graph("Sum", graph("Tanh", shared, shape=(8, 16)), graph.const([0]), shape=(16,))
    graph("Sum", graph("Sqrt", shared, shape=(8, 16)), graph.const([0]), shape=(16,))
    assert graph.of(shared).kind == "compute"


def test_what_one_pass_reads_twice_is_part_of_it(graph):
    x = graph("Exp", graph.input(8, 16), shape=(8, 16))
    gate = graph("Sigmoid", x, shape=(8, 16))
    made = graph("Mul", x, gate, shape=(8, 16))
    assert graph.of(made).works == (Elementwise("exp+sigmoid+mul", 128),)


def test_identities_and_shapes_do_not_cut_a_chain(graph):
    first = graph("Exp", graph.input(8, 16), shape=(8, 16))
    graph("Shape", first, shape=(2,), dtype="int32")
    made = graph("Tanh", graph("Identity", first, shape=(8, 16)), shape=(8, 16))
    assert graph.of(made).works == (Elementwise("exp+tanh", 128),)


def test_a_chain_goes_on_behind_one_of_several_identities(graph):
    first = graph("Exp", graph.input(8, 16), shape=(8, 16))
    given, _ = graph("IdentityN", first, graph.input(4), shapes=[(8, 16), (4,)])
    made = graph("Tanh", given, shape=(8, 16))
    assert graph.of(made).works == (Elementwise("exp+tanh", 128),)


def test_an_identity_that_is_a_result_keeps_its_input_in_memory(graph):
    first = graph("Exp", graph.input(8, 16), shape=(8, 16))
    given = graph("Identity", first, shape=(8, 16))
    last = graph("Tanh", given, shape=(8, 16))
    assert graph.of(first, results=[given, last]).kind == "compute"


def other_phase(graph):
    graph.phase = Phase.BACKWARD


def other_block(graph):
    graph.block = Block(None, trips=3)


@pytest.mark.parametrize("move", [other_phase, other_block])
def test_passes_do_not_cross_phases_and_blocks(graph, move):
    first = graph("Exp", graph.input(8, 16), shape=(8, 16))
    move(graph)
    made = graph("Tanh", first, shape=(8, 16))
    assert graph.of(made).works == (Elementwise("tanh", 128),)


def test_passes_do_not_cross_stages(graph):
    first = graph("Exp", graph.input(8, 16), shape=(8, 16))
    made = graph("Tanh", first, shape=(8, 16))
    made.node.stage = 1
    assert graph.of(made).works == (Elementwise("tanh", 128),)


def test_a_smaller_tensor_is_computed_before_it_is_repeated(graph):
    small = graph("Exp", graph.input(16), shape=(16,))
    made = graph("Mul", graph.input(8, 16), small, shape=(8, 16))
    lowered = graph.lower()
    assert lowered[small.node].works == (Elementwise("exp", 16),)
    assert lowered[made.node].works == (
        Elementwise("mul", 128, operands=2, broadcast_elements=16, broadcast_inner=True),
    )


def test_results_of_the_program_are_stored(graph):
    first = graph("Exp", graph.input(8, 16), shape=(8, 16))
    last = graph("Tanh", first, shape=(8, 16))
    assert graph.of(first, results=[first, last]).kind == "compute"


def test_expressions_are_bounded(graph):
    total = graph.input(8, 16)
    for _ in range(3 * MOST_INPUTS):
        total = graph("AddV2", total, graph.input(8, 16), shape=(8, 16))
    works = [work for each in graph.lower().values() for work in each.works]
    assert len(works) > 1
    assert max(work.operands for work in works) <= MOST_INPUTS
    assert sum(work.operation.count("add") for work in works) == 3 * MOST_INPUTS


def test_casts_are_part_of_a_pass(graph):
    x = graph.input(8, 16, dtype="fp16")
    wide = graph("Cast", x, shape=(8, 16), dtype="fp32")
    made = graph("Exp", wide, shape=(8, 16))
    narrow = graph("Cast", made, shape=(8, 16), dtype="fp16")
    assert graph.of(narrow).works == (Elementwise("exp", 128, "fp32", output_dtype="fp16"),)


def test_a_cast_alone_is_a_cast_or_a_view(graph):
    x = graph.input(8, 16)
    half = graph("Cast", x, shape=(8, 16), dtype="fp16")
    same = graph("Cast", graph.input(4, dtype="int32"), shape=(4,), dtype="int32")
    lowered = graph.lower()
    assert lowered[half.node].works == (Cast(128, "fp32", "fp16"),)
    assert lowered[same.node].kind == "view"


def test_a_comparison_is_done_in_the_type_of_its_operands(graph):
    made = graph("Greater", graph.input(8, 16), graph.const(0.0), shape=(8, 16), dtype="bool")
    (work,) = graph.of(made).works
    assert (work.operation, work.dtype, work.output_dtype) == ("gt", "fp32", "bool")


def test_a_transposed_operand_is_rearranged_for_a_pass_but_not_for_a_product(graph):
    x = graph.input(16, 8)
    turned = graph("Transpose", x, graph.const([1, 0]), shape=(8, 16))
    added = graph("AddV2", graph.input(8, 16), turned, shape=(8, 16))
    product = graph("MatMul", turned, graph.input(16, 4), shape=(8, 4))
    lowered = graph.lower()
    assert lowered[turned.node].kind == "view"
    assert [type(work).__name__ for work in lowered[added.node].works] == ["Copy", "Elementwise"]
    assert [type(work).__name__ for work in lowered[product.node].works] == ["MatMul"]


def test_a_sum_of_several_is_one_pass(graph):
    made = graph("AddN", *[graph.input(8, 16) for _ in range(4)], shape=(8, 16))
    assert graph.of(made).works == (Elementwise("add+add+add", 128, operands=4),)


@pytest.mark.parametrize(("exponent", "operation"), [(2.0, "square"), (0.5, "sqrt"), (1.7, "pow")])
def test_powers(graph, exponent, operation):
    made = graph("Pow", graph.input(8, 16), graph.const(exponent), shape=(8, 16))
    assert graph.of(made).works[0].operation == operation


@st.composite
def programs(draw):
    """Steps of a random program: what is done to which of the values made so far."""
    kinds = st.sampled_from(
        ["Exp", "Tanh", "AddV2", "Mul", "Identity", "MatMul", "Transpose", "Sum", "assign"]
    )
    steps = draw(st.lists(st.tuples(kinds, st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=25))
    return steps, draw(st.integers(0, 9))


@given(programs())
def test_no_pass_loses_work_or_reads_what_was_never_stored(new_graph, drawn):
    steps, kept = drawn
    graph = new_graph()
    values = [graph.input(8, 8)]
    for kind, one, other in steps:
        x, y = (values[-1 - number % len(values)] for number in (one, other))
        if kind == "assign":
            graph("AssignAddVariableOp", graph.variable(8, 8), x)
            continue
        if kind == "Sum":
            graph("Sum", x, graph.const([0]), shape=(8,))
            continue
        inputs = {"AddV2": (x, y), "Mul": (x, y), "MatMul": (x, y), "Transpose": (x, graph.const([1, 0]))}
        values.append(graph(kind, *inputs.get(kind, (x,)), shape=(8, 8)))
    results = [values[-1 - kept % len(values)]]
    lowered = graph.lower(results)
    stored = {}
    for node, each in lowered.items():
        assert len(each.shares) == len(node.outputs)
        for value, shared in zip(node.outputs, each.shares, strict=True):
            stored[value.name] = each.stored if shared is None else stored.get(shared, True)
    assert all(stored.get(name, True) for each in lowered.values() for name in each.reads)
    assert all(stored[value.name] for value in results)
    done = Counter(
        name
        for each in lowered.values()
        for work in each.works
        if isinstance(work, Elementwise)
        for name in work.operation.split("+")
    )
    names = {"Exp": "exp", "Tanh": "tanh", "AddV2": "add", "Mul": "mul", "AssignAddVariableOp": "add"}
    wanted = Counter(
        names[node.type]
        for node in graph.nodes
        if node.type in names and not (lowered[node].kind == "hint" and not lowered[node].stored)
    )
    assert done == wanted
