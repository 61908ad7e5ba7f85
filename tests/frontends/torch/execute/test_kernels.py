"""Other forms of 3D convolutions give the original's numbers; the graph is rewritten only where one has won."""

import operator
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import fx
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

from tremula.frontends.torch.execute import convolution_forms, kernels
from tremula.frontends.torch.execute.compile_request import cxx_compiler
from tremula.frontends.torch.execute.convolution_forms import Problem
from tremula.frontends.torch.package import allowed_ops

ATEN = torch.ops.aten
MASKS = [
    (True, True, True),
    (True, False, False),
    (False, True, False),
    (False, True, True),
    (False, False, True),
    (True, False, True),
]


@st.composite
def problems(draw):
    def three(least, most):
        return tuple(draw(st.integers(least, most)) for _ in range(3))

    kernel, stride, padding, dilation = three(1, 5), three(1, 3), three(0, 3), three(1, 2)
    spans = [d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True)]
    output = three(1, 5)
    # what the strides leave over at the end is read by nobody
    left_over = [draw(st.integers(0, s - 1)) for s in stride]
    extents = [
        max(1, (o - 1) * s + span - 2 * p + left)
        for o, s, span, p, left in zip(output, stride, spans, padding, left_over, strict=True)
    ]
    output = tuple(
        (extent + 2 * p - span) // s + 1
        for extent, p, span, s in zip(extents, padding, spans, stride, strict=True)
    )
    channels, features = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    return Problem(
        input=(1, channels, *extents),
        weight=(features, channels, *kernel),
        output=(1, features, *output),
        stride=stride,
        padding=padding,
        dilation=dilation,
        biased=draw(st.booleans()),
    )


def _problem(extent=8, channels=2, features=3, **other):
    shape = (extent,) * 3
    ones = (1, 1, 1)
    return replace(
        Problem(
            (1, channels, *shape), (features, channels, 3, 3, 3), (1, features, *shape), ones, ones, ones
        ),
        **other,
    )


def _operands(problem):
    generator = torch.Generator().manual_seed(0)
    shapes = [problem.input, problem.weight, problem.weight[:1]]
    if problem.wanted is not None:
        shapes = [problem.output, *shapes[:2]]
    values = [torch.randn(shape, generator=generator) for shape in shapes]
    if problem.wanted is None and not problem.biased:
        values[2] = None
    return values


def _graph(problem):
    """The captured op, with its fake tensors, as a graph of its own."""
    graph = fx.Graph()
    mode = FakeTensorMode()
    nodes = []
    for index, value in enumerate(_operands(problem)):
        if value is None:
            nodes.append(None)
            continue
        nodes.append(graph.placeholder(f"operand_{index}"))
        nodes[-1].meta["val"] = mode.from_tensor(value)
    rest = [list(problem.stride), list(problem.padding), list(problem.dilation), False, [0, 0, 0], 1]
    if problem.wanted is None:
        args, op = [*nodes, *rest], ATEN.convolution.default
    else:
        args, op = (
            [*nodes, problem.weight[:1], *rest, list(problem.wanted)],
            ATEN.convolution_backward.default,
        )
    node = graph.call_function(op, tuple(args))
    node.meta = {"val": op(*fx.node.map_arg(args, lambda n: n.meta["val"])), "record": "the user's line"}
    results = [node]
    if problem.wanted is not None:
        results = []
        for index, asked in enumerate(problem.wanted):
            item = graph.call_function(operator.getitem, (node, index))
            item.meta = {**node.meta, "val": node.meta["val"][index]}
            if asked:
                results.append(item)
    graph.output(results)
    return graph, node


def _run(graph, problem):
    values = [value for value in _operands(problem) if value is not None]
    return fx.GraphModule(torch.nn.Module(), graph)(*values)


def _rewritten(problem, form):
    graph, node = _graph(problem)
    kernels.rewrite(graph, node, problem, form)
    graph.lint()
    return graph


def _agree(problem, form):
    graph, _ = _graph(problem)
    expected = _run(graph, problem)
    other = _rewritten(problem, form)
    actual = _run(other, problem)
    results = other.output_node().args[0]
    for node, a, b in zip(results, expected, actual, strict=True):
        torch.testing.assert_close(b, a, rtol=1e-4, atol=1e-4)
        assert b.stride() == a.stride()
        assert (node.meta["val"].shape, node.meta["val"].stride()) == (a.shape, a.stride())
        assert node.meta["record"] == "the user's line"


@settings(max_examples=40, deadline=None)
@given(problems(), st.booleans())
def test_forward_forms_give_the_same_numbers(problem, for_compiler):
    for form in kernels.candidates(problem, for_compiler):
        _agree(problem, form)


