"""Layers and losses: norms, softmax, pools, lookups, reductions, draws, composites of the package."""

import pytest

from tremula.program.op import Phase
from tremula.program.work import (
    Elementwise,
    Fill,
    Gather,
    Norm,
    Pool,
    Random,
    Recurrent,
    Reduction,
    Scatter,
    Softmax,
    Sort,
)


@pytest.mark.parametrize(("layout", "shape"), [("NHWC", (4, 8, 8, 16)), ("NCHW", (4, 16, 8, 8))])
def test_batch_norm_in_both_layouts(graph, layout, shape):
    x = graph.input(*shape)
    parameters = [graph.read(graph.variable(16)) for _ in range(4)]
    y, *_ = graph(
        "FusedBatchNormV3", x, *parameters, shapes=[shape, (16,), (16,)], data_format=layout, is_training=True
    )
    graph.phase = Phase.BACKWARD
    gradient = graph("Exp", y, shape=shape)
    dx, *_ = graph(
        "FusedBatchNormGradV3", gradient, x, parameters[0], shapes=[shape, (16,), (16,)], data_format=layout
    )
    lowered = graph.lower()
    assert lowered[y.node].works == (Norm("batch", 256, 16, 16),)
    assert lowered[dx.node].works == (Norm("batch", 256, 16, 16, gradient=True),)


def test_a_batch_norm_that_keeps_its_statistics_changes_them_in_place(graph):
    x, (mean, variance) = graph.input(4, 8, 8, 16), (graph.variable(16), graph.variable(16))
    scale = graph.read(graph.variable(16))
    y, new, _ = graph(
        "FusedBatchNormV3", x, scale, scale, graph.read(mean), graph.read(variance), data_format="NHWC",
        is_training=True, exponential_avg_factor=0.01, shapes=[(4, 8, 8, 16), (16,), (16,)],
    )  # fmt: skip
    assigned = graph("AssignVariableOp", mean, new)
    lowered = graph.lower()
    axpby = Elementwise("axpby", 16, operands=2, in_place=True)
    assert lowered[y.node].works == (Norm("batch", 256, 16, 16), axpby, axpby)
    assert lowered[assigned].works == ()


def test_layer_norm_as_keras_writes_it(graph):
    x, one = graph.input(1, 256, 768, 1), graph("Fill", graph.const([256]), graph.const(1.0), shape=(256,))
    y, *_ = graph(
        "FusedBatchNormV3", x, one, one, one, one, shapes=[(1, 256, 768, 1), (256,), (256,)], data_format="NCHW",
        is_training=True,
    )  # fmt: skip
    assert graph.of(y).works == (Norm("layer", 768, 256, 0),)


def test_the_gradient_of_a_softmax_is_one_op(graph):
    x, gradient = graph.input(12, 128), graph.input(12, 128)
    s = graph("Softmax", x, shape=(12, 128))
    graph.phase = Phase.BACKWARD
    weighted = graph("Mul", gradient, s, shape=(12, 128))
    total = graph("Sum", weighted, graph.const([-1]), shape=(12, 1), keep_dims=True)
    difference = graph("Sub", gradient, total, shape=(12, 128))
    made = graph("Mul", difference, s, shape=(12, 128))
    lowered = graph.lower()
    assert lowered[made.node].works == (Softmax(12, 128, gradient=True),)
    assert lowered[made.node].reads == (gradient.name, s.name)
    assert [lowered[v.node].fused_into for v in (weighted, total, difference)] == [made.node.name] * 3


def test_the_same_ops_on_something_else_stay_what_they_are(graph):
    s, gradient = graph.input(12, 128), graph.input(12, 128)
    weighted = graph("Mul", gradient, s, shape=(12, 128))
    total = graph("Sum", weighted, graph.const([-1]), shape=(12, 1))
    made = graph("Mul", graph("Sub", gradient, total, shape=(12, 128)), s, shape=(12, 128))
    lowered = graph.lower()
    assert isinstance(lowered[total.node].works[0], Reduction)
    assert lowered[made.node].works[0].operation == "sub+mul"


@pytest.mark.parametrize("gradient_is_read", [False, True])
def test_sparse_cross_entropy(graph, gradient_is_read):
    logits, labels = graph.input(32, 10), graph.input(32, dtype="int32")
    loss, gradient = graph("SparseSoftmaxCrossEntropyWithLogits", logits, labels, shapes=[(32,), (32, 10)])
    if gradient_is_read:
        graph("Exp", gradient, shape=(32, 10))
    works = graph.of(loss).works
    assert works[0] == Softmax(32, 10, logarithm=True)
    assert works[2] == Reduction(32, 10, 1)
    assert len(works) == (4 if gradient_is_read else 3)


