"""What operators do not check of their operands themselves, and a program from a file therefore has to keep.

Kernels of backward passes trust the values that their forward op saved: the shapes of means and norms, and the
positions of maxima. Here, shapes are compared with those that the forward op gives for the same operands, and
positions have to come from that very op, unchanged. Kernels of normalisations and recurrent layers trust the sizes of
weights, which are compared with the input.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

from tremula.frontends.torch.package import op_families

_aten = torch.ops.aten


class Operands:
    """The operands of a call by the names of its schema: nodes, and their fake tensors."""

    def __init__(self, node: fx.Node) -> None:
        schema = node.target._schema  # type: ignore[union-attr]
        self.node: dict[str, Any] = {each.name: each.default_value for each in schema.arguments}
        self.node.update(zip((each.name for each in schema.arguments), node.args, strict=False))
        self.node.update(node.kwargs)

    def __getitem__(self, name: str) -> Any:
        """The value, with a fake tensor for a node."""
        return fx.node.map_arg(self.node[name], lambda node: node.meta["val"])

    def fake_mode(self) -> FakeTensorMode:
        """The mode of the fake tensors."""
        fakes = (each.meta["val"] for each in self.node.values() if isinstance(each, fx.Node))
        return next(fake.fake_mode for fake in fakes if isinstance(fake, FakeTensor))

    def values(self, names: str) -> list[Any]:
        """Several values."""
        return [self[name] for name in names.split()]

    def shape(self, name: str) -> tuple[int, ...] | None:
        """The shape of a tensor, or None if there is none."""
        value = self[name]
        return tuple(value.shape) if isinstance(value, torch.Tensor) else None

    def sizes(self, names: str, *allowed: tuple[int, ...]) -> bool:
        """Whether the tensors, where they are given, have one of these shapes."""
        return all(shape is None or shape in allowed for shape in map(self.shape, names.split()))


Rule = Callable[[Operands], str | None]

_SAVED = "whose saved values are not those of its forward pass"
_SIZES = "whose weights do not fit its input"


def _like_forward(names: str, forward: Any, arguments: Callable[[Operands], Iterable[Any]]) -> Rule:
    """Operands have the shapes of what `forward` returns for these arguments; `names`: for each result, with commas."""

    def rule(operands: Operands) -> str | None:
        with operands.fake_mode():
            results = forward(*arguments(operands))
        results = results if isinstance(results, tuple | list) else (results,)
        for group, result in zip(names.split(), results, strict=False):
            for name in group.split(","):
                if operands[name] is not None and operands.shape(name) != tuple(result.shape):
                    return _SAVED
        return None

    return rule


def _from_forward(name: str, output: int, forward: Any, same: str) -> Rule:
    """Operand `name` is output `output` of a call of `forward` that has the operands `same`."""

    def rule(operands: Operands) -> str | None:
        source = _origin(operands.node[name])
        if not isinstance(source, fx.Node) or source.target is not operator.getitem:
            return _SAVED
        call, position = source.args
        if not isinstance(call, fx.Node) or call.target is not forward or position != output:
            return _SAVED
        other = Operands(call)
        equal = all(_origin(other.node[each]) == _origin(operands.node[each]) for each in same.split())
        return None if equal and other.shape("self") == operands.shape("self") else _SAVED

    return rule


def _origin(value: Any) -> Any:
    """The node that computes a value, past those that only pass it on."""
    while isinstance(value, fx.Node) and value.target in (_aten.detach.default, _aten.alias.default):
        value = value.args[0]
    return value


def _all(*rules: Rule) -> Rule:
    def rule(operands: Operands) -> str | None:
        return next((found for found in (each(operands) for each in rules) if found is not None), None)

    return rule


def _channels(names: str) -> Rule:
    """Tensors with one value for each channel of the input."""

    def rule(operands: Operands) -> str | None:
        shape = operands.shape("input")
        sound = shape is not None and len(shape) >= 2 and operands.sizes(names, (shape[1],), (0,))
        return None if sound else _SIZES

    return rule


def _group_norm(operands: Operands) -> str | None:
    samples, channels, places, groups = operands.values("N C HxW group")
    shape = operands.shape("input")
    sound = (
        shape is not None
        and len(shape) >= 2
        and shape[:2] == (samples, channels)
        and min(samples, channels, places, groups) >= 0
        and operands["input"].numel() == samples * channels * places
        and groups > 0
        and channels % groups == 0
        and operands.sizes("weight", (channels,))
        and ("bias" not in operands.node or operands.sizes("bias", (channels,)))
    )
    return None if sound else _SIZES


def _same_shape(first: str, second: str) -> Rule:
    return lambda operands: None if operands.shape(first) == operands.shape(second) else _SAVED


def _embedding_backward(operands: Operands) -> str | None:
    # with it, the kernel counts how often each index occurs, in memory that the index itself selects
    return "which scales by frequency" if operands["scale_grad_by_freq"] else None


def _attention(operands: Operands) -> str | None:
    query, key, value = (operands.shape(name) for name in ("query", "key", "value"))
    if query is None or key is None or value is None or not len(query) == len(key) == len(value) == 4:
        return _SIZES
    sound = query[:2] == key[:2] and query[3] == key[3] and key == value
    mask = operands.shape("attn_mask")
    if mask is not None:
        whole = (*query[:3], key[2])
        places = zip(reversed(mask), reversed(whole), strict=False)
        sound = sound and len(mask) in (2, 4) and all(size in (1, most) for size, most in places)
    return None if sound else _SIZES


def _upsampled(operands: Operands) -> str | None:
    before, after = operands.values("input_size output_size")
    expected = (*before[:2], *after)
    sound = min(expected) >= 0 and operands.shape("grad_output") == expected and len(before) == len(expected)
    return None if sound else _SAVED


def _weight_norm(vectors: str, lengths: str) -> Rule:
    def rule(operands: Operands) -> str | None:
        shape, axis = operands.shape(vectors), operands["dim"]
        if shape is None or axis not in (0, len(shape) - 1):
            return _SIZES
        expected = tuple(size if place == axis else 1 for place, size in enumerate(shape))
        return None if operands.shape(lengths) == expected else _SIZES

    return rule


#: gates of a recurrent layer by the number of its kind: ReLU, tanh, LSTM, GRU
_GATES = {0: 1, 1: 1, 2: 4, 3: 3}


def _recurrent(operands: Operands) -> str | None:
    mode, hidden, layers, both, batch_first, batches = operands.values(
        "mode hidden_size num_layers bidirectional batch_first batch_sizes"
    )
    shape, gates = operands.shape("input"), _GATES.get(mode, 0)
    if shape is None or len(shape) != 3 or hidden < 1 or layers != 1 or both or batches or batch_first:
        return _SIZES
    rows, state = gates * hidden, (shape[1], hidden)
    sound = (
        operands.sizes("weight0", (rows, shape[2]))
        and operands.sizes("weight1", (rows, hidden))
        and operands.sizes("weight2 weight3", (rows,))
        and operands.sizes("hx_ cx_", state, (1, *state))
    )
    return None if sound else _SIZES


_CONVOLUTION = "stride padding dilation transposed output_padding groups"
_POOL = "self kernel_size stride padding dilation ceil_mode"
_MEANS = "self kernel_size stride padding ceil_mode count_include_pad divisor_override"
_NLL = "self target weight reduction ignore_index"
_ATTENTION = "query key value dropout_p is_causal"

#: packet -> what its operands have to keep; None if they do
RULES: dict[str, Rule] = {
    "native_batch_norm": _channels("weight bias running_mean running_var"),
    "_native_batch_norm_legit": _channels("weight bias running_mean running_var"),
    "_native_batch_norm_legit_functional": _channels("weight bias running_mean running_var"),
    "_native_batch_norm_legit_no_training": _channels("weight bias running_mean running_var"),
    "native_group_norm": _group_norm,
    "_softmax_backward_data": _same_shape("grad_output", "output"),
    "_log_softmax_backward_data": _same_shape("grad_output", "output"),
    "embedding_dense_backward": _embedding_backward,
    "mkldnn_rnn_layer": _recurrent,
    "native_batch_norm_backward": _all(
        _channels("weight running_mean running_var"),
        _like_forward(
            "grad_out save_mean save_invstd",
            _aten.native_batch_norm.default,
            lambda o: [o["input"], o["weight"], None, *o.values("running_mean running_var train"), 0.1, 1e-5],
        ),
    ),
    "native_layer_norm_backward": _like_forward(
        "grad_out mean rstd",
        _aten.native_layer_norm.default,
        lambda o: [*o.values("input normalized_shape weight bias"), 1e-5],
    ),
    "native_group_norm_backward": _all(
        _group_norm,
        _like_forward(
            "grad_out mean rstd",
            _aten.native_group_norm.default,
            lambda o: [o["input"], o["weight"], None, *o.values("N C HxW group"), 1e-5],
        ),
    ),
    "max_pool2d_with_indices_backward": _all(
        _like_forward(
            "grad_output indices", _aten.max_pool2d_with_indices.default, lambda o: o.values(_POOL)
        ),
        _from_forward("indices", 1, _aten.max_pool2d_with_indices.default, _POOL.removeprefix("self ")),
    ),
    "max_pool3d_with_indices_backward": _all(
        _like_forward(
            "grad_output indices", _aten.max_pool3d_with_indices.default, lambda o: o.values(_POOL)
        ),
        _from_forward("indices", 1, _aten.max_pool3d_with_indices.default, _POOL.removeprefix("self ")),
    ),
    "adaptive_max_pool2d_backward": _all(
        _like_forward(
            "grad_output indices",
            _aten.adaptive_max_pool2d.default,
            lambda o: [o["self"], o["grad_output"].shape[-2:]],
        ),
        _from_forward("indices", 1, _aten.adaptive_max_pool2d.default, ""),
    ),
    "adaptive_max_pool3d_backward": _all(
        _like_forward(
            "grad_output indices",
            _aten.adaptive_max_pool3d.default,
            lambda o: [o["self"], o["grad_output"].shape[-3:]],
        ),
        _from_forward("indices", 1, _aten.adaptive_max_pool3d.default, ""),
    ),
    "nll_loss_backward": _all(
        _like_forward("grad_output total_weight", _aten.nll_loss_forward.default, lambda o: o.values(_NLL)),
        _from_forward(
            "total_weight", 1, _aten.nll_loss_forward.default, "target weight reduction ignore_index"
        ),
    ),
    "nll_loss2d_backward": _all(
        _like_forward("grad_output total_weight", _aten.nll_loss2d_forward.default, lambda o: o.values(_NLL)),
        _from_forward(
            "total_weight", 1, _aten.nll_loss2d_forward.default, "target weight reduction ignore_index"
        ),
    ),
    "_scaled_dot_product_flash_attention_for_cpu": _attention,
    "_scaled_dot_product_flash_attention_for_cpu_backward": _all(
        _attention,
        _like_forward(
            "out,grad_out logsumexp",
            _aten._scaled_dot_product_flash_attention_for_cpu.default,
            lambda o: o.values(_ATTENTION),
        ),
    ),
    "_adaptive_avg_pool2d_backward": _like_forward(
        "grad_output", _aten._adaptive_avg_pool2d.default, lambda o: [o["self"], o["grad_output"].shape[-2:]]
    ),
    "_adaptive_avg_pool3d_backward": _like_forward(
        "grad_output", _aten._adaptive_avg_pool3d.default, lambda o: [o["self"], o["grad_output"].shape[-3:]]
    ),
    "avg_pool2d_backward": _like_forward("grad_output", _aten.avg_pool2d.default, lambda o: o.values(_MEANS)),
    "avg_pool3d_backward": _like_forward("grad_output", _aten.avg_pool3d.default, lambda o: o.values(_MEANS)),
    "unfold_backward": _like_forward(
        "grad_in",
        lambda like, sizes, *rest: _aten.unfold.default(like.new_empty(sizes), *rest),
        lambda o: o.values("grad_in input_sizes dim size step"),
    ),
    "glu_backward": _like_forward("grad_output", _aten.glu.default, lambda o: o.values("self dim")),
    "convolution_backward": _like_forward(
        "grad_output",
        _aten.convolution.default,
        lambda o: [*o.values("input weight"), None, *o.values(_CONVOLUTION)],
    ),
    "_weight_norm_interface": _weight_norm("v", "g"),
    "_cdist_backward": _like_forward(
        "cdist,grad", _aten._cdist_forward.default, lambda o: [*o.values("x1 x2 p"), None]
    ),
    "_weight_norm_interface_backward": _all(
        _weight_norm("saved_v", "saved_g"),
        _like_forward(
            "grad_w saved_norms",
            _aten._weight_norm_interface.default,
            lambda o: o.values("saved_v saved_g dim"),
        ),
    ),
    "grid_sampler_2d_backward": _like_forward(
        "grad_output",
        _aten.grid_sampler_2d.default,
        lambda o: o.values("input grid interpolation_mode padding_mode align_corners"),
    ),
    "grid_sampler_3d_backward": _like_forward(
        "grad_output",
        _aten.grid_sampler_3d.default,
        lambda o: o.values("input grid interpolation_mode padding_mode align_corners"),
    ),
}

RULES.update(
    {
        f"{kind}{axes}d_backward": _like_forward(
            "grad_output", getattr(_aten, f"{kind}{axes}d").default, lambda o: o.values("self padding")
        )
        for kind in ("reflection_pad", "replication_pad")
        for axes in (1, 2, 3)
    }
)
RULES.update({name: _upsampled for name in op_families.INTERPOLATION.split() if name.endswith("_backward")})

#: operands that nothing may write to between the forward op and this one
_UNCHANGED = {
    "nll_loss_backward": "target",
    "nll_loss2d_backward": "target",
    "max_pool2d_with_indices_backward": "indices",
    "max_pool3d_with_indices_backward": "indices",
    "adaptive_max_pool2d_backward": "indices",
    "adaptive_max_pool3d_backward": "indices",
}


def broken_rule(graph: fx.Graph) -> str | None:
    """The first call of a graph whose operands are not safe, in words; None if there is none.

    Every node carries a fake tensor, and views share the memory of their base as real ones do.
    """
    kept: dict[int, str] = {}
    for node in graph.nodes:
        packet = _packet(node)
        if packet in RULES:
            try:
                problem = RULES[packet](Operands(node))
            except Exception as found:  # of the forward op, which refuses these operands
                problem = f"{_SAVED} ({found})"
            if problem is not None:
                return f"calls {packet}, {problem}"
        if packet in _UNCHANGED:
            kept[_memory(Operands(node)[_UNCHANGED[packet]])] = packet
    for node in graph.nodes if kept else ():
        for written in _written(node):
            if _memory(written) in kept:
                return f"changes what {kept[_memory(written)]} takes as saved"
    return None


def _packet(node: fx.Node) -> str:
    if not isinstance(node.target, torch._ops.OpOverload) or node.target.namespace != "aten":
        return ""
    return node.target._schema.name.partition("::")[2]


def _memory(tensor: torch.Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)


def _written(node: fx.Node) -> Iterable[torch.Tensor]:
    if not isinstance(node.target, torch._ops.OpOverload) or not node.target._schema.is_mutable:
        return
    operands = Operands(node)
    for argument in node.target._schema.arguments:
        if argument.is_write:
            values = operands[argument.name]
            yield from (each for each in _flat(values) if isinstance(each, torch.Tensor))


def _flat(values: Any) -> Iterable[Any]:
    return values if isinstance(values, list | tuple) else [values]
