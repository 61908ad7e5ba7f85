"""Ordinary models use known ops only; others are named, with their lines, in one warning."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import poptorch
from tremula import log
from tremula.frontends.torch.capture.support import unknown_ops
from tremula.frontends.torch.capture.support_table import KNOWN_OPS


class Calls(nn.Module):
    """A module whose forward is a function of the test's; its modules hold the weights."""

    def __init__(self, function: Callable[..., Any], *modules: nn.Module) -> None:
        super().__init__()
        self.layers = nn.ModuleList(modules)
        self.weight = nn.Parameter(torch.ones(1))
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.function(*self.layers, *inputs)


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(4, 4, 3, padding=1, bias=False),
            nn.BatchNorm2d(4),
            nn.ReLU(inplace=True),
            nn.Conv2d(4, 4, 3, padding=1, groups=2),
            nn.BatchNorm2d(4),
        )
        self.head = nn.Sequential(nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(torch.relu(self.body(x) + x))


def attention(x: torch.Tensor) -> torch.Tensor:
    mask = torch.triu(torch.full((x.shape[1], x.shape[1]), float("-inf")), diagonal=1)
    return F.scaled_dot_product_attention(x, x, x, attn_mask=mask)


def compiled(model: nn.Module, *inputs: torch.Tensor, training: bool = False) -> poptorch.PoplarExecutor:
    options = poptorch.Options().showCompilationProgressBar(False)
    wrap = poptorch.trainingModel if training else poptorch.inferenceModel
    wrapped = wrap(model, options)
    wrapped.compile(*inputs)
    return wrapped


def unknown_in(model: nn.Module, *inputs: torch.Tensor, training: bool = False) -> list[str]:
    wrapped = compiled(model, *inputs, training=training)
    return [op.name for op in unknown_ops(wrapped._executable.program)]


IMAGE = torch.rand(2, 4, 8, 8)
LINE = torch.rand(2, 4, 8)
VOLUME = torch.rand(2, 4, 4, 4, 4)
WORDS = torch.rand(2, 6, 8)
TOKENS = torch.randint(0, 6, (2, 6))

MODELS: dict[str, tuple[nn.Module, tuple[torch.Tensor, ...]]] = {
    "resnet block": (Residual(), (IMAGE,)),
    "resnet block, evaluation": (Residual().eval(), (IMAGE,)),
    "encoder layer": (nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (WORDS,)),
    "encoder layer, gelu, norm first": (
        nn.TransformerEncoderLayer(8, 2, 16, activation="gelu", norm_first=True),
        (WORDS,),
    ),
    "decoder layer": (nn.TransformerDecoderLayer(8, 2, 16), (WORDS, WORDS)),
    "attention": (Calls(lambda a, x: a(x, x, x), nn.MultiheadAttention(8, 2)), (WORDS,)),
    "attention without weights": (
        Calls(lambda a, x: a(x, x, x, need_weights=False), nn.MultiheadAttention(8, 2)),
        (WORDS,),
    ),
    "scaled dot product": (Calls(attention), (WORDS,)),
    "scaled dot product, dropout": (
        Calls(lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True, dropout_p=0.1)),
        (WORDS,),
    ),
    "lstm": (nn.LSTM(8, 3), (WORDS,)),
    "gru": (nn.GRU(8, 3, batch_first=True), (WORDS,)),
    "rnn": (nn.RNN(8, 3), (WORDS,)),
    "norms": (
        nn.Sequential(
            nn.GroupNorm(2, 4), nn.LayerNorm(8), nn.BatchNorm2d(4), nn.InstanceNorm2d(4, affine=True)
        ),
        (IMAGE,),
    ),
    "batch norm 1d and 3d": (
        Calls(lambda a, b, x, y: (a(x), b(y)), nn.BatchNorm1d(4), nn.BatchNorm3d(4)),
        (LINE, VOLUME),
    ),
    "weight norm": (
        Calls(
            lambda v, g, x: x @ torch._weight_norm(v.weight, g.weight[:, :1]),
            nn.Linear(8, 8),
            nn.Linear(8, 8),
        ),
        (WORDS,),
    ),
    "permuted images": (
        Calls(
            lambda norm, layer, x: layer(norm(x.permute(0, 2, 3, 1))).permute(0, 3, 1, 2),
            nn.LayerNorm(4),
            nn.Linear(4, 4),
        ),
        (IMAGE,),
    ),
    "adaptive pooling": (nn.Sequential(nn.AdaptiveAvgPool2d(4), nn.AdaptiveAvgPool2d((2, 4))), (IMAGE,)),
    "conv1d": (
        nn.Sequential(nn.Conv1d(4, 4, 3), nn.ConvTranspose1d(4, 4, 3), nn.AvgPool1d(2), nn.MaxPool1d(2)),
        (LINE,),
    ),
    "conv2d": (
        nn.Sequential(nn.Conv2d(4, 4, 3, dilation=2), nn.ConvTranspose2d(4, 4, 3), nn.AvgPool2d(2)),
        (IMAGE,),
    ),
    "conv3d": (
        nn.Sequential(
            nn.Conv3d(4, 4, 3, padding=1),
            nn.ConvTranspose3d(4, 4, 3),
            nn.MaxPool3d(2),
            nn.AdaptiveAvgPool3d(1),
        ),
        (VOLUME,),
    ),
    "padding": (
        nn.Sequential(
            nn.ZeroPad2d(1),
            nn.ReflectionPad2d(1),
            nn.ReplicationPad2d(1),
            nn.Conv2d(4, 4, 3, padding=1, padding_mode="circular"),
        ),
        (IMAGE,),
    ),
    "embedding": (
        Calls(lambda e, b, i: (e(i), b(i)), nn.Embedding(6, 3, padding_idx=0), nn.EmbeddingBag(6, 3)),
        (TOKENS,),
    ),
    "dropout": (nn.Sequential(nn.Dropout(0.3), nn.Dropout2d(0.3), nn.AlphaDropout(0.5)), (IMAGE,)),
    "activations": (
        nn.Sequential(
            nn.GELU(),
            nn.GELU("tanh"),
            nn.SiLU(),
            nn.Mish(),
            nn.ELU(),
            nn.CELU(),
            nn.SELU(),
            nn.ReLU6(),
            nn.LeakyReLU(),
            nn.PReLU(),
            nn.RReLU(),
            nn.Hardtanh(),
            nn.Hardswish(),
            nn.Hardsigmoid(),
            nn.Hardshrink(),
            nn.Softshrink(),
            nn.Softplus(),
            nn.Softsign(),
            nn.Tanhshrink(),
            nn.LogSigmoid(),
            nn.Sigmoid(),
            nn.Threshold(0.1, 0.0),
            nn.GLU(),
            nn.Softmax(-1),
            nn.Softmin(-1),
            nn.LogSoftmax(-1),
        ),
        (WORDS,),
    ),
    "einsum": (
        Calls(lambda x: torch.einsum("bik,bjk->bij", x, x).sum() + torch.tensordot(x, x, dims=([2], [2]))),
        (WORDS,),
    ),
    "order": (
        Calls(
            lambda x: (
                x.topk(2),
                x.sort(dim=1),
                x.argsort(),
                x.cumsum(1),
                x.max(1),
                x.argmax(),
                x.median(),
                x.flip(0),
            )
        ),
        (WORDS,),
    ),
    "index": (
        Calls(
            lambda x, i: (
                x[0, 1:3],
                x[..., None, -1],
                x[:, i[0]],
                torch.gather(x, 1, i[..., None].expand_as(x)),
                x.index_select(1, i[0]),
                x.masked_fill(x > 0.5, 0),
                torch.where(x > 0.5, x, -x),
                torch.zeros_like(x).scatter_add(1, i[..., None].expand_as(x), x),
                F.one_hot(i, 6),
            )
        ),
        (WORDS, TOKENS),
    ),
    "assignment": (Calls(lambda x: _assigned(x)), (WORDS,)),
    "shape": (
        Calls(
            lambda x: (
                x.view(2, -1),
                x.permute(1, 0, 2).contiguous(),
                torch.cat((x, x), 1),
                torch.stack((x, x)),
                x.chunk(2, 1),
                x.split(3, 1),
                x.unbind(1),
                x.repeat(1, 2, 1),
                x.roll(1, 1),
                F.pad(x, (1, 2)),
                x.squeeze(),
                x.mT,
                x.unfold(1, 2, 1),
                x.repeat_interleave(2, dim=1),
                torch.meshgrid(x[0, 0], x[0, 1], indexing="ij"),
                x.flatten(1).unflatten(1, (6, 8)),
                x.tile(2),
                x.narrow(1, 0, 2),
            )
        ),
        (WORDS,),
    ),
    "pointwise": (
        Calls(
            lambda x: (
                x.clamp(0, 1),
                x.exp().log1p(),
                x**2,
                x.rsqrt(),
                x.abs().sqrt(),
                x.sign(),
                x.erf(),
                x.round(),
                x // 0.3,
                x % 0.3,
                torch.maximum(x, -x),
                x.reciprocal(),
                torch.atan2(x, x),
                x.square(),
                ~(x > 0.5),
                (x > 0.1) & (x < 0.9),
                x.isnan(),
                torch.addcmul(x, x, x),
                1 - x,
                x.half().float(),
                x.int(),
            )
        ),
        (WORDS,),
    ),
    "reductions": (
        Calls(
            lambda x: (
                x.mean(1),
                x.sum(),
                x.std(1),
                x.var(),
                x.norm(),
                x.norm(dim=1),
                x.logsumexp(1),
                x.prod(1),
                x.amax(1),
                (x > 0).all(),
                (x > 0).any(1),
                x.softmax(1),
                F.normalize(x),
                F.cosine_similarity(x, x),
                torch.linalg.norm(x, dim=1),
                torch.cdist(x, x),
                torch.count_nonzero(x),
            )
        ),
        (WORDS,),
    ),
    "resize": (
        Calls(
            lambda x: (
                F.interpolate(x, scale_factor=2),
                F.interpolate(x, scale_factor=2, mode="bilinear"),
                F.interpolate(x, size=(16, 16), mode="bicubic"),
                F.pixel_shuffle(x, 2),
            )
        ),
        (IMAGE,),
    ),
    "random": (
        Calls(
            lambda x: (
                torch.rand_like(x),
                torch.randn(2, 3),
                torch.bernoulli(x),
                torch.normal(x, x),
                torch.distributions.Normal(x, x).rsample(),
            )
        ),
        (WORDS,),
    ),
    "factories": (
        Calls(
            lambda x: (
                x + torch.arange(8),
                x.new_zeros(2) + x[0, 0, 0],
                torch.full_like(x, 2.0) * x,
                torch.eye(8) @ x[0].T,
                torch.linspace(0, 1, 8) * x,
                torch.tril(torch.ones(6, 6)) @ x,
            )
        ),
        (WORDS,),
    ),
}


