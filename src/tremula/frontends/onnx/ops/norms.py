"""Normalisations."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional

from tremula.frontends.onnx.call import Call
from tremula.frontends.onnx.ops.broadcasting import axis_of
from tremula.frontends.onnx.ops.table import op


@op("BatchNormalization")
def batch_norm(
    call: Call, tensor: Tensor, scale: Tensor, bias: Tensor, mean: Tensor, variance: Tensor
) -> list[Tensor]:
    training = call.flag("training_mode") if call.version >= 14 else call.outputs > 1
    if call.version < 7 and call.flag("is_test"):
        training = False
    if not call.flag("spatial", True):
        # each activation is a channel of its own
        flat = [each.reshape(-1) for each in (scale, bias, mean, variance)]
        normed, *others = batch_normalised(call, tensor.flatten(1), *flat, training=training, unbiased=False)
        return [normed.reshape(tensor.shape), *(each.reshape(scale.shape) for each in others)]
    return batch_normalised(call, tensor, scale, bias, mean, variance, training=training, unbiased=False)


def batch_normalised(
    call: Call,
    tensor: Tensor,
    scale: Tensor,
    bias: Tensor,
    mean: Tensor,
    variance: Tensor,
    *,
    training: bool,
    unbiased: bool,
) -> list[Tensor]:
    """The result and, in training, new running statistics and those of the batch.

    `unbiased`: the running variance is that of a sample.
    """
    epsilon, momentum = call.number("epsilon", 1e-5), call.number("momentum", 0.9)
    if not tensor.numel():
        return [tensor, mean, variance, mean, variance] if training else [tensor]
    if not training:
        normed = functional.batch_norm(
            tensor,
            mean.detach().to(scale.dtype),
            variance.detach().to(scale.dtype),
            scale,
            bias,
            False,
            0.0,
            epsilon,
        )
        return [normed]
    normed, now_mean, now_variance = _by_batch(tensor, scale, bias, epsilon)
    with torch.no_grad():
        count = tensor.numel() // tensor.shape[1]
        kept = now_variance * (count / max(count - 1, 1)) if unbiased else now_variance
        new_mean = mean * momentum + now_mean * (1 - momentum)
        new_variance = variance * momentum + kept * (1 - momentum)
    return [normed, new_mean.to(mean.dtype), new_variance.to(variance.dtype), now_mean, now_variance]


def _by_batch(tensor: Tensor, scale: Tensor, bias: Tensor, epsilon: float) -> tuple[Tensor, Tensor, Tensor]:
    """Normalised by the statistics of the batch, which come with it: mean and variance."""
    single = all(each.dtype is torch.float32 for each in (tensor, scale, bias))
    if single and epsilon > 0 and tensor.numel() > tensor.shape[1]:
        # the kernel has both already, and a second pass for the variance costs more than the rest
        normed, mean, deviation = torch.native_batch_norm(tensor, scale, bias, None, None, True, 0.0, epsilon)
        with torch.no_grad():
            variance = (deviation.detach().double().pow(-2) - epsilon).clamp_min(0.0).float()
        return normed, mean.detach(), variance
    dims = [dim for dim in range(tensor.dim()) if dim != 1]
    wide = tensor.detach()
    normed = functional.batch_norm(tensor, None, None, scale, bias, True, 0.0, epsilon)
    return normed, wide.mean(dims), wide.var(dims, correction=0)


@op("InstanceNormalization")
def instance_norm(call: Call, tensor: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
    return functional.instance_norm(
        tensor, weight=scale, bias=bias, use_input_stats=True, eps=call.number("epsilon", 1e-5)
    )


@op("GroupNormalization")
def group_norm(call: Call, tensor: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
    groups, epsilon = call.integer("num_groups"), call.number("epsilon", 1e-5)
    if call.version < 21 and scale.shape[0] == groups and groups != tensor.shape[1]:
        scale, bias = (each.repeat_interleave(tensor.shape[1] // groups) for each in (scale, bias))
    return functional.group_norm(tensor, groups, scale, bias, epsilon)


@op("LayerNormalization")
def layer_norm(
    call: Call, tensor: Tensor, scale: Tensor, bias: Tensor | None = None
) -> Tensor | list[Tensor]:
    axis = axis_of(call.integer("axis", -1), tensor.dim())
    epsilon = call.number("epsilon", 1e-5)
    shape = tensor.shape[axis:]
    if scale.shape == shape and (bias is None or bias.shape == shape):
        normed = functional.layer_norm(tensor, shape, scale, bias, epsilon)
    else:
        normed = functional.layer_norm(tensor, shape, None, None, epsilon) * scale
        normed = normed if bias is None else normed + bias
    if not call.wants(1) and not call.wants(2):
        return normed
    dims = list(range(axis, tensor.dim()))
    mean = tensor.mean(dims, keepdim=True)
    return [normed, mean, torch.rsqrt(tensor.var(dims, correction=0, keepdim=True) + epsilon)]


@op("RMSNormalization")
def rms_norm(call: Call, tensor: Tensor, scale: Tensor) -> Tensor:
    axis = axis_of(call.integer("axis", -1), tensor.dim())
    return functional.rms_norm(tensor, tensor.shape[axis:], None, call.number("epsilon", 1e-5)) * scale


@op("LpNormalization")
def lp_norm(call: Call, tensor: Tensor) -> Tensor:
    axis = axis_of(call.integer("axis", -1), tensor.dim())
    size = torch.linalg.vector_norm(tensor, ord=call.integer("p", 2), dim=axis, keepdim=True)
    return torch.where(size == 0, torch.zeros_like(tensor), tensor / size)


@op("MeanVarianceNormalization")
def mean_variance_norm(call: Call, tensor: Tensor) -> Tensor:
    axes = call.integers("axes", (0, 2, 3))
    centred = tensor - tensor.mean(axes, keepdim=True)
    return centred / ((centred * centred).mean(axes, keepdim=True).sqrt() + 1e-9)


@op("LRN")
def local_response_norm(call: Call, tensor: Tensor) -> Tensor:
    size = call.integer("size")
    alpha, beta, bias = call.number("alpha", 1e-4), call.number("beta", 0.75), call.number("bias", 1.0)
    before, behind = (size - 1) // 2, math.ceil((size - 1) / 2)
    batch, channels = tensor.shape[:2]
    squares = (tensor * tensor).reshape(batch, 1, channels, -1)
    squares = functional.pad(squares, (0, 0, before, behind))
    sums = functional.avg_pool2d(squares, (size, 1), 1, divisor_override=1).reshape(tensor.shape)
    return tensor / (bias + alpha / size * sums) ** beta
