"""The IPU's own normalisations."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from tremula.errors import Error
from tremula.frontends.onnx.call import Call
from tremula.frontends.onnx.ops.norms import batch_normalised
from tremula.frontends.onnx.ops.table import GRAPHCORE, op


@op("BatchNormalization", domain=GRAPHCORE)
def batch_norm(
    call: Call, tensor: Tensor, scale: Tensor, bias: Tensor, mean: Tensor, variance: Tensor
) -> list[Tensor]:
    return batch_normalised(
        call,
        tensor,
        scale,
        bias,
        mean,
        variance,
        training=call.outputs > 1,
        unbiased=call.flag("unbiased_variance", True),
    )


@op("GroupNormalization", domain=GRAPHCORE)
def group_norm(call: Call, tensor: Tensor, scale: Tensor, bias: Tensor) -> list[Tensor]:
    """The result, and mean and inverse deviation by sample and group."""
    groups, epsilon = call.integer("num_groups"), call.number("epsilon", 1e-5)
    batch, channels = tensor.shape[:2]
    if groups < 1 or channels % groups:
        raise Error(f"{channels} channels cannot be put into {groups} groups.")
    strided = call.settings.strided_groups
    if strided:
        grouped = (
            tensor.reshape(batch, channels // groups, groups, -1).transpose(1, 2).reshape(batch, groups, -1)
        )
        turned = functional.group_norm(
            grouped.reshape(batch, channels, -1), groups, None, None, epsilon
        ).reshape(batch, groups, channels // groups, -1)
        shape = [1, channels, *[1] * (tensor.dim() - 2)]
        normed = turned.transpose(1, 2).reshape(tensor.shape) * scale.reshape(shape) + bias.reshape(shape)
    else:
        grouped = tensor.reshape(batch, groups, -1)
        normed = functional.group_norm(tensor, groups, scale, bias, epsilon)
    if not call.wants(1) and not call.wants(2):
        return [normed]
    wide = grouped.detach()
    mean = wide.mean(-1).reshape(-1)
    return [normed, mean, torch.rsqrt(wide.var(-1, correction=0) + epsilon).reshape(-1)]
