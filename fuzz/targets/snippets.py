"""Computations whose graphs, forward and backward, hold the ops that programs are made of."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import torch
from torch.nn import functional

Snippet = tuple[Callable[..., torch.Tensor], list[torch.Tensor]]

_ACTIVATIONS = """
    gelu elu silu mish hardswish softplus logsigmoid tanh relu celu selu leaky_relu hardtanh hardsigmoid softshrink
    hardshrink sigmoid relu6
"""


def _called(name: str) -> Callable[..., torch.Tensor]:
    function: Callable[..., torch.Tensor] = getattr(functional, name)
    return lambda *values: function(*values)


def snippets() -> Iterator[Snippet]:
    """Computations and their arguments; sizes are multiples of 16, so that tensors end at the guard page."""
    return itertools.chain(
        _normalizations(),
        _pooling(),
        _resampling(),
        _losses_of_classes(),
        _indexing(),
        _reductions(),
        _pointwise(),
        _products(),
        _layouts(),
        _linear_algebra(),
        _recurrent(),
    )


def _normalizations() -> Iterator[Snippet]:
    """Normalizations."""
    r = torch.randn
    image = r(2, 16, 16, 16)
    channels = torch.ones(16)
    positive = torch.rand(16)
    yield lambda x, w, b: functional.layer_norm(x, (16,), w, b), [r(16, 16), channels, channels]
    yield lambda x, w, b: functional.layer_norm(x, (16, 16), w, b), [r(4, 16, 16), r(16, 16), r(16, 16)]
    yield lambda x, w, b: functional.group_norm(x, 4, w, b), [image, channels, channels]
    for training in (True, False):
        yield (
            lambda x, w, b, m, v, t=training: functional.batch_norm(x, m.detach(), v.detach(), w, b, t),
            [image, channels, channels, positive, positive],
        )
    yield lambda x: functional.instance_norm(x), [image]


def _pooling() -> Iterator[Snippet]:
    """Pooling in two and three dimensions."""
    r = torch.randn
    image = r(2, 16, 16, 16)
    volume = r(1, 16, 4, 8, 8)
    for size in (2, 3):
        yield lambda x, k=size: functional.max_pool2d(x, k, padding=k // 2), [image]
        yield lambda x, k=size: functional.avg_pool2d(x, k, padding=k // 2), [image]
    yield lambda x: functional.max_pool3d(x, 2), [volume]
    yield lambda x: functional.avg_pool3d(x, 2), [volume]
    yield lambda x: functional.adaptive_max_pool2d(x, 4), [image]
    yield lambda x: functional.adaptive_max_pool3d(x, 2), [volume]
    yield lambda x: functional.adaptive_avg_pool2d(x, 4), [image]
    yield lambda x: functional.adaptive_avg_pool3d(x, 2), [volume]
    yield lambda x: functional.avg_pool1d(x, 2) + functional.max_pool1d(x, 2), [r(2, 16, 16)]


def _resampling() -> Iterator[Snippet]:
    """Interpolation, padding, sampled grids."""
    r = torch.randn
    image = r(2, 16, 16, 16)
    volume = r(1, 16, 4, 8, 8)
    for mode in ("nearest", "bilinear", "bicubic", "area", "nearest-exact"):
        yield lambda x, m=mode: functional.interpolate(x, size=(32, 8), mode=m), [image]
    for mode in ("nearest", "trilinear", "nearest-exact"):
        yield lambda x, m=mode: functional.interpolate(x, scale_factor=2, mode=m), [volume]
    yield lambda x: functional.interpolate(x, size=32, mode="linear"), [r(2, 16, 16)]
    yield lambda x: functional.interpolate(x, size=(8, 8), mode="bilinear", antialias=True), [image]
    for mode in ("reflect", "replicate", "constant"):
        yield lambda x, m=mode: functional.pad(x, (1, 2, 3, 4), mode=m), [image]
        yield lambda x, m=mode: functional.pad(x, (1, 2), mode=m), [r(2, 16, 16)]
        yield lambda x, m=mode: functional.pad(x, (1, 1, 1, 1, 1, 1), mode=m), [volume]
    yield lambda x, g: functional.grid_sample(x, g, align_corners=False), [image, r(2, 8, 8, 2)]
    yield lambda x, g: functional.grid_sample(x, g, align_corners=True), [volume, r(1, 4, 8, 8, 3)]
    yield (
        lambda x, g: functional.grid_sample(x, g, "nearest", "reflection", align_corners=False),
        [image, r(2, 8, 8, 2)],
    )
    yield lambda t: functional.affine_grid(t, [2, 16, 8, 8], align_corners=False), [r(2, 2, 3)]


def _losses_of_classes() -> Iterator[Snippet]:
    """Losses of classes."""
    r = torch.randn
    i16 = torch.arange(16)
    image = r(2, 16, 16, 16)
    channels = torch.ones(16)
    yield lambda x, t: functional.nll_loss(functional.log_softmax(x, 1), t), [r(16, 16), i16]
    yield (
        lambda x, w, t: functional.nll_loss(x, t, w.detach(), reduction="none", ignore_index=3),
        [r(16, 16), channels, i16],
    )
    yield lambda x, t: functional.cross_entropy(x, t), [image, torch.zeros(2, 16, 16, dtype=torch.long)]
    yield lambda x, t: functional.cross_entropy(x, t, label_smoothing=0.1), [r(16, 16), i16]


def _indexing() -> Iterator[Snippet]:
    """Reads and writes at indices, and searches."""
    r = torch.randn
    i16 = torch.arange(16)
    yield lambda w, t: functional.embedding(t, w), [r(16, 16), i16]
    yield lambda w, t: functional.embedding(t, w, padding_idx=2, scale_grad_by_freq=True), [r(16, 16), i16]
    yield lambda x, t: x[t], [r(16, 16), i16]
    yield lambda x, t: x[:, t], [r(16, 16), i16]
    yield lambda x, t: x.gather(1, t.view(16, 1)), [r(16, 16), i16]
    yield lambda x, y, t: x.scatter(1, t.view(16, 1), y), [r(16, 16), r(16, 1), i16]
    yield lambda x, y, t: x.scatter_add(1, t.view(16, 1), y), [r(16, 16), r(16, 1), i16]
    for reduce in ("sum", "prod", "mean", "amax", "amin"):
        yield (
            lambda x, y, t, m=reduce: x.scatter_reduce(0, t.view(16, 1), y, m),
            [r(16, 16), r(16, 1), i16],
        )
        if reduce != "sum":
            yield lambda x, y, t, m=reduce: x.index_reduce(0, t, y, m), [r(16, 16), r(16, 16), i16]
    yield lambda x, t: x.index_select(0, t), [r(16, 16), i16]
    yield lambda x, y, t: x.index_add(0, t, y), [r(16, 16), r(16, 16), i16]
    yield lambda x, y, t: x.index_copy(0, t, y), [r(16, 16), r(16, 16), i16]
    yield lambda x, t: x.index_fill(0, t, 1.0), [r(16, 16), i16]
    yield lambda x, y, t: x.index_put((t,), y), [r(16, 16), r(16, 16), i16]
    yield lambda x, y, t: x.index_put((t,), y, accumulate=True), [r(16, 16), r(16, 16), i16]
    yield lambda x, t: x.take(t), [r(16, 16), i16]
    yield lambda x, y, t: x.put(t, y), [r(16, 16), r(16), i16]
    yield lambda x, t: x.take_along_dim(t.view(16, 1), 1), [r(16, 16), i16]
    yield lambda x, y: x.masked_scatter(x > 0, y), [r(16, 16), r(16, 16)]
    yield lambda x, y: torch.searchsorted(x, y).float() + y, [r(16), r(16)]
    yield lambda x, y, t: torch.searchsorted(x, y, sorter=t).float() + y, [r(16), r(16), i16]
    yield lambda x, y: torch.bucketize(y, x).float() + y, [r(16), r(16)]


def _reductions() -> Iterator[Snippet]:
    """Sorting, sums and scans along a dimension."""
    r = torch.randn
    yield lambda x: x.sort(dim=1).values + x.topk(16, dim=1).values, [r(16, 16)]
    yield lambda x: x.median(1).values + x.kthvalue(3, 1).values + x.mode(1).values, [r(16, 16)]
    yield lambda x: x.max(1).values + x.amin(1) + x.argmax(1) + x.logsumexp(1), [r(16, 16)]
    yield lambda x: x.cumsum(1) + x.cumprod(1) + x.cummax(1).values + x.logcumsumexp(1), [r(16, 16)]
    yield lambda x: x.std(1) + x.var(1) + x.norm(dim=1) + x.prod(1), [r(16, 16)]
    yield (
        lambda x: functional.softmax(x, 1) + functional.log_softmax(x, 0) + functional.glu(x, 1).repeat(1, 2),
        [r(16, 16)],
    )


def _pointwise() -> Iterator[Snippet]:
    """Activations and losses element by element."""
    r = torch.randn
    image = r(2, 16, 16, 16)
    channels = torch.ones(16)
    for name in _ACTIVATIONS.split():
        yield _called(name), [r(16, 16)]
    yield lambda x, w: functional.prelu(x, w), [image, channels]
    yield lambda x: functional.rrelu(x, training=True), [r(16, 16)]
    yield lambda x: functional.dropout(x, 0.5) + functional.alpha_dropout(x, 0.5), [r(16, 16)]
    for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div"):
        yield _called(name), [r(16, 16), r(16, 16)]
    yield lambda x, y: functional.soft_margin_loss(x, y.detach()), [r(16, 16), r(16, 16)]
    yield lambda x, y: functional.binary_cross_entropy(x.sigmoid(), y.sigmoid()), [r(16, 16), r(16, 16)]
    yield lambda x, y: functional.binary_cross_entropy_with_logits(x, y.sigmoid()), [r(16, 16), r(16, 16)]


def _products() -> Iterator[Snippet]:
    """Convolutions, products, distances, attention."""
    r = torch.randn
    image = r(2, 16, 16, 16)
    volume = r(1, 16, 4, 8, 8)
    channels = torch.ones(16)
    yield lambda x, w, b: functional.conv2d(x, w, b, padding=1), [image, r(16, 16, 3, 3), channels]
    yield lambda x, w, b: functional.conv2d(x, w, b, stride=2, groups=4), [image, r(16, 4, 3, 3), channels]
    yield lambda x, w: functional.conv_transpose2d(x, w, stride=2), [image, r(16, 16, 2, 2)]
    yield lambda x, w: functional.conv1d(x, w, dilation=2), [r(2, 16, 16), r(16, 16, 3)]
    yield lambda x, w: functional.conv3d(x, w), [volume, r(16, 16, 2, 2, 2)]
    yield lambda x, w, b: functional.linear(x, w, b), [r(16, 16), r(16, 16), channels]
    yield (
        lambda x, y: x @ y + torch.bmm(x[None], y[None])[0] + torch.baddbmm(x[None], x[None], y[None])[0],
        [
            r(16, 16),
            r(16, 16),
        ],
    )
    yield lambda x, y, z: functional.bilinear(x, y, z), [r(16, 16), r(16, 16), r(16, 16, 16)]
    yield lambda x, y: torch.cdist(x, y), [r(16, 16), r(16, 16)]
    yield lambda x, y: torch.cdist(x, y, p=1.0), [r(16, 16), r(16, 16)]
    yield lambda x, y: torch.linalg.cross(x, y), [r(16, 3), r(16, 3)]
    yield lambda q, k, v: functional.scaled_dot_product_attention(q, k, v), [r(1, 2, 16, 16)] * 3
    yield (
        lambda q, k, v: functional.scaled_dot_product_attention(q, k, v, is_causal=True),
        [r(1, 2, 16, 16)] * 3,
    )
    yield lambda v, g: torch._weight_norm(v, g, 0), [r(16, 16), r(16, 1)]


def _layouts() -> Iterator[Snippet]:
    """Views, copies and joins."""
    r = torch.randn
    image = r(2, 16, 16, 16)
    yield lambda x: functional.fold(functional.unfold(x, 2), (16, 16), 2), [image]
    yield lambda x: x.unfold(0, 2, 2).sum(-1) + x[::2] + x.diagonal().sum(), [r(16, 16)]
    yield lambda x: functional.pixel_shuffle(x, 4) + x.roll(1).flip(0).sum(), [image]
    yield (
        lambda x: torch.stack(x.split([4, 12])[1].unbind()) + torch.cat(x.chunk(2)).narrow(0, 0, 12),
        [r(16, 16)],
    )
    yield (
        lambda x: x.tril() + x.triu() + x.t() + x.expand(2, 16, 16).sum(0) + x.repeat(1, 2)[:, :16],
        [r(16, 16)],
    )
    yield lambda x: x.select(0, 3) + torch.diag_embed(x).sum((0, 1)), [r(16, 16)]


def _linear_algebra() -> Iterator[Snippet]:
    """Solvers and decompositions."""
    r = torch.randn
    yield lambda x: torch.linalg.solve(x @ x.t() + torch.eye(16), x).sum() + torch.linalg.qr(x).R, [r(16, 16)]
    yield lambda x: torch.linalg.cholesky(x @ x.t() + 16 * torch.eye(16)) + torch.linalg.det(x), [r(16, 16)]
    yield lambda x: torch.linalg.svd(x).S + torch.linalg.inv(x + 99 * torch.eye(16)), [r(16, 16)]
    yield lambda x: torch.linalg.eigh(x + x.t()).eigenvalues + x.multinomial(2).sum(), [r(16, 16).abs()]


def _recurrent() -> Iterator[Snippet]:
    """Recurrent layers."""
    r = torch.randn
    lstm = torch.nn.LSTM(16, 16)
    yield lambda x: lstm(x)[0], [r(4, 4, 16)]
    gru = torch.nn.GRU(16, 16)
    yield lambda x: gru(x)[0], [r(4, 4, 16)]
