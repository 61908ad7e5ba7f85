"""Views, copies and constants: nothing moves unless it has to."""

import pytest

from tremula.program.work import Copy, Fill, Gather


def test_a_read_of_a_variable_is_the_variable(graph):
    variable = graph.variable(4, 6)
    lowered = graph.of(graph.read(variable))
    assert (lowered.kind, lowered.shares, lowered.reads) == ("view", (variable.name,), ())


@pytest.mark.parametrize(
    ("kind", "shape", "inputs"),
    [
        ("Reshape", (24,), [[24]]),
        ("ExpandDims", (1, 4, 6), [0]),
        ("Transpose", (6, 4), [[1, 0]]),
        ("StridedSlice", (2, 6), [[0, 0], [4, 6], [2, 1]]),
        ("Slice", (2, 6), [[1, 0], [2, 6]]),
        ("BroadcastTo", (3, 4, 6), [[3, 4, 6]]),
    ],
)
def test_views_share_the_memory_of_their_input(graph, kind, shape, inputs):
    x = graph.input(4, 6)
    made = graph(kind, x, *[graph.const(content) for content in inputs], shape=shape)
    lowered = graph.of(made)
    assert (lowered.kind, lowered.works, lowered.shares) == ("view", (), (x.name,))


def test_parts_share_the_memory_of_the_whole(graph):
    x = graph.input(4, 6)
    halves = graph("Split", graph.const(1), x, shapes=[(4, 3), (4, 3)], dtype="fp32")
    rows = graph("Unpack", x, shapes=[(6,)] * 4, axis=0)
    lowered = graph.lower()
    assert lowered[halves[0].node].shares == (x.name, x.name)
    assert lowered[rows[0].node].shares == (x.name,) * 4


def test_a_reshape_across_a_transpose_is_a_copy_unless_a_product_reads_it(graph):
    x = graph.input(2, 12, 128, 64)
    turned = graph("Transpose", x, graph.const([0, 2, 1, 3]), shape=(2, 128, 12, 64))
    for_product = graph("Reshape", turned, graph.const([256, 768]), shape=(256, 768))
    graph("MatMul", for_product, graph.input(768, 8), shape=(256, 8))
    for_pass = graph("Reshape", turned, graph.const([256, 768]), shape=(256, 768))
    graph("Exp", for_pass, shape=(256, 768))
    lowered = graph.lower()
    assert lowered[for_product.node].kind == "view"
    assert lowered[for_pass.node].works == (Copy(196608, contiguous=64),)


def test_a_slice_at_a_place_that_is_data_is_looked_up(graph):
    x, place = graph.input(100, 6), graph.input(2, dtype="int32")
    made = graph("Slice", x, place, graph.const([1, 6]), shape=(1, 6))
    assert graph.of(made).works == (Gather(100, 6, 1),)


def test_strides_of_slices_count_at_the_consumer(graph):
    """Every second column of a transposed tensor is still transposed."""
    x = graph.input(6, 4)
    turned = graph("Transpose", x, graph.const([1, 0]), shape=(4, 6))
    cut = graph(
        "StridedSlice", turned, graph.const([0, 0]), graph.const([4, 6]), graph.const([1, 2]), shape=(4, 3)
    )
    made = graph("AddV2", graph.input(4, 3), cut, shape=(4, 3))
    assert [type(work).__name__ for work in graph.of(made).works] == ["Copy", "Elementwise"]


def test_shapes_are_constants_and_so_is_what_follows_from_them(graph):
    x = graph.input(4, 6)
    shape = graph("Shape", x, shape=(2,), dtype="int32")
    doubled = graph("Mul", shape, graph.const(2), shape=(2,))
    ones = graph("Fill", doubled, graph.const(1.0), shape=(8, 12), dtype="fp32")
    lowered = graph.lower()
    assert [lowered[value.node].kind for value in (shape, doubled, ones)] == ["constant"] * 3
    assert not lowered[ones.node].stored


