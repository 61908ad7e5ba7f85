"""Every rule refuses what it should and nothing next to it; all refusals of a model come in one Error."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import poptorch
from tremula.frontends.torch.capture import refusals

IMAGE = torch.rand(2, 4, 6, 6)
LINE = torch.rand(2, 4, 6)
VOLUME = torch.rand(1, 2, 4, 4, 4)
SEQUENCE = torch.rand(5, 2, 3)
TOKENS = torch.tensor([[0, 1, 2], [3, 1, 4]])
SCORES = torch.rand(2, 5)


class Calls(nn.Module):
    def __init__(self, function: Callable[..., Any], *modules: nn.Module) -> None:
        super().__init__()
        self.layers = nn.ModuleList(modules)
        self.register_buffer("classes", torch.tensor([1.0, 2.0, 1.0, 1.0, 3.0]))
        self.register_buffer("matrix", torch.rand(5, 3))
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.function(self, *inputs)


def module(layer: nn.Module) -> Calls:
    return Calls(lambda self, *inputs: self.layers[0](*inputs), layer)


def compile_inference(model: nn.Module, *inputs: torch.Tensor) -> None:
    poptorch.inferenceModel(model, poptorch.Options().showCompilationProgressBar(False)).compile(*inputs)


def upsample(**options: Any) -> Calls:
    return module(nn.Upsample(**options))


def ctc(reduction: str) -> Calls:
    lengths = {"input_lengths": (5, 5), "target_lengths": (2, 2)}
    return Calls(lambda self, x, y: F.ctc_loss(x.log_softmax(-1), y, **lengths, reduction=reduction))


REFUSED: dict[str, tuple[nn.Module, tuple[torch.Tensor, ...], str]] = {
    "one_hot": (Calls(lambda self, x: F.one_hot(x)), (TOKENS,), "OneHot num classes must be specified"),
    "bincount": (Calls(lambda self, x: torch.bincount(x[0])), (TOKENS,), "Bincount `minlength` must be"),
    "lstm layers": (module(nn.LSTM(3, 4, num_layers=2)), (SEQUENCE,), "num_layers=2"),
    "gru both ways": (module(nn.GRU(3, 4, bidirectional=True)), (SEQUENCE,), "bidirectional"),
    "rnn without bias": (module(nn.RNN(3, 4, bias=False)), (SEQUENCE,), "bias=False"),
    "lstm without bias": (module(nn.LSTM(3, 4, bias=False)), (SEQUENCE,), "bias=False"),
    "rnn dropout": (module(nn.RNN(3, 4, num_layers=2, dropout=0.5)), (SEQUENCE,), "dropout=0.5"),
    "ctc": (ctc("none"), (SEQUENCE, torch.ones(2, 2, dtype=torch.long)), "reduction='none'"),
    "embedding sparse": (module(nn.Embedding(5, 2, sparse=True)), (TOKENS,), "sparse=True"),
    "embedding by frequency": (module(nn.Embedding(5, 2, scale_grad_by_freq=True)), (TOKENS,), "by_freq"),
    "bag padding": (module(nn.EmbeddingBag(5, 2, padding_idx=1)), (TOKENS,), "padding_idx"),
    "bag offsets": (
        Calls(lambda self, x, o: F.embedding_bag(x.view(-1), self.matrix, o)),
        (TOKENS, torch.tensor([0, 2])),
        "offsets must be a constant",
    ),
    "topk": (Calls(lambda self, x: x.topk(2, sorted=False)), (SCORES,), "sorted=False"),
    "cross entropy": (
        Calls(lambda self, x, y: F.cross_entropy(x, y, weight=self.classes)),
        (SCORES, TOKENS[:, 0]),
        "weight",
    ),
    "nll": (
        Calls(lambda self, x, y: F.nll_loss(x, y, self.classes)),
        (SCORES, TOKENS[:, 0]),
        "weight",
    ),
    "linear": (upsample(scale_factor=2, mode="linear"), (LINE,), "only 'nearest' is supported"),
    "trilinear": (upsample(size=8, mode="trilinear"), (VOLUME,), "only 'nearest' is supported"),
    "bilinear part": (upsample(scale_factor=1.5, mode="bilinear"), (IMAGE,), "not a whole number"),
    "bilinear uneven": (upsample(scale_factor=(2, 3), mode="bilinear"), (IMAGE,), "different factors"),
    "bilinear uneven size": (upsample(size=(12, 18), mode="bilinear"), (IMAGE,), "different factors"),
    "bicubic": (upsample(size=12, mode="bicubic", align_corners=True), (IMAGE,), "align_corners"),
    "adaptive": (module(nn.AdaptiveAvgPool2d(4)), (IMAGE,), "equal parts"),
    "adaptive 1d": (module(nn.AdaptiveAvgPool1d(4)), (LINE,), "equal parts"),
    "max pool": (module(nn.MaxPool2d(2, return_indices=True)), (IMAGE,), "MaxPool2d: return_indices"),
    "transposed": (module(nn.ConvTranspose2d(4, 2, 3, dilation=2)), (IMAGE,), "dilation"),
    "layer norm": (module(nn.LayerNorm(6, bias=False)), (IMAGE,), "without a bias"),
    "triu": (Calls(lambda self, x: x.triu()), (SCORES,), "only supported on constants"),
    "strides": (Calls(lambda self, x: x.as_strided((2, 2), (1, 1))), (SCORES,), "no strides"),
    "bits": (Calls(lambda self, x: x & x), (TOKENS.to(torch.uint8),), "8-bit"),
    "cross": (Calls(lambda self, x, y: torch.linalg.cross(x, y)), (SEQUENCE, torch.rand(1, 2, 3)), "equal"),
    "nuclear norm": (Calls(lambda self, x: torch.linalg.norm(x, "nuc")), (SCORES,), "nuclear"),
    "2-norm": (Calls(lambda self, x: torch.linalg.matrix_norm(x, 2)), (SCORES,), "2-norm"),
    "cpu": (Calls(lambda self, x: x.cpu()), (SCORES,), "cannot go to the host"),
    "to cpu": (Calls(lambda self, x: x.to("cpu")), (SCORES,), "cannot go to the host"),
}

ACCEPTED: dict[str, tuple[nn.Module, tuple[torch.Tensor, ...]]] = {
    "one_hot": (Calls(lambda self, x: F.one_hot(x, 5)), (TOKENS,)),
    "bincount": (Calls(lambda self, x: torch.bincount(x[0], minlength=5)), (TOKENS,)),
    "lstm": (module(nn.LSTM(3, 4, batch_first=True)), (SEQUENCE,)),
    "gru without bias": (module(nn.GRU(3, 4, bias=False)), (SEQUENCE,)),
    "ctc": (ctc("sum"), (SEQUENCE, torch.ones(2, 2, dtype=torch.long))),
    "embedding padding": (module(nn.Embedding(5, 2, padding_idx=0)), (TOKENS,)),
    "bag": (module(nn.EmbeddingBag(5, 2)), (TOKENS,)),
    "bag offsets": (
        Calls(lambda self, x: F.embedding_bag(x.view(-1), self.matrix, torch.arange(0, 6, 3))),
        (TOKENS,),
    ),
    "topk": (Calls(lambda self, x: x.topk(2)), (SCORES,)),
    "weighted soft targets": (
        Calls(lambda self, x: F.cross_entropy(x, x.softmax(1), weight=self.classes)),
        (SCORES,),
    ),
    "nearest": (upsample(scale_factor=1.5), (VOLUME,)),
    "bilinear": (upsample(scale_factor=2, mode="bilinear", align_corners=True), (IMAGE,)),
    "bilinear size": (upsample(size=(15, 15), mode="bilinear"), (IMAGE,)),
    "bicubic": (upsample(scale_factor=0.6, mode="bicubic"), (IMAGE,)),
    "adaptive": (module(nn.AdaptiveAvgPool2d((3, None))), (IMAGE,)),
    "max pool": (module(nn.MaxPool2d(2)), (IMAGE,)),
    "transposed": (module(nn.ConvTranspose2d(4, 2, 3, stride=2)), (IMAGE,)),
    "layer norm": (module(nn.LayerNorm(6, elementwise_affine=False)), (IMAGE,)),
    "triu": (Calls(lambda self, x: x * torch.triu(torch.ones(2, 5))), (SCORES,)),
    "bits": (Calls(lambda self, x: x & x), (TOKENS,)),
    "norm": (Calls(lambda self, x: (torch.linalg.norm(x, 2, dim=1), x.norm(), x.norm(2, 1))), (SCORES,)),
    "to ipu": (Calls(lambda self, x: x.to("ipu").to(torch.half).to(x.device)), (SCORES,)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    model, inputs, message = REFUSED[name]
    with pytest.raises(poptorch.Error) as caught:
        compile_inference(model, *inputs)
    text = str(caught.value)
    assert message in text
    assert "Instead: " in text
    assert f"at {__file__}:" in text
    assert text.count("Instead") == 1


def test_every_rule_has_a_test() -> None:
    tried = {*refusals._RULES.values(), *refusals._ENDING.values()}
    for model, inputs, _ in REFUSED.values():
        with pytest.MonkeyPatch.context() as patch:
            for table in (refusals._RULES, refusals._ENDING):
                for key, rule in table.items():

                    def watched(call: Any, rule: Any = rule) -> Any:
                        found = rule(call)
                        if found is not None:
                            tried.discard(rule)
                        return found

                    patch.setitem(table, key, watched)
            with pytest.raises(poptorch.Error):
                compile_inference(model, *inputs)
    assert not tried


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted(name: str) -> None:
    model, inputs = ACCEPTED[name]
    compile_inference(model, *inputs)


class Several(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(3, 5, num_layers=2)

    def forward(self, x: torch.Tensor, stop: str = "") -> torch.Tensor:
        y, _ = self.lstm(x)
        for _ in range(3):
            y = y.topk(3, sorted=False).values
        y = y.cpu()
        if stop == "value":
            y = y * y.sum().item()
        if stop == "shape":
            y = F.one_hot(y.long())
        if stop == "bug":
            y = y @ y
        return y


def caught_with(stop: str, kind: type[Exception] = poptorch.Error) -> Any:
    with pytest.raises(kind) as caught:
        compile_inference(Several(), SEQUENCE, stop)  # type: ignore[arg-type]
    return caught.value


def test_all_refused_calls_come_in_one_error() -> None:
    text = str(caught_with(""))
    first = Several.forward.__code__.co_firstlineno
    assert "3 calls in forward()" in text
    for number, (call, line) in enumerate((("LSTM", 1), ("topk", 3), ("cpu", 4)), start=1):
        section = text.split(f"  {number}. ")[1].split(f"  {number + 1}. ")[0]
        assert call in section
        assert f"at {__file__}:{first + line} in forward" in section


def test_a_call_that_ends_the_capture_comes_with_those_before_it() -> None:
    text = str(caught_with("value"))
    assert text.index("item()") < text.index("3 calls in forward()")
    text = str(caught_with("shape"))
    assert "4 calls in forward()" in text
    assert "one_hot" in text.split("  4. ")[1]


def test_a_bug_of_the_program_passes_and_its_line_is_logged(capfd: pytest.CaptureFixture[str]) -> None:
    error = caught_with("bug", RuntimeError)
    assert not isinstance(error, poptorch.Error)
    said = capfd.readouterr().err
    assert f"{__file__}:{Several.forward.__code__.co_firstlineno + 10} in forward" in said
    assert "3 calls in forward()" in said


def test_the_list_is_on_the_capture() -> None:
    from tremula.frontends.torch.capture.context import Capture
    from tremula.frontends.torch.capture.step import capture_step

    model = Calls(lambda self, x: x.topk(2, sorted=False).values)
    capture = Capture(training=False)
    with pytest.raises(poptorch.Error):
        capture_step(model, lambda xs: model(*xs), [SCORES], capture=capture, flatten=lambda r: [r])
    assert [refused.call for refused in capture.refused] == ["torch.topk"]


def test_the_advice_for_weighted_losses_computes_the_weighted_loss() -> None:
    def rewritten(self: Calls, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        weight = self.classes[y]
        loss = F.cross_entropy(x, y, reduction="none") * weight
        return poptorch.identity_loss(loss.sum() / weight.sum(), reduction="none")

    model = Calls(rewritten)
    target = TOKENS[:, 0]
    expected = F.cross_entropy(SCORES, target, weight=model.classes)
    options = poptorch.Options().showCompilationProgressBar(False)
    torch.testing.assert_close(poptorch.inferenceModel(model, options)(SCORES, target).squeeze(), expected)
