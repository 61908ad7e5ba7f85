"""Calls that the real compiler refuses, collected during a capture and reported together. Conditions follow the public
documentation and PopTorch's checks; the texts are ours, except for fragments that programs match on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

from tremula.errors import Error
from tremula.frontends.torch.capture.context import Capture
from tremula.frontends.torch.capture.record import node_of
from tremula.frontends.torch.capture.support import varying_nodes
from tremula.frontends.torch.errors import compile_error
from tremula.program.op import SourceLine
from tremula.program.source import user_line


@dataclass(frozen=True)
class Refused:
    """One call that the real compiler would refuse."""

    call: str
    reason: str
    rewrite: str
    source: SourceLine | None = None

    def __str__(self) -> str:
        where = f"\n     at {self.source}" if self.source is not None else ""
        return f"{self.call}: {self.reason}\n     Instead: {self.rewrite}{where}"


@dataclass(frozen=True)
class _Call:
    """A call of a torch function; arguments are looked up by position or by name."""

    func: Callable[..., Any]
    args: Any
    kwargs: dict[str, Any]

    def get(self, position: int, name: str, default: Any = None) -> Any:
        if name in self.kwargs:
            return self.kwargs[name]
        return self.args[position] if len(self.args) > position else default

    @property
    def functional(self) -> bool:
        """Whether this is the function of torch.nn.functional, where torch has another of the same name."""
        return getattr(self.func, "__module__", None) == "torch.nn.functional"


_RECURRENT = {
    "lstm": "torch.nn.LSTM",
    "gru": "torch.nn.GRU",
    "rnn_tanh": "torch.nn.RNN",
    "rnn_relu": "torch.nn.RNN",
}


def _recurrent(call: _Call) -> Refused | None:
    kind = call.func.__name__
    name = _RECURRENT[kind]
    if len(call.args) < 8 or not isinstance(call.args[3], bool):
        return Refused(
            name,
            "packed sequences are not supported.",
            "pass the padded tensor and mask the elements beyond each length.",
        )
    biases, layers, dropout, _, both_ways = call.args[3:8]
    reasons = []
    rewrites = []
    if layers != 1:
        reasons.append(f"num_layers={layers} (only 1 is supported)")
        rewrites.append(f"stack {layers} layers of one each, the output of one being the input of the next")
    if both_ways:
        reasons.append("bidirectional=True")
        rewrites.append("run a second layer on x.flip(time), flip its output back and torch.cat the two")
    if dropout:
        reasons.append(f"dropout={dropout:g}")
        rewrites.append("put torch.nn.Dropout between single layers")
    if not biases and kind != "gru":
        reasons.append("bias=False")
        rewrites.append("keep the biases, set to zero and without gradient")
    if not reasons:
        return None
    return Refused(name, f"{', '.join(reasons)}: not supported.", f"{'; '.join(rewrites)}.")


def _embedding(call: _Call) -> Refused | None:
    by_frequency, sparse = (5, 6) if call.functional else (3, 4)
    return _sparse_gradient("torch.nn.Embedding", call, by_frequency, sparse)


def _sparse_gradient(name: str, call: _Call, by_frequency: int, sparse: int) -> Refused | None:
    given = [
        f"{option}=True"
        for option, position in (("scale_grad_by_freq", by_frequency), ("sparse", sparse))
        if call.get(position, option, False)
    ]
    if not given:
        return None
    return Refused(name, f"{' and '.join(given)}: not supported; gradients are dense.", "leave it out.")


def _embedding_bag(call: _Call) -> Refused | None:
    if not call.functional:
        return None
    name = "torch.nn.EmbeddingBag"
    refused = _sparse_gradient(name, call, 5, 7)
    if refused is not None:
        return refused
    padding = call.get(10, "padding_idx")
    if padding is not None and padding >= 0:
        return Refused(
            name,
            "padding_idx is not supported.",
            "keep that row of the weight at zero, or use torch.nn.Embedding(padding_idx=...) and a sum.",
        )
    if _varies(call.get(2, "offsets")):
        return Refused(
            name,
            "offsets must be a constant: they decide how the graph is cut into bags.",
            "create them inside forward() from Python numbers, for instance torch.arange(0, n, size), or use "
            "a two-dimensional input, one bag per row.",
        )
    return None


def _weighted_loss(call: _Call) -> Refused | None:
    weight, target = call.get(2, "weight"), call.get(1, "target")
    if weight is None or (isinstance(target, torch.Tensor) and target.is_floating_point()):
        return None
    return Refused(
        f"torch.nn.functional.{call.func.__name__}",
        "weight (per class) is not supported.",
        "loss = f(x, target, reduction='none') * weight[target], then poptorch.identity_loss(loss.sum() / "
        "weight[target].sum(), reduction='none').",
    )


def _interpolate(call: _Call) -> Refused | None:
    mode = call.get(3, "mode", "nearest")
    name = f"torch.nn.functional.interpolate(mode={mode!r})"
    nearest = "mode='nearest'."
    if mode in ("linear", "trilinear"):
        return Refused(
            name,
            "unsupported upsampling mode: in one and three dimensions only 'nearest' is supported.",
            nearest,
        )
    if mode == "bicubic" and call.get(4, "align_corners", False):
        return Refused(name, "align_corners=True is not supported.", "align_corners=False.")
    if mode != "bilinear":
        return None
    size, scale = call.get(1, "size"), call.get(2, "scale_factor")
    if size is not None:
        shape = call.get(0, "input").shape[2:]
        sizes = (size,) * len(shape) if isinstance(size, int) else tuple(size)
        factors = {wanted / extent for wanted, extent in zip(sizes, shape, strict=False)}
    else:
        factors = {float(factor) for factor in (scale if isinstance(scale, list | tuple) else [scale])}
        if any(factor != int(factor) for factor in factors) and not call.get(5, "recompute_scale_factor"):
            return Refused(
                name, f"scale_factor={scale} is not a whole number.", f"a whole number, or {nearest}"
            )
    if len(factors) > 1:
        return Refused(name, "height and width have different factors.", f"one factor for both, or {nearest}")
    return None


def _adaptive_avg_pool(call: _Call) -> Refused | None:
    size = call.get(1, "output_size")
    dims = int(call.func.__name__[-2])
    shape = call.get(0, "input").shape[-dims:]
    sizes = [size] * dims if isinstance(size, int) else list(size)
    if len(sizes) != dims or all(
        w is None or w == 0 or n % w == 0 for n, w in zip(shape, sizes, strict=True)
    ):
        return None
    return Refused(
        f"torch.nn.AdaptiveAvgPool{dims}d",
        f"an input of {list(shape)} cannot be divided into {sizes} equal parts, and unequal ones are not supported.",
        "an output size that divides the input's, or padding or torch.nn.functional.interpolate before it.",
    )


def _max_pool_indices(call: _Call) -> Refused | None:
    return Refused(
        f"torch.nn.MaxPool{call.func.__name__[len('max_pool')]}d",
        "return_indices=True is not supported.",
        "return_indices=False; torch.nn.Upsample or a transposed convolution in the place of max_unpool.",
    )


def _dilated_transpose(call: _Call) -> Refused | None:
    dilation = call.get(7, "dilation", 1)
    if all(step == 1 for step in (dilation if isinstance(dilation, list | tuple) else (dilation,))):
        return None
    return Refused(
        f"torch.nn.functional.{call.func.__name__}",
        f"dilation={dilation} is not supported for transposed convolutions.",
        "dilation=1 with a larger kernel with zeros in between.",
    )


def _eight_bit(call: _Call) -> Refused | None:
    dtypes = {value.dtype for value in call.args if isinstance(value, torch.Tensor)}
    if len(dtypes) != 1 or not dtypes <= {torch.uint8, torch.int8}:
        return None
    return Refused(
        f"torch.{call.func.__name__.strip('_')}",
        "bitwise operations on 8-bit integers are not supported.",
        "convert with .int() first, or use bool tensors.",
    )


def _matrix_norm(call: _Call) -> Refused | None:
    matrix, order, dim = call.get(0, "input"), call.get(1, "ord", call.kwargs.get("p")), call.get(2, "dim")
    name = call.func.__name__
    of_matrix = name == "linalg_matrix_norm" or (
        name == "linalg_norm"
        and (len(dim) == 2 if isinstance(dim, list | tuple) else dim is None and matrix.dim() == 2)
    )
    if order != "nuc" and not (of_matrix and order in (2, -2)):
        return None
    return Refused(
        f"torch.{name.replace('linalg_', 'linalg.')}",
        f"the {'nuclear norm' if order == 'nuc' else '2-norm'} of a matrix is not supported.",
        "the Frobenius norm (ord='fro').",
    )


def _to_host(call: _Call) -> Refused | None:
    # A torch.device may be what another tensor of the capture says of itself, which is not a move.
    names_host = "cpu" in [
        place for place in (*call.args[1:], *call.kwargs.values()) if isinstance(place, str)
    ]
    if not isinstance(call.args[0], FakeTensor) or not (names_host or call.func.__name__ == "cpu"):
        return None
    return Refused(
        f"tensor.{call.func.__name__}",
        "a tensor cannot go to the host in the middle of the graph.",
        "leave the call out; return the tensor and use it there, or wrap host code with poptorch.CPU.",
    )


def _varies(value: Any) -> bool:
    """Whether a tensor of the capture depends on inputs, weights or random numbers."""
    node = node_of(value) if isinstance(value, FakeTensor) else None
    return node is not None and node in varying_nodes(node.graph)


_Rule = Callable[[_Call], Refused | None]


def _when(condition: Callable[[_Call], Any], call: str, reason: str, rewrite: str) -> _Rule:
    """A rule with fixed texts; `{name}` in `call` is the name of the function."""

    def rule(given: _Call) -> Refused | None:
        named = call.format(name=given.func.__name__)
        return Refused(named, reason, rewrite) if condition(given) else None

    return rule


def _different_shapes(call: _Call) -> bool:
    one, other = call.get(0, "input"), call.get(1, "other")
    return isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor) and one.shape != other.shape


#: calls whose result has no static shape: nothing after them can be captured
_ENDING: dict[str, _Rule] = {
    "one_hot": _when(
        lambda call: call.get(1, "num_classes", -1) == -1,
        "torch.nn.functional.one_hot",
        "OneHot num classes must be specified and must be constant: its default is found by looking for the "
        "largest value, and the shape of the result may not depend on data.",
        "one_hot(x, num_classes=...).",
    ),
    "bincount": _when(
        lambda call: not call.get(2, "minlength", 0),
        "torch.bincount",
        "Bincount `minlength` must be specified: the shape of the result may not depend on data, so there are "
        "exactly that many bins.",
        "bincount(x, minlength=...) with the largest value that can come, plus one.",
    ),
}
_HALF_AFFINE = _when(
    lambda call: (call.get(2, "weight") is None) != (call.get(3, "bias") is None),
    "torch.nn.functional.{name}",
    "a weight without a bias (or the other way round) is not supported.",
    "both or neither; a bias of zeros without gradient does no harm.",
)
_TRIU = _when(
    lambda call: _varies(call.get(0, "input")),
    "torch.triu",
    "it is only supported on constants.",
    "x * torch.triu(torch.ones(rows, columns)), or masked_fill with such a constant mask.",
)
_CROSS = _when(
    _different_shapes,
    "torch.cross",
    "shapes must be equal; they are not broadcast.",
    "expand() the smaller one.",
)
_RULES: dict[str, _Rule] = {
    **dict.fromkeys(_RECURRENT, _recurrent),
    "ctc_loss": _when(
        lambda call: call.get(5, "reduction", "mean") in ("none", 0),
        "torch.nn.functional.ctc_loss",
        "reduction='none' is not supported.",
        "reduction='sum' or 'mean'.",
    ),
    "embedding": _embedding,
    "embedding_bag": _embedding_bag,
    "topk": _when(
        lambda call: not call.get(4, "sorted", True),
        "torch.topk",
        "sorted=False is not supported.",
        "leave it out; the result is sorted.",
    ),
    **dict.fromkeys(("cross_entropy", "nll_loss"), _weighted_loss),
    "interpolate": _interpolate,
    **{f"adaptive_avg_pool{dims}d": _adaptive_avg_pool for dims in (1, 2, 3)},
    **{f"max_pool{dims}d_with_indices": _max_pool_indices for dims in (1, 2, 3)},
    **{f"conv_transpose{dims}d": _dilated_transpose for dims in (1, 2, 3)},
    **dict.fromkeys(("layer_norm", "group_norm"), _HALF_AFFINE),
    **dict.fromkeys(("triu", "triu_"), _TRIU),
    "as_strided": _when(
        lambda call: True,
        "torch.as_strided",
        "tensors on the device have no strides.",
        "an equivalent view, permute, unfold or index_select.",
    ),
    **{f"bitwise_{kind}": _eight_bit for kind in ("and", "or", "xor")},
    **{f"__{kind}__": _eight_bit for kind in ("and", "or", "xor")},
    **dict.fromkeys(("cross", "linalg_cross"), _CROSS),
    **dict.fromkeys(("norm", "linalg_norm", "linalg_matrix_norm"), _matrix_norm),
    **dict.fromkeys(("to", "cpu"), _to_host),
}


def refuse_if_unsupported(
    capture: Capture, name: str, func: Callable[..., Any], args: Any, kwargs: dict[str, Any]
) -> None:
    """Note on `capture` that the real compiler would refuse this call; raise if nothing after it can be captured."""
    rule = _RULES.get(name) or _ENDING.get(name)
    if rule is None:
        return
    found = rule(_Call(func, args, kwargs))
    if found is None:
        return
    refused = Refused(found.call, found.reason, found.rewrite, user_line())
    if refused not in capture.refused:  # a line in a loop is one to change
        capture.refused.append(refused)
    if name in _ENDING:
        raise refusal(capture.refused)


def refusal(refused: list[Refused]) -> Error:
    """One Error for all of `refused`."""
    if len(refused) == 1:
        return compile_error(str(refused[0]))
    listed = "\n".join(f"  {number}. {each}" for number, each in enumerate(refused, start=1))
    return compile_error(
        f"{len(refused)} calls in forward() are not supported by the real compiler:\n{listed}",
    )