@settings(max_examples=40, deadline=None)
@given(problems(), st.sampled_from(MASKS))
def test_backward_forms_give_the_same_gradients(problem, wanted):
    problem = replace(problem, biased=False, wanted=wanted)
    for form in kernels.candidates(problem):
        _agree(problem, form)


def test_slabs_are_offered_wherever_there_are_two_results_in_depth():
    assert convolution_forms.can_be_cut(_problem())
    assert convolution_forms.can_be_cut(_problem(extent=3))
    assert not convolution_forms.can_be_cut(_problem(extent=1))


def test_a_slab_that_would_read_nothing_but_padding_is_not_made():
    problem = Problem((1, 2, 1, 4, 4), (3, 2, 1, 1, 1), (1, 3, 3, 4, 4), (3, 1, 1), (3, 0, 0), (1, 1, 1))
    assert kernels.candidates(problem, for_compiler=True) == (convolution_forms.forward_as_is,)
    assert kernels.candidates(replace(problem, wanted=MASKS[0])) == (convolution_forms.backward_as_is,)
    for form in kernels.candidates(problem):
        _agree(problem, form)


@pytest.mark.parametrize("for_compiler", [False, True])
@pytest.mark.parametrize("wanted", [None, *MASKS])
def test_every_op_can_be_written_down(wanted, for_compiler):
    problem = _problem(wanted=wanted)
    for form in kernels.candidates(problem, for_compiler):
        for node in _rewritten(problem, form).nodes:
            if node.op == "call_function":
                assert allowed_ops.name_of(node.target) is not None


@pytest.mark.parametrize("wanted", [None, (True, True, True)])
def test_a_compiler_can_trace_what_it_gets(wanted):
    problem = _problem(wanted=wanted)
    values = [value for value in _operands(problem) if value is not None]
    for form in kernels.candidates(problem, for_compiler=True):
        module = fx.GraphModule(torch.nn.Module(), _rewritten(problem, form))
        traced = make_fx(module, tracing_mode="fake")(*values)
        for a, b in zip(module(*values), traced(*values), strict=True):
            assert torch.equal(a, b)


class _Times:
    """Stands in for the clock: forms of ours take the seconds given, the original one second."""

    def __init__(self, monkeypatch, seconds):
        self.measured = 0
        self._seconds = seconds
        monkeypatch.setattr(kernels, "_CHOSEN", {})
        monkeypatch.setattr(kernels, "_LEAST_FLOPS", 0)
        monkeypatch.setattr(kernels, "_seconds", self._measure)

    def _measure(self, run, best):
        run()
        self.measured += 1
        return 1.0 if best < float("inf") else self._seconds


def _targets(graph):
    return [node.target for node in graph.nodes if node.op == "call_function"]


def test_the_winner_replaces_the_original(monkeypatch):
    _Times(monkeypatch, 0.5)
    problem = _problem(biased=True)
    graph, _ = _graph(problem)
    kernels.pick_kernels(graph)
    assert _targets(graph) == [ATEN.mkldnn_convolution.default]
    graph, _ = _graph(problem)
    kernels.pick_kernels(graph, for_compiler=True)
    assert ATEN.mkldnn_convolution.default not in _targets(graph)
    assert ATEN.cat.default in _targets(graph)
    graph, _ = _graph(replace(problem, biased=False, wanted=(True, True, False)))
    kernels.pick_kernels(graph)
    assert ATEN.cat.default in _targets(graph)


def test_a_problem_is_measured_once(monkeypatch):
    times = _Times(monkeypatch, 0.5)
    for _ in range(3):
        graph, _ = _graph(_problem())
        kernels.pick_kernels(graph)
    assert times.measured == 2
    graph, _ = _graph(_problem(features=4))
    kernels.pick_kernels(graph)
    assert times.measured == 4


def _unchanged(graph, **options):
    before = _targets(graph)
    kernels.pick_kernels(graph, **options)
    return _targets(graph) == before


def test_a_small_gain_changes_nothing(monkeypatch):
    _Times(monkeypatch, 0.9)
    assert _unchanged(_graph(_problem())[0])


def test_without_time_nothing_is_measured(monkeypatch):
    times = _Times(monkeypatch, 0.5)
    assert _unchanged(_graph(_problem())[0], seconds=0.0)
    assert times.measured == 0


def test_small_problems_are_left_alone(monkeypatch):
    times = _Times(monkeypatch, 0.5)
    monkeypatch.setattr(kernels, "_LEAST_FLOPS", _problem().flops + 1)
    assert _unchanged(_graph(_problem())[0])
    assert times.measured == 0


