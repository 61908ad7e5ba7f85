"""Maximum pooling by slices gives what the host's kernel gives, whatever the window, and only where it may."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.fx.experimental.proxy_tensor import make_fx

from tremula.frontends.torch.execute.pooling import pick_pooling

_POOLING = torch.ops.aten.max_pool2d_with_indices.default


def _rewritten(function, x):
    module = make_fx(function, tracing_mode="fake")(x)
    pick_pooling(module.graph)
    module.recompile()
    return module


def _pools(module):
    return [node for node in module.graph.nodes if node.target is _POOLING]


@given(
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(1, 4),
    st.integers(3, 11),
    st.integers(3, 11),
    st.booleans(),
)
def test_slices_give_the_maxima_of_the_kernel(tall, wide, stride, height, width, channels_last):
    x = torch.randn(2, 3, height, width)
    if channels_last:
        x = x.contiguous(memory_format=torch.channels_last)
    x[0, 0, 0, 0] = float("nan")
    wanted = torch.max_pool2d(x, (tall, wide), stride)
    module = _rewritten(lambda x: torch.max_pool2d(x, (tall, wide), stride), x)
    assert not _pools(module)
    torch.testing.assert_close(module(x), wanted, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize(
    "options", [{"padding": 1}, {"dilation": 2}, {"ceil_mode": True}, {"return_indices": True}], ids=str
)
def test_other_poolings_stay(options):
    def pooled(x):
        return torch.nn.functional.max_pool2d(x, 2, **options)

    x = torch.randn(1, 2, 7, 7)
    module = _rewritten(pooled, x)
    assert _pools(module)
    torch.testing.assert_close(module(x), pooled(x))


def test_large_windows_and_other_types_stay():
    assert _pools(_rewritten(lambda x: torch.max_pool2d(x, 4), torch.randn(1, 2, 8, 8)))
    assert _pools(_rewritten(lambda x: torch.max_pool2d(x, 2), torch.randn(1, 2, 8, 8, dtype=torch.float64)))
