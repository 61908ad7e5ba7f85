"""Reductions over dimensions, products, normalisation and losses."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from tremula.frontends.popxl.broadcasting import as_first
from tremula.frontends.popxl.info import TensorInfo
from tremula.frontends.popxl.model import Op
from tremula.frontends.popxl.ops.table import Function, kernel
from tremula.frontends.popxl.runtime_errors import check_log2_scale
from tremula.frontends.torch.execute.products import quick_matmul

_REDUCTIONS: dict[str, Callable[[Tensor, list[int], bool], Tensor]] = {
    "ReduceSum": lambda t, dims, keep: t.sum(dims, keep, dtype=t.dtype),
    "ReduceMean": lambda t, dims, keep: t.mean(dims, keep) if t.is_floating_point() else _mean(t, dims, keep),
    "ReduceMax": torch.amax,
    "ReduceMin": torch.amin,
    "ReduceProd": lambda t, dims, keep: _product(t, dims, keep),
    "ReduceL1": lambda t, dims, keep: t.abs().sum(dims, keep, dtype=t.dtype),
    "ReduceL2": lambda t, dims, keep: (t * t).sum(dims, keep, dtype=t.dtype).sqrt().to(t.dtype),
    "ReduceLogSum": lambda t, dims, keep: t.sum(dims, keep).log(),
    "ReduceLogSumExp": lambda t, dims, keep: torch.logsumexp(t, dims, keep),
    "ReduceSumSquare": lambda t, dims, keep: (t * t).sum(dims, keep, dtype=t.dtype),
}


def _mean(tensor: Tensor, dims: list[int], keep: bool) -> Tensor:
    return tensor.double().mean(dims, keep).to(tensor.dtype)


def _product(tensor: Tensor, dims: list[int], keep: bool) -> Tensor:
    for dim in sorted(dims, reverse=True):
        tensor = tensor.prod(dim, keep, dtype=tensor.dtype)
    return tensor


def dims_of(op: Op) -> list[int]:
    """The dimensions that a reduction goes over."""
    rank = len(op.inputs[0].type.shape)
    axes = op.attributes.get("axes")
    return list(range(rank)) if axes is None else [axis % rank if rank else axis for axis in axes]


def _register(kind: str, reduce: Callable[[Tensor, list[int], bool], Tensor]) -> None:
    @kernel(kind)
    def make(op: Op) -> Function:
        dims, keep = dims_of(op), bool(op.attributes.get("keepdims", False))
        if not op.inputs[0].type.shape:
            return lambda tensor: reduce(tensor.reshape(1), [0], False)
        return lambda tensor: reduce(tensor, dims, keep)


for _kind, _reduce in _REDUCTIONS.items():
    _register(_kind, _reduce)


@kernel("LambSquare", dtypes=["float32"])
def _lamb_square(op: Op) -> Function:
    return lambda tensor: tensor.float().square().sum()


@kernel("MatMul")
def _matmul(op: Op) -> Function:
    output = op.attributes.get("output_type")
    if 2 in op.inputs:
        return lambda first, second, scale: _scaled_matmul(op, first, second, scale)
    if output is None or output == op.inputs[0].type.dtype:
        return quick_matmul
    wanted = {"float16": torch.float16, "float32": torch.float32}[output]
    return lambda first, second: torch.matmul(first.float(), second.float()).to(wanted)


def _scaled_matmul(op: Op, first: Tensor, second: Tensor, log2_scale: Tensor) -> Tensor:
    """A product of float8 tensors, scaled by a power of two, in half precision."""
    check_log2_scale(log2_scale, op)
    return (torch.matmul(first.float(), second.float()) * torch.exp2(log2_scale.float())).half()


@kernel("Softmax", infer=as_first)
def _softmax(op: Op) -> Function:
    axis = op.attributes["axis"]
    return lambda tensor: functional.softmax(tensor, axis)


@kernel("CumSum", infer=as_first)
def _cumulative_sum(op: Op) -> Function:
    axis = op.attributes["axis"]
    return lambda tensor: torch.cumsum(tensor, axis, dtype=tensor.dtype)


def _group_norm_infos(op: Op) -> dict[int, TensorInfo]:
    info = op.inputs[0].type
    count = info.shape[0] * op.attributes["num_groups"]
    statistics = TensorInfo("float32", (count,))
    return {0: info, 1: statistics, 2: statistics}


@kernel("GroupNorm", op_type="GroupNormalization", infer=_group_norm_infos)
def _group_norm(op: Op) -> Function:
    groups, epsilon = op.attributes["num_groups"], op.attributes["epsilon"]
    statistics = any(tensor.consumers for index, tensor in op.outputs.items() if index)

    def run(tensor: Tensor, scale: Tensor, bias: Tensor) -> tuple[Tensor, ...]:
        if groups == 1 and tensor.dim() == 2:
            normed = functional.layer_norm(tensor, tensor.shape[1:], scale, bias, epsilon)
        else:
            if getattr(getattr(op, "ir", None), "strided_groups", False):
                normed = _strided_norm(tensor, scale, bias, groups, epsilon)
            else:
                normed = functional.group_norm(tensor, groups, scale, bias, epsilon)
        if not statistics:
            return (normed, tensor.new_empty(0), tensor.new_empty(0))
        wide = tensor.float().reshape(tensor.shape[0], groups, -1)
        variance = wide.var(-1, correction=0)
        return normed, wide.mean(-1).reshape(-1), torch.rsqrt(variance + epsilon).reshape(-1)

    return run


def _strided_norm(tensor: Tensor, scale: Tensor, bias: Tensor, groups: int, epsilon: float) -> Tensor:
    """Channel c belongs to group c % groups."""
    batch, channels = tensor.shape[:2]
    size = channels // groups
    turned = tensor.reshape(batch, size, groups, -1).transpose(1, 2).reshape(batch, channels, -1)
    normed = functional.group_norm(turned, groups, None, None, epsilon)
    normed = normed.reshape(batch, groups, size, -1).transpose(1, 2).reshape(tensor.shape)
    shape = [1, channels, *[1] * (tensor.dim() - 2)]
    return normed * scale.reshape(shape) + bias.reshape(shape)


@kernel("BatchNorm", op_type="BatchNormalization", infer=as_first)
def _batch_norm(op: Op) -> Function:
    epsilon = op.attributes["epsilon"]

    def run(tensor: Tensor, scale: Tensor, bias: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        return functional.batch_norm(tensor, mean, variance, scale, bias, False, 0.0, epsilon)

    return run


#: a probability of 0 is taken as this, whose logarithm is finite
_LEAST = {torch.float16: 6e-8, torch.float32: 1.17549435e-38}


def _losses(logs: Tensor, labels: Tensor, ignored: int | None) -> tuple[Tensor, Tensor | None]:
    """Per label minus its logarithm of the probability, and which of them count."""
    places = labels.long()
    if ignored is None:
        return -logs.gather(-1, places.unsqueeze(-1)).squeeze(-1), None
    counts = places != ignored
    places = torch.where(counts, places, torch.zeros_like(places))
    losses = -logs.gather(-1, places.unsqueeze(-1)).squeeze(-1)
    return torch.where(counts, losses, torch.zeros_like(losses)), counts


def _reduced(losses: Tensor, counts: Tensor | None, reduction: str) -> Tensor:
    if reduction == "none":
        return losses
    if reduction == "sum":
        return losses.sum()
    return losses.mean() if counts is None else losses.sum() / counts.sum().to(losses.dtype)


@kernel("Nll")
def _nll(op: Op) -> Function:
    ignored, reduction = op.attributes.get("ignore_index"), op.attributes["reduction"]
    as_logs = op.attributes.get("log_prob", False)

    def run(probabilities: Tensor, labels: Tensor) -> Tensor:
        logs = probabilities
        if not as_logs:
            logs = probabilities.clamp_min(_LEAST.get(probabilities.dtype, 1e-38)).log()
        return _reduced(*_losses(logs, labels, ignored), reduction)

    return run


@kernel("NlllWithSoftmaxGradDirect", dtypes=["=0", "=0"])
def _nll_with_gradient(op: Op) -> Function:
    """The loss of probabilities, and its gradient with respect to what softmax made them from."""
    ignored, reduction = op.attributes.get("ignore_index"), op.attributes["reduction"]

    def run(probabilities: Tensor, labels: Tensor, seed: Tensor) -> tuple[Tensor, Tensor]:
        logs = probabilities.clamp_min(_LEAST.get(probabilities.dtype, 1e-38)).log()
        losses, counts = _losses(logs, labels, ignored)
        places = labels.long().clamp(0, probabilities.shape[-1] - 1)
        hot = torch.zeros_like(probabilities).scatter(-1, places.unsqueeze(-1), 1.0)
        gradient = probabilities - hot
        if counts is not None:
            gradient = gradient * counts.unsqueeze(-1).to(gradient.dtype)
        scale = seed.to(gradient.dtype)
        if reduction == "mean":
            total = losses.numel() if counts is None else counts.sum().to(gradient.dtype)
            scale = scale / total
        if scale.dim():
            scale = scale.unsqueeze(-1)
        return _reduced(losses, counts, reduction), gradient * scale

    return run