def test_what_the_host_does_well_is_left_alone(monkeypatch):
    times = _Times(monkeypatch, 0.5)
    # kernels wider than three go to the library anyway
    wide = _problem(weight=(3, 2, 5, 5, 5), output=(1, 3, 6, 6, 6))
    assert _unchanged(_graph(wide)[0])
    assert times.measured == 0


def test_bits_do_not_depend_on_the_clock_where_determinism_is_asked_for(monkeypatch):
    _Times(monkeypatch, 0.5)
    torch.use_deterministic_algorithms(True)
    try:
        assert _unchanged(_graph(_problem())[0])
    finally:
        torch.use_deterministic_algorithms(False)


def test_a_library_that_is_switched_off_stays_off(monkeypatch):
    _Times(monkeypatch, 0.5)
    torch._C._set_mkldnn_enabled(False)
    try:
        assert _unchanged(_graph(_problem())[0])
    finally:
        torch._C._set_mkldnn_enabled(True)


@pytest.mark.parametrize("change", ["double", "groups", "transposed", "batch", "image"])
def test_other_convolutions_are_left_alone(monkeypatch, change):
    _Times(monkeypatch, 0.5)
    size, n = (8, 8, 8), 3
    if change == "image":
        size, n = (8, 8), 2
    channels = 4 if change in ("groups", "transposed") else 2
    dtype = torch.float64 if change == "double" else torch.float32
    x = torch.randn(2 if change == "batch" else 1, channels, *size, dtype=dtype)
    weight = torch.randn(4, 2, *[3] * n, dtype=dtype)

    def convolve(x, weight):
        groups = 2 if change == "groups" else 1
        return ATEN.convolution(
            x, weight, None, [1] * n, [1] * n, [1] * n, change == "transposed", [0] * n, groups
        )

    assert _unchanged(make_fx(convolve, tracing_mode="fake")(x, weight).graph)


def test_a_gradient_that_is_passed_on_whole_is_left_alone(monkeypatch):
    _Times(monkeypatch, 0.5)
    graph, node = _graph(_problem(wanted=(True, True, True)))
    graph.output_node().args = (node,)
    assert _unchanged(graph)


def test_measuring_on_less_keeps_the_problem():
    large = _problem(extent=24, channels=16, features=64)
    small = kernels._narrower(large)
    assert small.input == (1, 16, 24, 24, 16)
    assert small.output == (1, 64, 24, 24, 16)
    assert kernels._narrower(_problem()) == _problem()
    result = ATEN.convolution(
        torch.empty(small.input, device="meta"),
        torch.empty(small.weight, device="meta"),
        None,
        small.stride,
        small.padding,
        small.dilation,
        False,
        [0, 0, 0],
        1,
    )
    assert tuple(result.shape) == small.output


def test_real_measurements_choose_one_of_the_forms(monkeypatch):
    monkeypatch.setattr(kernels, "_CHOSEN", {})
    monkeypatch.setattr(kernels, "_LEAST_FLOPS", 0)
    for wanted in (None, (True, True, True)):
        problem = _problem(wanted=wanted)
        graph, _ = _graph(problem)
        expected = _run(graph, problem)
        kernels.pick_kernels(graph)
        for a, b in zip(expected, _run(graph, problem), strict=True):
            torch.testing.assert_close(b, a, rtol=1e-4, atol=1e-4)
        (chosen,) = kernels._CHOSEN.values()
        assert chosen in kernels.candidates(problem)
        kernels._CHOSEN.clear()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # the compiler's own
@pytest.mark.skipif(cxx_compiler() is None, reason="no C++ compiler")
@pytest.mark.parametrize("wanted", [None, (True, True, True)])
def test_compiled_forms_give_the_same_numbers(tmp_path, wanted):
    problem = _problem(wanted=wanted)
    graph, _ = _graph(problem)
    expected = _run(graph, problem)
    *_, form = kernels.candidates(problem, for_compiler=True)
    graph = _rewritten(problem, form)
    for node in graph.nodes:
        node.meta = {}
    values = [value for value in _operands(problem) if value is not None]
    module = fx.GraphModule(torch.nn.Module(), graph)
    options = {"aot_inductor.output_path": str(tmp_path / "code.so"), "compile_threads": 1}
    with torch.no_grad():
        path = torch._inductor.aot_compile(module, tuple(values), options=options)
    actual = torch._C._aoti.AOTIModelContainerRunnerCpu(path, 1).run(values)
    for a, b in zip(expected, actual, strict=True):
        torch.testing.assert_close(b, a, rtol=1e-4, atol=1e-4)