def _assigned(x: torch.Tensor) -> torch.Tensor:
    x = x.clone()
    x[:, 0] = 1.0
    x[:, 1] += x[:, 2]
    x[x > 0.5] = 0.0
    return x.add_(1).mul_(2)


@pytest.mark.parametrize("name", MODELS)
def test_ordinary_models_use_known_ops(name: str) -> None:
    model, inputs = MODELS[name]
    assert unknown_in(model, *inputs) == []


_CLASSES = torch.tensor([0, 2])
_LOSSES: dict[str, tuple[nn.Module, torch.Tensor, torch.Tensor]] = {
    "cross entropy": (nn.CrossEntropyLoss(label_smoothing=0.1), torch.randn(2, 3), _CLASSES),
    "nll": (nn.Sequential(nn.LogSoftmax(1)), torch.randn(2, 3), _CLASSES),
    "nll2d": (nn.CrossEntropyLoss(), torch.randn(2, 3, 4, 4), torch.zeros(2, 4, 4, dtype=torch.long)),
    "soft targets": (nn.CrossEntropyLoss(), torch.randn(2, 3), torch.rand(2, 3).softmax(1)),
    "mse": (nn.MSELoss(), torch.randn(2, 3), torch.randn(2, 3)),
    "l1": (nn.L1Loss(), torch.randn(2, 3), torch.randn(2, 3)),
    "smooth l1": (nn.SmoothL1Loss(), torch.randn(2, 3), torch.randn(2, 3)),
    "bce": (nn.BCELoss(), torch.rand(2, 3), torch.rand(2, 3)),
    "bce logits": (nn.BCEWithLogitsLoss(pos_weight=torch.ones(3)), torch.randn(2, 3), torch.rand(2, 3)),
    "kl": (nn.KLDivLoss(reduction="batchmean"), torch.randn(2, 3), torch.rand(2, 3)),
    "poisson": (nn.PoissonNLLLoss(), torch.rand(2, 3), torch.rand(2, 3)),
    "hinge": (nn.HingeEmbeddingLoss(), torch.rand(2, 3), torch.ones(2, 3)),
    "soft margin": (nn.SoftMarginLoss(), torch.rand(2, 3), torch.ones(2, 3)),
}


