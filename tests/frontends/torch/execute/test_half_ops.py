"""Ops on halves: computed in float32 and rounded once, whichever kernel does it; slow kernels are not used."""

import functools
import operator

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.fx.experimental.proxy_tensor import make_fx

from tremula.frontends.torch.execute import half_ops
from tremula.frontends.torch.execute.precision import DEFAULT_PRECISION, Precision, followed
from tremula.frontends.torch.execute.rounding import round_stochastically

_ATEN = torch.ops.aten
_STOCHASTIC = Precision(stochastic_rounding=True)


def _index():
    return torch.arange(24) % 5


#: functions of two tensors of 24 x 16 that stand for what programs call
_FUNCTIONS = {
    "add": lambda a, b: a + b,
    "add a constant": lambda a, b: a + 1.7,
    "rsub": lambda a, b: 0.3 - a,
    "add a share": lambda a, b: torch.add(a, b, alpha=0.3),
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / (b.abs() + 1),
    "addcmul": lambda a, b: torch.addcmul(a, a, b, value=0.3),
    "lerp": lambda a, b: torch.lerp(a, b, 0.3),
    "exp": lambda a, b: a.exp(),
    "tanh": lambda a, b: a.tanh(),
    "sigmoid": lambda a, b: a.sigmoid(),
    "gelu": lambda a, b: torch.nn.functional.gelu(a),
    "gelu_backward": lambda a, b: _ATEN.gelu_backward(a, b),
    "sqrt": lambda a, b: a.abs().sqrt(),
    "pow": lambda a, b: a**2,
    "relu": lambda a, b: a.relu(),
    "where": lambda a, b: torch.where(a > b, a, b),
    "cat": lambda a, b: torch.cat([a, b.flip(0)]),
    "sum": lambda a, b: a.sum(0),
    "mean": lambda a, b: a.mean(-1),
    "cumsum": lambda a, b: a.cumsum(0),
    "argmax": lambda a, b: a.argmax(-1),
    "softmax": lambda a, b: a.softmax(-1),
    "softmax backward": lambda a, b: _ATEN._softmax_backward_data(a, b.softmax(-1), -1, a.dtype),
    "log_softmax": lambda a, b: a.log_softmax(-1),
    "layer norm": lambda a, b: torch.nn.functional.layer_norm(a, [16], b[0], b[1]),
    "embedding backward": lambda a, b: _ATEN.embedding_dense_backward(a, _index(), 5, -1, False),
    "index_put": lambda a, b: torch.zeros_like(a).index_put((_index(),), b, accumulate=True),
    "mse": lambda a, b: torch.nn.functional.mse_loss(a, b),
    "mm": lambda a, b: a @ b.t(),
    "addmm": lambda a, b: torch.addmm(b[:, 0], a, b.t()),
    "avg_pool": lambda a, b: torch.nn.functional.avg_pool2d(a.view(1, 1, 24, 16), 2),
    "convolution": lambda a, b: torch.conv2d(a.view(1, 1, 24, 16), b[:9, :1].reshape(1, 1, 3, 3)),
    "group norm": lambda a, b: torch.nn.functional.group_norm(a.view(2, 12, 16), 3),
    "in place": lambda a, b: a.clone().mul_(b).add_(0.3),
}  # fmt: skip


@functools.cache
def _captured(name):
    a, b = torch.ones(24, 16).half(), torch.ones(24, 16).half()
    return make_fx(_FUNCTIONS[name], tracing_mode="fake")(a, b)


@functools.cache
def _followed(name, precision):
    return followed(_captured(name), precision)