@pytest.mark.parametrize(("layout", "shape"), [("NHWC", (2, 8, 8, 16)), ("NCHW", (2, 16, 8, 8))])
def test_pools(graph, layout, shape):
    window = [1, 2, 2, 1] if layout == "NHWC" else [1, 1, 2, 2]
    small = tuple(n // k for n, k in zip(shape, window, strict=True))
    attributes = {"ksize": window, "strides": window, "padding": "VALID", "data_format": layout}
    x = graph.input(*shape)
    y = graph("MaxPool", x, shape=small, **attributes)
    dx = graph("MaxPoolGrad", x, y, y, shape=shape, **attributes)
    mean = graph("AvgPoolGrad", graph.const(shape), y, shape=shape, dtype="fp32", **attributes)
    lowered = graph.lower()
    assert lowered[y.node].works == (Pool("max", 2, 16, (8, 8), (2, 2), (2, 2)),)
    assert lowered[dx.node].works == (Pool("max", 2, 16, (8, 8), (2, 2), (2, 2), gradient=True),)
    assert lowered[mean.node].works == (Pool("average", 2, 16, (8, 8), (2, 2), (2, 2), gradient=True),)


def test_lookups(graph):
    table, index = graph.variable(1000, 32), graph.input(4, 7, dtype="int32")
    rows = graph("ResourceGather", table, index, shape=(4, 7, 32), dtype="fp32")
    parts = graph(
        "ResourceGather", table, index, shape=(4, 7, 32), dtype="fp32", facts={"serialization_factor": 4}
    )
    summed = graph("UnsortedSegmentSum", rows, index, graph.const(1000), shape=(1000, 32))
    added = graph("ResourceScatterAdd", table, index, rows)
    columns = graph(
        "GatherV2", graph.input(8, 50), graph.input(3, dtype="int32"), graph.const(1), shape=(8, 3)
    )
    lowered = graph.lower()
    assert lowered[rows.node].works == (Gather(1000, 32, 28),)
    assert lowered[parts.node].works[:4] == (Gather(250, 32, 28),) * 4
    assert lowered[summed.node].works == (Fill(32000), Scatter(1000, 32, 28))
    assert lowered[added].works == (Scatter(1000, 32, 28),)
    assert lowered[columns.node].works == (Gather(50, 8, 3),)


def test_reductions(graph):
    x = graph.input(4, 8, 8, 16)
    mean = graph("Mean", x, graph.const([1, 2]), shape=(4, 16))
    best = graph("ArgMax", x, graph.const(-1), shape=(4, 8, 8), dtype="int32")
    nothing = graph("Sum", graph.input(4, 1), graph.const([1]), shape=(4,))
    highest, _ = graph("TopKV2", graph.input(4, 100), graph.const(5), shapes=[(4, 5), (4, 5)])
    lowered = graph.lower()
    assert lowered[mean.node].works == (Reduction(4, 64, 16),)
    assert lowered[best.node].works == (Reduction(256, 16, 1, operation="argmax"),)
    assert lowered[nothing.node].kind == "view"
    assert lowered[highest.node].works == (Sort(4, 100, k=5),)


def test_draws(graph):
    uniform = graph("StatelessRandomUniformV2", graph.const([4, 6]), shape=(4, 6), dtype="fp32")
    normal = graph("RandomStandardNormal", graph.const([4, 6]), shape=(4, 6), dtype="fp16")
    cut = graph("TruncatedNormal", graph.const([4, 6]), shape=(4, 6), dtype="fp32")
    lowered = graph.lower()
    assert lowered[uniform.node].works == (Random("uniform", 24),)
    assert lowered[normal.node].works == (Random("normal", 24, "fp16"),)
    assert lowered[cut.node].works == (Random("truncated_normal", 24),)


@pytest.mark.parametrize("phase", [Phase.FORWARD, Phase.BACKWARD])
def test_composites(graph, phase):
    gradient = phase is Phase.BACKWARD
    x = graph.input(20, 8, 32, dtype="fp16")
    graph.phase = phase
    sizes = {"steps": 20, "batch": 8, "inputs": 32, "hidden": 64}
    lstm = graph("tremula.Lstm", x, shape=(20, 8, 64), **sizes, facts={"partials_dtype": "fp32"})
    norm = graph("tremula.Norm", x, shape=x.shape, kind="group", groups=4, channels=32, training=True)
    dropout = graph("tremula.Dropout", x, shape=x.shape)
    gelu = graph("tremula.Gelu", x, shape=x.shape)
    softmax = graph("tremula.Softmax", x, shape=x.shape)
    lowered = graph.lower(partials="fp16")
    assert lowered[lstm.node].works == (Recurrent("lstm", 20, 8, 32, 64, "fp16", "fp32", gradient=gradient),)
    assert lowered[norm.node].works == (Norm("group", 64, 80, 32, "fp16", gradient=gradient),)
    assert lowered[dropout.node].works == (Random("dropout", 5120, "fp16"),)
    assert lowered[gelu.node].works[0].operation == ("gelu_gradient" if gradient else "gelu")
    assert lowered[softmax.node].works == (Softmax(160, 32, "fp16", gradient=gradient),)
