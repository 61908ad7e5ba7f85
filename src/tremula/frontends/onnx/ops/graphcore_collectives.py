"""Collectives over replicas. In a recording of one replica they have shapes; replicas that run together have values."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor

from tremula.errors import Error
from tremula.frontends.onnx.call import Call
from tremula.frontends.onnx.ops.table import GRAPHCORE, op

_ALL, _CONSECUTIVE, _ORTHOGONAL, _UNGROUPED = range(4)
_LOCAL = 8


def _squares(tensors: Sequence[Tensor]) -> Tensor:
    first, *others = tensors
    return functools.reduce(lambda total, each: total + each * each, others, first)


#: by the operator's number: tensors of a group -> the reduced one
_REDUCTIONS: dict[int, Callable[[Sequence[Tensor]], Tensor]] = {
    0: lambda tensors: functools.reduce(torch.add, tensors),
    1: lambda tensors: functools.reduce(torch.add, tensors) / len(tensors),
    2: lambda tensors: functools.reduce(torch.mul, tensors),
    3: lambda tensors: functools.reduce(torch.minimum, tensors),
    4: lambda tensors: functools.reduce(torch.maximum, tensors),
    5: lambda tensors: functools.reduce(torch.logical_and, tensors),
    6: lambda tensors: functools.reduce(torch.logical_or, tensors),
    7: _squares,
}


class _Exchanged(torch.autograd.Function):
    """The reduced tensor of a group; its gradient is reduced in the same way."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, reduce: Callable[[Tensor], Tensor]) -> Tensor:
        ctx.reduce = reduce
        return reduce(tensor.detach())

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return ctx.reduce(gradients[0]), None


def _members(call: Call) -> list[int]:
    """The replicas of this one's group, in order."""
    count, own = call.settings.replicas, call.settings.replica
    kind, size = call.integers("__collectiveCommGroup", (_ALL, 0))
    if kind == _ALL or size in (0, count):
        return list(range(count))
    if kind == _UNGROUPED:
        return [own]
    if count % size:
        raise Error(f"{count} replicas cannot form groups of {size}.")
    if kind == _CONSECUTIVE:
        return list(range(own - own % size, own - own % size + size))
    return list(range(own % (count // size), count, count // size))


def _all(call: Call, tensor: Tensor) -> list[Tensor]:
    """The tensors of all replicas."""
    exchange = call.settings.exchange
    if isinstance(tensor, FakeTensor) or exchange is None:
        if not isinstance(tensor, FakeTensor) and call.settings.replicas > 1:
            raise Error(f"{call.settings.replicas} replicas must run together for a collective.")
        return [tensor] * call.settings.replicas
    found: list[Tensor] = exchange(tensor)
    return found


def _reduced(call: Call, tensor: Tensor) -> Tensor:
    number = call.integer("__collectiveOperator", 0)
    if number == _LOCAL or call.settings.replicas == 1:
        return tensor
    if number not in _REDUCTIONS:
        raise Error(f"{number} is not an operator of collectives.")
    members = _members(call)

    def reduce(values: Tensor) -> Tensor:
        every = _all(call, values)
        return _REDUCTIONS[number]([every[each] for each in members])

    result: Tensor = _Exchanged.apply(tensor, reduce)  # type: ignore[no-untyped-call]
    return result


@op("ReplicatedAllReduce", domain=GRAPHCORE, folds=False)
def all_reduce(call: Call, tensor: Tensor, *_rest: Tensor) -> Tensor:
    return _reduced(call, tensor)


@op("ReplicatedReduceScatter", domain=GRAPHCORE, folds=False)
def reduce_scatter(call: Call, tensor: Tensor, *_rest: Tensor) -> Tensor:
    """Each replica has its part of the reduced elements; the last parts are filled up with zeros."""
    whole = _reduced(call, tensor).reshape(-1)
    members = _members(call)
    part = -(-whole.shape[0] // len(members))
    filled = torch.nn.functional.pad(whole, (0, part * len(members) - whole.shape[0]))
    return filled.narrow(0, members.index(call.settings.replica) * part, part)


@op("ReplicatedAllGather", domain=GRAPHCORE, folds=False)
def all_gather(call: Call, tensor: Tensor, *_rest: Tensor) -> Tensor:
    if call.settings.replicas == 1:
        return tensor.reshape(-1)
    every = _all(call, tensor.detach())
    return torch.cat([every[each].reshape(-1) for each in _members(call)])