def _rounding_each_op(module, *arguments):
    """Every op of a captured graph on float32 operands, its float16 results rounded."""
    values = dict(zip([n for n in module.graph.nodes if n.op == "placeholder"], arguments, strict=True))

    def wide(value):
        return value.float() if isinstance(value, torch.Tensor) and value.dtype is torch.float16 else value

    for node in module.graph.nodes:
        if node.op == "get_attr":
            values[node] = functools.reduce(getattr, node.target.split("."), module)
        if node.op == "output":
            return torch.fx.node.map_arg(node.args[0], values.__getitem__)
        if node.op != "call_function":
            continue
        args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), values.__getitem__)
        if node.target is operator.getitem:
            values[node] = args[0][args[1]]
            continue
        args, kwargs = torch.fx.node.map_aggregate((args, kwargs), wide)
        args, kwargs = torch.fx.node.map_aggregate(
            (args, kwargs), lambda v: torch.float32 if v is torch.float16 else v
        )
        form = half_ops.functional_form(node.target) if node.target._schema.is_mutable else node.target
        results = form(*args, **kwargs)
        many = isinstance(results, tuple | list)
        fakes = node.meta["val"] if many else [node.meta["val"]]
        results = [
            result.half() if getattr(fake, "dtype", None) is torch.float16 else result
            for result, fake in zip(results if many else [results], fakes, strict=True)
        ]
        values[node] = results if many else results[0]
    raise LookupError("no output")


@pytest.mark.parametrize("name", _FUNCTIONS)
@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 10_000), scale=st.sampled_from([0.01, 1.0, 30.0]))
def test_an_op_computes_in_float32_and_rounds_once(name, seed, scale):
    generator = torch.Generator().manual_seed(seed)
    a, b = (torch.randn(24, 16, generator=generator).mul(scale).half() for _ in range(2))
    expected = _rounding_each_op(_captured(name), a, b)
    found = _followed(name, DEFAULT_PRECISION)(a, b)
    assert found.dtype is expected.dtype
    # kernels for float32 and for float16 vectors approximate functions by other polynomials
    torch.testing.assert_close(found, expected, rtol=2.0**-10, atol=2.0**-19, equal_nan=True)


@pytest.mark.parametrize("name", _FUNCTIONS)
def test_stochastic_rounding_rounds_what_float32_computes(name):
    """Each op gives one of the two float16 numbers around its float32 result; on average the result itself."""
    torch.manual_seed(0)
    a, b = torch.randn(24, 16).half(), torch.randn(24, 16).half()
    module = _followed(name, _STOCHASTIC)
    found = torch.stack([module(a, b) for _ in range(40)]).double()
    exact = _rounding_each_op(_captured(name), a, b).double()
    unit = 2.0**-10 * exact.abs() + 2.0**-10
    assert ((found - exact).abs() <= 3 * unit).all()
    assert (found.mean(0) - exact).mean().abs() <= 0.5 * unit.mean()


@pytest.mark.parametrize(
    "precision", [DEFAULT_PRECISION, Precision(half_partials=True), _STOCHASTIC], ids=str
)
@pytest.mark.parametrize("name", _FUNCTIONS)
def test_ops_outside_the_tables_take_no_halves(name, precision):
    for node in _followed(name, precision).graph.nodes:
        if node.op != "call_function" or not half_ops.concerns_half(node):
            continue
        if node.target in (operator.getitem, _ATEN._to_copy.default, _ATEN.copy_.default):
            continue
        assert half_ops.is_move(node) or (
            half_ops.stays_in_half(node) and not precision.stochastic_rounding
        ), node.format_node()


def test_roundings_at_random_are_not_rounded_to_nearest_before():
    """Between two ops there is the one rounding: no cast to float16 lies before it."""
    a, b = torch.randn(24, 16).half(), torch.randn(24, 16).half()
    captured = make_fx(lambda a, b: torch.relu(a @ b.t()) * 0.3, tracing_mode="fake")(a, b)
    module = followed(captured, _STOCHASTIC)
    casts = [node for node in module.graph.nodes if node.target is _ATEN._to_copy.default]
    halves = [node for node in casts if node.meta["val"].dtype is torch.float16]
    assert [node.args[0].target for node in halves] == [round_stochastically]


def test_running_statistics_in_half_are_written_once_per_step():
    def function(x, mean, variance):
        return _ATEN.native_batch_norm(x, None, None, mean, variance, True, 0.5, 1e-5)[0]

    x = torch.randn(64, 3).half()
    mean, variance = torch.zeros(3).half(), torch.ones(3).half()
    module = followed(make_fx(function, tracing_mode="fake")(x, mean, variance), DEFAULT_PRECISION)
    module(x, mean, variance)
    torch.testing.assert_close(mean, (0.5 * x.float().mean(0)).half())
    torch.testing.assert_close(variance, (0.5 + 0.5 * x.float().var(0)).half())
