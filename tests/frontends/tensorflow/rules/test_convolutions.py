"""Convolutions and their gradients: the extents of the work are those that TensorFlow's shapes say."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tremula.program.op import Phase
from tremula.program.work import Convolution


def output_extent(n, k, s, d, padding):
    return math.ceil(n / s) if padding == "SAME" else (n - (k - 1) * d - 1) // s + 1


@st.composite
def layers(draw):
    dims = draw(st.sampled_from([2, 3]))
    kernel, stride, dilation = draw(st.integers(1, 4)), draw(st.integers(1, 3)), draw(st.integers(1, 2))
    padding = draw(st.sampled_from(["SAME", "VALID"]))
    field = [draw(st.integers((kernel - 1) * dilation + 1, 12)) for _ in range(dims)]
    return {
        "dims": dims, "kernel": kernel, "stride": stride, "dilation": dilation, "padding": padding, "field": field,
        "first": draw(st.booleans()), "groups": draw(st.sampled_from([1, 2])), "batch": draw(st.integers(1, 3)),
    }  # fmt: skip


@given(layers())
def test_forward_and_gradients_have_the_extents_of_their_results(new_graph, drawn):
    graph = new_graph()
    dims, groups, first = drawn["dims"], drawn["groups"], drawn["first"]
    made = [
        output_extent(n, drawn["kernel"], drawn["stride"], drawn["dilation"], drawn["padding"])
        for n in drawn["field"]
    ]
    channels, out = 4 * groups, 6 * groups

    def laid_out(depth, field):
        return (drawn["batch"], depth, *field) if first else (drawn["batch"], *field, depth)

    def listed(value):
        return [1, 1, *[value] * dims] if first else [1, *[value] * dims, 1]

    attributes = {
        "data_format": ("NCHW" if dims == 2 else "NCDHW") if first else ("NHWC" if dims == 2 else "NDHWC"),
        "strides": listed(drawn["stride"]),
        "dilations": listed(drawn["dilation"]),
        "padding": drawn["padding"],
    }
    kinds = {
        2: ("Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"),
        3: ("Conv3D", "Conv3DBackpropInputV2", "Conv3DBackpropFilterV2"),
    }[dims]
    x = graph.input(*laid_out(channels, drawn["field"]))
    weights = (*[drawn["kernel"]] * dims, channels // groups, out)
    w = graph.read(graph.variable(*weights))
    y = graph(kinds[0], x, w, shape=laid_out(out, made), **attributes)
    graph.phase = Phase.BACKWARD
    gradient = graph("OnesLike", y, shape=y.shape)
    of_input = graph(kinds[1], graph.const(x.shape), w, gradient, shape=x.shape, dtype="fp32", **attributes)
    of_filter = graph(kinds[2], x, graph.const(weights), gradient, shape=weights, **attributes)
    lowered = graph.lower()
    forward, inputs, filters = (lowered[v.node].works[0] for v in (y, of_input, of_filter))
    assert forward.output_field == tuple(made)
    assert (forward.batch, forward.in_channels, forward.out_channels, forward.groups) == (
        drawn["batch"], channels // groups, out // groups, groups
    )  # fmt: skip
    assert inputs.output_field == tuple(drawn["field"])
    assert filters.output_field == (drawn["kernel"],) * dims
    assert [work.role for work in (forward, inputs, filters)] == [
        "forward",
        "input_gradient",
        "weight_gradient",
    ]


def test_same_padding_puts_the_odd_element_behind(graph):
    x, w = graph.input(1, 8, 8, 3), graph.read(graph.variable(2, 2, 3, 4))
    y = graph("Conv2D", x, w, shape=(1, 8, 8, 4), padding="SAME", strides=[1, 1, 1, 1])
    assert graph.of(y).works[0].padding == ((0, 1), (0, 1))


def test_explicit_padding(graph):
    x, w = graph.input(1, 3, 8, 8), graph.read(graph.variable(3, 3, 3, 4))
    y = graph(
        "Conv2D", x, w, shape=(1, 4, 10, 9), padding="EXPLICIT", strides=[1, 1, 1, 1], data_format="NCHW",
        explicit_paddings=[0, 0, 0, 0, 2, 2, 1, 2],
    )  # fmt: skip
    work = graph.of(y).works[0]
    assert work.padding == ((2, 2), (1, 2))
    assert work.output_field == (10, 9)


def test_a_depthwise_convolution_has_a_group_for_each_channel(graph):
    x, w = graph.input(2, 8, 8, 16), graph.read(graph.variable(3, 3, 16, 2))
    y = graph("DepthwiseConv2dNative", x, w, shape=(2, 6, 6, 32), padding="VALID", strides=[1, 1, 1, 1])
    work = graph.of(y).works[0]
    assert (work.groups, work.in_channels, work.out_channels) == (16, 1, 2)


def test_an_input_gradient_in_the_forward_pass_is_a_transposed_convolution(graph):
    x, w = graph.input(1, 4, 4, 8), graph.read(graph.variable(2, 2, 3, 8))
    y = graph(
        "Conv2DBackpropInput", graph.const([1, 8, 8, 3]), w, x, shape=(1, 8, 8, 3), dtype="fp32", padding="SAME",
        strides=[1, 2, 2, 1],
    )  # fmt: skip
    work = graph.of(y).works[0]
    assert (work.role, work.field, work.output_field, work.input_dilation) == (
        "forward",
        (4, 4),
        (8, 8),
        (2, 2),
    )


@pytest.mark.parametrize("read_elsewhere", [False, True])
def test_zeros_around_the_field_of_a_convolution_are_its_padding(graph, read_elsewhere):
    x, w = graph.input(1, 224, 224, 3), graph.read(graph.variable(7, 7, 3, 64))
    padded = graph("Pad", x, graph.const([[0, 0], [3, 3], [3, 3], [0, 0]]), shape=(1, 230, 230, 3))
    y = graph("Conv2D", padded, w, shape=(1, 112, 112, 64), padding="VALID", strides=[1, 2, 2, 1])
    if read_elsewhere:
        graph("Sum", padded, graph.const([0, 1, 2, 3]), shape=())
    lowered = graph.lower()
    work = lowered[y.node].works[0]
    assert work.output_field == (112, 112)
    assert (lowered[padded.node].kind, work.field) == (
        ("copy", (230, 230)) if read_elsewhere else ("view", (224, 224))
    )


def test_options_of_the_user(graph):
    x, w = graph.input(1, 8, 8, 16, dtype="fp16"), graph.read(graph.variable(3, 3, 16, 16, dtype="fp16"))
    attributes = {"shape": (1, 6, 6, 16), "padding": "VALID", "strides": [1, 1, 1, 1]}
    plain = graph("Conv2D", x, w, **attributes)
    own = graph("Conv2D", x, w, **attributes, facts={"options": '{"availableMemoryProportion": "0.2"}'})
    group = graph(
        "Conv2D", x, w, **attributes, facts={"multi_conv": 3, "multi_conv_options": {"partialsType": "half"}}
    )
    lowered = graph.lower(partials="fp16", convolution_partials="fp32", proportions={0: 0.4})
    work: Convolution = lowered[plain.node].works[0]
    assert (work.dtype, work.partials, work.proportion) == ("fp16", "fp32", 0.4)
    assert lowered[own.node].works[0].proportion == 0.2
    assert lowered[group.node].works[0].partials == "fp16"


def test_the_gradient_of_a_bias(graph):
    gradient = graph.input(4, 8, 8, 16)
    made = graph("BiasAddGrad", gradient, shape=(16,))
    work = graph.of(made).works[0]
    assert (work.outer, work.reduced, work.inner) == (1, 256, 16)
