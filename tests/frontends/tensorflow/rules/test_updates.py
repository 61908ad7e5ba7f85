"""Variables written: assignments end passes, and optimizers cost the same as ops or as one op."""

import pytest

from tremula.program.op import Phase
from tremula.program.work import Copy, Elementwise, Gather, Scatter


@pytest.fixture
def update(graph):
    """A gradient and the phase of the update."""
    gradient = graph("MatMul", graph.input(64, 8), graph.input(8, 32), shape=(64, 32))
    graph.phase = Phase.UPDATE
    return gradient


def test_an_assignment_ends_a_pass_in_place(graph, update):
    moment = graph.variable(64, 32)
    difference = graph("Sub", update, graph.read(moment), shape=(64, 32))
    scaled = graph("Mul", difference, graph.const(0.1), shape=(64, 32))
    node = graph("AssignAddVariableOp", moment, scaled)
    lowered = graph.lower()[node]
    assert lowered.works == (Elementwise("sub+mul+add", 2048, operands=2, in_place=True),)
    assert set(lowered.reads) >= {update.name, moment.name}
    assert lowered.shares == ()


def test_adam_as_small_ops_costs_what_the_op_costs(graph, update):
    """Keras writes m += (g - m) (1 - b1), v += (g^2 - v) (1 - b2), w -= m alpha / (sqrt(v) + epsilon)."""
    w, m, v = (graph.variable(64, 32) for _ in range(3))
    number = graph.const(0.1)

    def op(kind, *inputs):
        return graph(kind, *inputs, shape=(64, 32))

    nodes = [
        graph("AssignAddVariableOp", m, op("Mul", op("Sub", update, graph.read(m)), number)),
        graph("AssignAddVariableOp", v, op("Mul", op("Sub", op("Square", update), graph.read(v)), number)),
    ]
    scaled = op("Mul", graph.read(m), graph.read(graph.variable()))
    step = op("RealDiv", scaled, op("AddV2", op("Sqrt", graph.read(v)), number))
    nodes.append(graph("AssignSubVariableOp", w, step))
    fused = graph("ResourceApplyAdam", w, m, v, *[graph.const(0.1) for _ in range(6)], update)
    lowered = graph.lower()
    small = [work for node in nodes for work in lowered[node].works]
    whole = lowered[fused].works
    assert [(sorted(work.operation.split("+")), work.operands, work.in_place) for work in small] == [
        (sorted(work.operation.split("+")), work.operands, work.in_place) for work in whole
    ]


def test_a_state_that_is_assigned_and_read_is_made_in_its_own_memory(graph, update):
    """TensorFlow 1 writes new = m b + g (1 - b); assign(m, new); w -= new."""
    w, m = graph.variable(64, 32), graph.variable(64, 32)
    kept = graph("Mul", graph.read(m), graph.const(0.9), shape=(64, 32))
    new = graph("AddV2", kept, update, shape=(64, 32))
    assigned = graph("AssignVariableOp", m, new)
    stepped = graph("AssignSubVariableOp", w, new)
    lowered = graph.lower()
    assert lowered[new.node].shares == (m.name,)
    assert lowered[new.node].works == (Elementwise("mul+add", 2048, operands=2, in_place=True),)
    assert lowered[assigned].works == ()
    assert lowered[stepped].works == (Elementwise("sub", 2048, operands=2, in_place=True),)


def test_what_no_pass_makes_is_copied_into_the_variable(graph, update):
    node = graph("AssignVariableOp", graph.variable(64, 32), update)
    lowered = graph.lower()[node]
    assert (lowered.kind, lowered.reads) == ("copy", (update.name,))
    assert isinstance(lowered.works[0], Copy)


def test_a_gradient_is_scaled_on_the_way_into_the_update(graph, update):
    w = graph.variable(64, 32)
    scaled = graph("Mul", update, graph.const(0.5), shape=(64, 32))
    node = graph("ResourceApplyGradientDescent", w, graph.const(0.1), scaled)
    lowered = graph.lower()
    assert lowered[node].works == (Elementwise("mul+mul+sub", 2048, operands=2, in_place=True),)
    assert lowered[scaled.node].fused_into == node.name


def test_momentum_and_its_nesterov_form(graph, update):
    w, m, number = graph.variable(64, 32), graph.variable(64, 32), graph.const(0.1)
    plain = graph("ResourceApplyMomentum", w, m, number, update, number, use_nesterov=False)
    nesterov = graph("ResourceApplyMomentum", w, m, number, update, number, use_nesterov=True)
    lowered = graph.lower()
    assert [work.operands for work in lowered[plain].works] == [2, 2]
    assert [work.operands for work in lowered[nesterov].works] == [2, 3]


def test_a_sparse_update_touches_rows(graph, update):
    w, state = graph.variable(1000, 32), graph.variable(1000, 32)
    number, rows = graph.const(0.1), graph.input(64, dtype="int32")
    node = graph("ResourceSparseApplyAdagradV2", w, state, number, number, update, rows)
    works = graph.lower()[node].works
    assert [(work.entries, work.width, work.lookups) for work in works if isinstance(work, Gather)] == [
        (1000, 32, 64)
    ] * 2
    assert [work.updates for work in works if isinstance(work, Scatter)] == [64, 64]
    assert {work.elements for work in works if isinstance(work, Elementwise)} == {64 * 32}


def test_the_same_number_is_computed_once(graph):
    """Keras computes the corrected learning rate for each variable anew."""
    graph.phase = Phase.UPDATE
    step, written = graph.variable(), graph.variable()

    def corrected():
        power = graph("Pow", graph.const(0.9), graph.read(step), shape=())
        return graph("Sqrt", power, shape=())

    first, again = corrected(), corrected()
    weights = [graph.variable(8, 8) for _ in range(2)]
    for w, rate in zip(weights, (first, again), strict=True):
        graph("AssignSubVariableOp", w, graph("Mul", graph.read(w), rate, shape=(8, 8)))
    graph("AssignAddVariableOp", step, graph.const(1.0))
    later = corrected()
    graph("AssignVariableOp", written, later)
    lowered = graph.lower()
    assert lowered[first.node].works == (Elementwise("pow+sqrt", 1, operands=1),)
    assert (lowered[again.node].kind, lowered[again.node].shares) == ("view", (first.name,))
    assert lowered[later.node].kind == "fused", "the variable was written in between"


def test_accumulation_is_a_scaled_addition(graph, update):
    graph.phase = Phase.ACCUMULATE
    node = graph("AssignAddVariableOp", graph.variable(64, 32), update)
    assert graph.lower()[node].works == (Elementwise("scaled_add", 2048, operands=2, in_place=True),)


def test_a_counter_is_one_element(graph):
    node = graph("AssignAddVariableOp", graph.variable(dtype="int32"), graph.const(1))
    (work,) = graph.lower()[node].works
    assert (work.elements, work.dtype) == (1, "int32")
