"""Activation functions, and softmax with what belongs to it."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from tremula.frontends.onnx.call import Call
from tremula.frontends.onnx.ops.broadcasting import axis_of
from tremula.frontends.onnx.ops.table import op


@op("Relu")
def relu(call: Call, tensor: Tensor) -> Tensor:
    return torch.relu(tensor)


@op("Sigmoid")
def sigmoid(call: Call, tensor: Tensor) -> Tensor:
    return torch.sigmoid(tensor)


@op("Softplus")
def softplus(call: Call, tensor: Tensor) -> Tensor:
    return functional.softplus(tensor, threshold=50.0)


@op("Softsign")
def softsign(call: Call, tensor: Tensor) -> Tensor:
    return functional.softsign(tensor)


@op("Elu")
def elu(call: Call, tensor: Tensor) -> Tensor:
    return functional.elu(tensor, alpha=call.number("alpha", 1.0))


@op("Selu")
def selu(call: Call, tensor: Tensor) -> Tensor:
    alpha = call.number("alpha", 1.67326319217681884765625)
    gamma = call.number("gamma", 1.05070102214813232421875)
    return gamma * functional.elu(tensor, alpha=alpha)


@op("LeakyRelu")
def leaky_relu(call: Call, tensor: Tensor) -> Tensor:
    return functional.leaky_relu(tensor, call.number("alpha", 0.01))


@op("PRelu")
def prelu(call: Call, tensor: Tensor, slope: Tensor) -> Tensor:
    if call.version < 7 and slope.dim() == 1 and tensor.dim() > 1:
        slope = slope.reshape(-1, *[1] * (tensor.dim() - 2))
    return torch.where(tensor < 0, tensor * slope, tensor)


@op("ThresholdedRelu")
def thresholded_relu(call: Call, tensor: Tensor) -> Tensor:
    return torch.where(tensor > call.number("alpha", 1.0), tensor, torch.zeros_like(tensor))


@op("HardSigmoid")
def hard_sigmoid(call: Call, tensor: Tensor) -> Tensor:
    return torch.clamp(call.number("alpha", 0.2) * tensor + call.number("beta", 0.5), 0.0, 1.0)


@op("HardSwish")
def hard_swish(call: Call, tensor: Tensor) -> Tensor:
    return tensor * torch.clamp(tensor / 6 + 0.5, 0.0, 1.0)


@op("Mish")
def mish(call: Call, tensor: Tensor) -> Tensor:
    return functional.mish(tensor)


@op("Celu")
def celu(call: Call, tensor: Tensor) -> Tensor:
    return functional.celu(tensor, alpha=call.number("alpha", 1.0))


@op("Gelu")
def gelu(call: Call, tensor: Tensor) -> Tensor:
    return functional.gelu(tensor, approximate=call.text("approximate", "none"))


@op("Swish")
def swish(call: Call, tensor: Tensor) -> Tensor:
    return tensor * torch.sigmoid(call.number("alpha", 1.0) * tensor)


@op("Shrink")
def shrink(call: Call, tensor: Tensor) -> Tensor:
    lambd, bias = call.number("lambd", 0.5), call.number("bias", 0.0)
    zero = torch.zeros_like(tensor)
    shrunk = torch.where(tensor > lambd, tensor - bias, zero)
    return torch.where(tensor < -lambd, tensor + bias, shrunk).to(tensor.dtype)


def _flattened(call: Call, tensor: Tensor) -> tuple[Tensor, int]:
    """Until version 13 all dimensions from `axis` on are one."""
    if call.version >= 13:
        return tensor, axis_of(call.integer("axis", -1), tensor.dim())
    axis = axis_of(call.integer("axis", 1), tensor.dim()) if tensor.dim() > 1 else 0
    if axis == tensor.dim() - 1:
        return tensor, axis
    return tensor.flatten(axis), axis


@op("Softmax")
def softmax(call: Call, tensor: Tensor) -> Tensor:
    flat, axis = _flattened(call, tensor)
    return torch.softmax(flat, axis).reshape(tensor.shape)


@op("LogSoftmax")
def log_softmax(call: Call, tensor: Tensor) -> Tensor:
    flat, axis = _flattened(call, tensor)
    return torch.log_softmax(flat, axis).reshape(tensor.shape)


@op("Hardmax")
def hardmax(call: Call, tensor: Tensor) -> Tensor:
    flat, axis = _flattened(call, tensor)
    places = flat.argmax(axis, keepdim=True)
    return torch.zeros_like(flat).scatter(axis, places, 1).reshape(tensor.shape)