@pytest.mark.parametrize("name", _LOSSES)
def test_losses_use_known_ops(name: str) -> None:
    loss, x, y = _LOSSES[name]
    if name == "nll":
        model: nn.Module = Calls(lambda layer, x, y: F.nll_loss(layer(x), y), loss)
    else:
        model = Calls(lambda layer, x, y: layer(x, y), loss)
    assert unknown_in(model, x, y, training=True) == []


def test_triple_losses_use_known_ops() -> None:
    x = torch.rand(2, 3)
    model = Calls(
        lambda x: (
            F.triplet_margin_loss(x, x + 1, x - 1)
            + F.margin_ranking_loss(x, -x, torch.ones_like(x))
            + F.cosine_embedding_loss(x, -x, torch.ones(2))
        )
    )
    assert unknown_in(model, x) == []


class TwoUnknown(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.special.i0(x)  # first
        x = x.logcumsumexp(0)  # second
        return torch.special.i0(x)


def test_unknown_ops_are_named_in_program_order() -> None:
    wrapped = compiled(TwoUnknown(), torch.rand(3))
    found = unknown_ops(wrapped._executable.program)
    assert [op.name for op in found] == ["i0", "logcumsumexp"] or [op.name for op in found] == [
        "special_i0",
        "logcumsumexp",
    ]
    first, second = found
    assert len(first.sources) == 2
    assert {source.file for source in first.sources} == {__file__}
    assert second.sources[0].line == first.sources[0].line + 1
    assert "and 1 more" in str(first)


def test_one_warning_for_all_unknown_ops_once(capfd: pytest.CaptureFixture[str]) -> None:
    log.forget_once()
    compiled(TwoUnknown(), torch.rand(3))
    said = capfd.readouterr().err
    assert said.count("not known to support 2 ops") == 1
    assert f"logcumsumexp, at {__file__}:" in said
    compiled(TwoUnknown(), torch.rand(4))
    assert "not known to support" not in capfd.readouterr().err


def test_ops_of_the_backward_pass_and_on_constants_do_not_count() -> None:
    x = torch.rand(3, 4)
    assert unknown_in(Calls(lambda x: x * torch.special.i0(torch.ones(4))), x) == []
    assert unknown_in(Calls(lambda layer, x: layer(x).square().mean(), nn.PReLU()), x) == []
    random = Calls(lambda x: x.sum() + torch.special.i0(torch.rand(4)).sum())
    assert len(unknown_in(random, x)) == 1


def test_in_place_forms_and_other_namespaces_have_names() -> None:
    from tremula.frontends.torch.capture.support import op_name

    assert op_name(torch.ops.aten.add_.Tensor) == "add"
    assert op_name(torch.ops.aten.__and__.Tensor) == "__and__"
    assert op_name(torch.ops.prims.sin.default) == "prims::sin"
    assert {"add", "__and__", "convolution"} <= KNOWN_OPS
    assert not {name for name in KNOWN_OPS if name.endswith("_") and not name.endswith("__")}
