"""Random numbers and dropout. A recording draws from torch's own generator, whose state the executor keeps."""

from __future__ import annotations

import torch
from torch import Tensor

from tremula.errors import Error
from tremula.frontends.onnx.call import Call
from tremula.frontends.onnx.dtypes import element_type
from tremula.frontends.onnx.ops.broadcasting import broadcast
from tremula.frontends.onnx.ops.table import GRAPHCORE, op


def _generator(call: Call) -> torch.Generator | None:
    """`seed` of a node is left aside, as on the device: a session has one seed."""
    return None if call.recording else call.settings.generator


def _type(call: Call, default: torch.dtype) -> torch.dtype:
    dtype = element_type(call.integer("dtype")).torch if call.has("dtype") else default
    if not dtype.is_floating_point:
        raise Error(f"random numbers are floating-point numbers, not {dtype}.")
    return call.settings.retyped.get(dtype, dtype)


def _normal(call: Call, shape: list[int], dtype: torch.dtype) -> Tensor:
    drawn = torch.randn(shape, dtype=torch.float32, generator=_generator(call))
    return (call.number("mean", 0.0) + call.number("scale", 1.0) * drawn).to(dtype)


def _uniform(call: Call, shape: list[int], dtype: torch.dtype) -> Tensor:
    low, high = call.number("low", 0.0), call.number("high", 1.0)
    drawn = torch.rand(shape, dtype=torch.float32, generator=_generator(call))
    return (low + (high - low) * drawn).to(dtype)


@op("RandomNormal", folds=False)
def random_normal(call: Call) -> Tensor:
    return _normal(call, call.integers("shape"), _type(call, torch.float32))


@op("RandomNormalLike", folds=False)
def random_normal_like(call: Call, tensor: Tensor) -> Tensor:
    return _normal(call, list(tensor.shape), _type(call, tensor.dtype))


@op("RandomUniform", folds=False)
def random_uniform(call: Call) -> Tensor:
    return _uniform(call, call.integers("shape"), _type(call, torch.float32))


@op("RandomUniformLike", folds=False)
def random_uniform_like(call: Call, tensor: Tensor) -> Tensor:
    return _uniform(call, list(tensor.shape), _type(call, tensor.dtype))


def _ratio(ratio: float) -> float:
    if not 0.0 <= ratio < 1.0:
        raise Error(f"the ratio {ratio} makes no sense. Please use a value in the interval [0,1).")
    return ratio


def dropped(call: Call, tensor: Tensor, shape: list[int], ratio: float) -> tuple[Tensor, Tensor]:
    """`tensor` with elements dropped where a mask of `shape` has none, and the mask."""
    kept = torch.rand(shape, generator=_generator(call)) >= ratio
    return tensor * (kept.to(tensor.dtype) * (1.0 / (1.0 - ratio))), kept


def _dropout(call: Call, tensor: Tensor, ratio: float, training: bool) -> list[Tensor]:
    ratio = _ratio(ratio)
    if not training or not ratio:
        return [tensor, torch.ones_like(tensor, dtype=torch.bool)] if call.wants(1) else [tensor]
    return list(dropped(call, tensor, list(tensor.shape), ratio))


@op("Dropout", folds=False)
def dropout(call: Call, tensor: Tensor) -> list[Tensor]:
    training = call.settings.training and not call.flag("is_test")
    results = _dropout(call, tensor, call.number("ratio", 0.5), training)
    return results if call.version >= 10 else [results[0], *(each.to(tensor.dtype) for each in results[1:])]


@op("Dropout", since=12, folds=False, static=(1, 2))
def dropout_by_inputs(
    call: Call, tensor: Tensor, ratio: Tensor | None = None, training: Tensor | None = None
) -> list[Tensor]:
    part = 0.5 if ratio is None else call.reals(1)[0]
    return _dropout(call, tensor, part, training is not None and bool(call.value(2)))


@op("ShapedDropout", domain=GRAPHCORE, folds=False)
def shaped_dropout(call: Call, tensor: Tensor) -> Tensor:
    ratio = _ratio(call.number("ratio", 0.5))
    shape = call.integers("shape")
    if broadcast(tensor.shape, shape) != list(tensor.shape):
        raise Error(f"the shape {shape} does not broadcast to the input's, {list(tensor.shape)}.")
    if not call.settings.training or not ratio:
        return tensor
    return dropped(call, tensor, shape, ratio)[0]