def test_what_depends_on_a_variable_or_a_draw_is_no_constant(graph):
    drawn = graph("RandomUniform", graph.const([4, 6]), shape=(4, 6), dtype="fp32")
    grown = graph("Exp", graph.read(graph.variable(4, 6)), shape=(4, 6))
    index = graph("Identity", graph.const(0), shape=(), _tremula_collective="index:0")
    lowered = graph.lower()
    assert [lowered[value.node].kind for value in (drawn, grown, index)] == ["compute", "compute", "view"]


def test_a_concatenation_moves_pieces(graph):
    made = graph("ConcatV2", graph.input(4, 6), graph.input(4, 2), graph.const(1), shape=(4, 8))
    stacked = graph("Pack", graph.input(4, 6), graph.input(4, 6), shape=(2, 4, 6), axis=0)
    lowered = graph.lower()
    assert lowered[made.node].works == (Copy(32, contiguous=2),)
    assert lowered[stacked.node].works == (Copy(48, contiguous=24),)


def test_the_gradient_of_a_slice_is_put_into_zeros(graph):
    gradient = graph.input(2, 6)
    sizes = [graph.const([4, 6]), graph.const([0, 0]), graph.const([2, 6]), graph.const([1, 1])]
    made = graph("StridedSliceGrad", *sizes, gradient, shape=(4, 6), dtype="fp32")
    assert graph.of(made).works == (Fill(24), Copy(12, contiguous=6))


def test_a_tile_of_single_elements_is_a_view(graph):
    column = graph("Tile", graph.input(4, 1), graph.const([1, 6]), shape=(4, 6))
    rows = graph("Tile", graph.input(4, 6), graph.const([2, 1]), shape=(8, 6))
    lowered = graph.lower()
    assert lowered[column.node].kind == "view"
    assert lowered[rows.node].works == (Copy(48, contiguous=24),)


def test_what_nobody_needs_is_left_out(graph):
    x = graph.input(4, 6)
    wanted = graph("Exp", x, shape=(4, 6))
    unused = graph("Tanh", x, shape=(4, 6))
    written = graph("AssignAddVariableOp", graph.variable(4, 6), x)
    lowered = graph.lower(results=[wanted])
    assert (lowered[unused.node].kind, lowered[unused.node].works) == ("hint", ())
    assert lowered[wanted.node].works
    assert lowered[written].works
    assert graph.lower()[unused.node].works, "without known results nothing is left out"


def test_feeds_and_the_host(graph):
    x = graph.input(4, 6)
    sent = graph("QueueEnqueueV2", graph.const(0), x)
    called = graph("EagerPyFunc", x, shape=(4, 6))
    lowered = graph.lower()
    assert lowered[x.node].kind == "hint"
    assert (lowered[sent].kind, lowered[sent].reads) == ("hint", (x.name,))
    assert lowered[called.node].kind == "host"


def test_lists_of_a_loop(graph):
    rows = graph("TensorListReserve", graph.const([8, 4]), graph.const(10), shape=(10, 8, 4), dtype="fp32")
    row, step = graph.input(8, 4), graph.input(dtype="int32")
    written = graph("TensorListSetItem", rows, step, row, shape=(10, 8, 4))
    read = graph("TensorListGetItem", written, step, graph.const([8, 4]), shape=(8, 4))
    stacked = graph("TensorListStack", written, graph.const([8, 4]), shape=(10, 8, 4))
    lowered = graph.lower()
    assert lowered[rows.node].kind == "hint"
    assert (lowered[written.node].works, lowered[written.node].shares) == (
        (Copy(32, contiguous=32),),
        (rows.name,),
    )
    assert lowered[read.node].works == (Copy(32, contiguous=32),)
    assert (lowered[stacked.node].kind, lowered[stacked.node].shares) == ("view", (written.name,))
