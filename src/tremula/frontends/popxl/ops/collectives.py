"""Collectives: each takes the tensors of all replicas in a group, or of several IPUs, and gives one to each."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from tremula.frontends.popxl.errors import graph_error
from tremula.frontends.popxl.info import TensorInfo
from tremula.frontends.popxl.model import Op
from tremula.frontends.popxl.ops.table import Function, by_the_program, kernel

#: tensors of the replicas of a group, in order -> what each gets
Exchange = Callable[[Sequence[Tensor]], Sequence[Tensor]]
#: the same for ops with several inputs and outputs
ExchangeAll = Callable[[Sequence[Sequence[Tensor]]], Sequence[Sequence[Tensor]]]


def _product(tensors: Sequence[Tensor]) -> Tensor:
    return functools.reduce(torch.mul, tensors)


_REDUCE: dict[str, Callable[[Sequence[Tensor]], Tensor]] = {
    "add": lambda tensors: functools.reduce(torch.add, tensors),
    "mean": lambda tensors: (
        functools.reduce(torch.add, tensors) / len(tensors)
        if tensors[0].is_floating_point()
        else torch.div(functools.reduce(torch.add, tensors), len(tensors), rounding_mode="trunc")
    ),
    "mul": _product,
    "min": lambda tensors: functools.reduce(torch.minimum, tensors),
    "max": lambda tensors: functools.reduce(torch.maximum, tensors),
    "and": lambda tensors: functools.reduce(torch.logical_and, tensors),
    "or": lambda tensors: functools.reduce(torch.logical_or, tensors),
    "square_add": lambda tensors: functools.reduce(torch.add, [each * each for each in tensors]),
}


def _all_reduce(op: Op) -> Exchange:
    reduce = _REDUCE[op.attributes["op"]]

    def run(tensors: Sequence[Tensor]) -> Sequence[Tensor]:
        result = reduce(tensors)
        return [result.clone() for _ in tensors]

    return run


def shard_length(elements: int, shards: int) -> int:
    """Elements of one shard; the last one may be filled up with zeros."""
    return -(-elements // shards)


def _padded(tensor: Tensor, length: int) -> Tensor:
    flat = tensor.reshape(-1)
    if flat.shape[0] == length:
        return flat
    return torch.cat([flat, flat.new_zeros(length - flat.shape[0])])


def _reduce_scatter(op: Op) -> Exchange:
    local = op.attributes["op"] == "local"
    reduce = None if local else _REDUCE[op.attributes["op"]]

    def run(tensors: Sequence[Tensor]) -> Sequence[Tensor]:
        length = shard_length(tensors[0].numel(), len(tensors))
        if reduce is None:
            whole = [_padded(tensor, length * len(tensors)) for tensor in tensors]
        else:
            whole = [_padded(reduce(tensors), length * len(tensors))] * len(tensors)
        return [each[rank * length : (rank + 1) * length].clone() for rank, each in enumerate(whole)]

    return run


def _all_gather(op: Op) -> Exchange:
    shape = list(op.outputs[0].type.shape)
    elements = math.prod(shape)

    def run(tensors: Sequence[Tensor]) -> Sequence[Tensor]:
        whole = torch.cat([tensor.reshape(-1) for tensor in tensors])[:elements].reshape(shape)
        return [whole.clone() for _ in tensors]

    return run


def single(make: Callable[[Op], Exchange]) -> Callable[[Op], ExchangeAll]:
    """For ops with one input and one output."""

    def made(op: Op) -> ExchangeAll:
        exchange = make(op)
        return lambda given: [[each] for each in exchange([tensors[0] for tensors in given])]

    return made


EXCHANGES: dict[str, Callable[[Op], ExchangeAll]] = {
    "ReplicatedAllReduce": single(_all_reduce),
    "ReplicatedAllReduceInplace": single(_all_reduce),
    "ReplicatedReduceScatter": single(_reduce_scatter),
    "ReplicatedAllGather": single(_all_gather),
}


def _same(op: Op) -> dict[int, TensorInfo]:
    return {0: op.inputs[0].type}


def group_size(op: Op) -> int:
    """Replicas in each group of a collective."""
    assignment = op.attributes["assignment"]
    return len(assignment) // len(set(assignment))


def _scattered(op: Op) -> dict[int, TensorInfo]:
    info = op.inputs[0].type
    shards = group_size(op)
    length = shard_length(info.elements, shards)
    if op.attributes.get("for_sharding"):
        return {0: TensorInfo(info.dtype, (length,), info.shape)}
    return {0: TensorInfo(info.dtype, (length,))}


def _gathered(op: Op) -> dict[int, TensorInfo]:
    info = op.inputs[0].type
    shape = tuple(op.attributes["shape"])
    if math.prod(shape) > info.elements * group_size(op):
        raise graph_error(
            f"{group_size(op)} replicas with {info.elements} elements each have fewer than the "
            f"{math.prod(shape)} of the shape {list(shape)}."
        )
    return {0: TensorInfo(info.dtype, shape)}


kernel("ReplicatedAllReduce", infer=_same)(by_the_program)
kernel("ReplicatedAllReduceInplace", infer=_same, modifies=[0])(by_the_program)
kernel("ReplicatedReduceScatter", infer=_scattered)(by_the_program)
kernel("ReplicatedAllGather", infer=_gathered)(by_the_program)


@kernel("AllReduce", infer=lambda op: {index: tensor.type for index, tensor in op.inputs.items()})
def _all_reduce_of_ipus(op: Op) -> Function:
    """Over IPUs of one replica, whose tensors are all there."""
    reduce = _REDUCE[op.attributes["op"]]

    def run(*tensors: Tensor) -> list[Tensor]:
        result = reduce(tensors)
        return [result.clone() for _ in tensors]

    return run
