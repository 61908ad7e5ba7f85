"""Random numbers from seed tensors: equal seeds give equal numbers, in the backward pass as well."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor

from tremula.frontends.popxl.broadcasting import as_first
from tremula.frontends.popxl.elements import ELEMENTS
from tremula.frontends.popxl.errors import graph_error
from tremula.frontends.popxl.info import TensorInfo
from tremula.frontends.popxl.model import Op
from tremula.frontends.popxl.ops.table import Function, kernel

_WORD = (1 << 32) - 1


def generator_of(seed: Tensor) -> torch.Generator | None:
    """A generator that starts from a seed tensor; None where nothing is computed."""
    if isinstance(seed, FakeTensor) or seed.device.type == "meta":
        return None
    words = seed.reshape(-1).tolist()
    mixed = 0
    for word in words:
        mixed = ((mixed * 6364136223846793005) ^ (int(word) + 1442695040888963407)) & ((1 << 63) - 1)
    return torch.Generator().manual_seed(mixed)


@kernel("ModifyRandomSeed", infer=as_first)
def _modify(op: Op) -> Function:
    def run(seed: Tensor, modifier: Tensor) -> Tensor:
        step = (modifier.long().reshape(()) + 1) * 0x9E3779B1
        first = (seed[0].long() * 0x85EBCA6B + step) & _WORD
        first = first ^ (first >> 15)
        second = (seed[1].long() * 0xC2B2AE35 + first * 0x27D4EB2F + step) & _WORD
        second = second ^ (second >> 13)
        return torch.stack([(first * 0x2545F491 + second) & _WORD, (second * 0x165667B1 + first) & _WORD])

    return run


def _kept(op: Op, shape: list[int]) -> Function:
    ratio = op.attributes["ratio"]
    if not 0 <= ratio < 1:
        raise graph_error(f"The dropout ratio is {ratio}. Please use a value in the interval [0,1).")

    def run(tensor: Tensor, seed: Tensor) -> Any:
        chances = torch.rand(shape, generator=generator_of(seed), device=tensor.device)
        return tensor * (chances >= ratio).to(tensor.dtype) * (1.0 / (1.0 - ratio))

    return run


@kernel("Dropout", infer=as_first)
def _dropout(op: Op) -> Function:
    return _kept(op, list(op.inputs[0].type.shape))


@kernel("ShapedDropout")
def _shaped_dropout(op: Op) -> Function:
    shape = list(op.attributes["shape"])
    try:
        broadcast = torch.broadcast_shapes(op.inputs[0].type.shape, shape)  # type: ignore[no-untyped-call]
    except RuntimeError:
        broadcast = None
    if broadcast is None or tuple(broadcast) != op.inputs[0].type.shape:
        raise graph_error(f"A mask of the shape {shape} does not fit {list(op.inputs[0].type.shape)}.")
    return _kept(op, shape)


def _drawn_info(op: Op) -> dict[int, TensorInfo]:
    return {0: TensorInfo(op.attributes["dtype"], tuple(op.attributes["shape"]))}


@kernel("RandomUniform", infer=_drawn_info)
def _uniform(op: Op) -> Function:
    shape, low, high = list(op.attributes["shape"]), op.attributes["low"], op.attributes["high"]
    carrier = ELEMENTS[op.attributes["dtype"]].carrier
    return lambda seed: (
        torch.rand(shape, generator=generator_of(seed), device=seed.device) * (high - low) + low
    ).to(carrier)


@kernel("RandomNormal", infer=_drawn_info)
def _normal(op: Op) -> Function:
    shape, mean, scale = list(op.attributes["shape"]), op.attributes["mean"], op.attributes["scale"]
    carrier = ELEMENTS[op.attributes["dtype"]].carrier
    return lambda seed: (
        torch.randn(shape, generator=generator_of(seed), device=seed.device) * scale + mean
    ).to(carrier)
