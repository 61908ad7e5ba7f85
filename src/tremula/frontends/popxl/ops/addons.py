"""The ops that the package `popxl_addons` defines: on hardware they are C++, which it compiles when it is imported."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor

from tremula.frontends.popxl.float8_scale import best_scale
from tremula.frontends.popxl.info import TensorInfo
from tremula.frontends.popxl.model import Op
from tremula.frontends.popxl.ops.collectives import EXCHANGES, Exchange, ExchangeAll, single
from tremula.frontends.popxl.ops.gradients import Forward
from tremula.frontends.popxl.ops.table import Function, by_the_program, kernel


@kernel("RotaryPosEmbed")
def _rotary(op: Op) -> Function:
    """Complex numbers, turned by angles that grow with the place in the sequence.

    The tensor has batch, sequence, heads and width; angles are the same for all heads. A number is a pair of
    neighbours, or one element of each half.
    """
    width, halves = op.attributes["rotary_dim"], op.attributes.get("halves", False)

    def run(tensor: Tensor, sin: Tensor, cos: Tensor) -> Tensor:
        turned = tensor[..., :width]
        sin, cos = sin.unsqueeze(2), cos.unsqueeze(2)
        half = width // 2
        first = turned[..., :half] if halves else turned[..., 0::2]
        second = turned[..., half:] if halves else turned[..., 1::2]
        parts = [first * cos - second * sin, second * cos + first * sin]
        joined = torch.cat(parts, -1) if halves else torch.stack(parts, -1).reshape(turned.shape)
        return torch.cat([joined, tensor[..., width:]], -1).to(tensor.dtype)

    return run


@kernel("GradReduceSquareAdd", dtypes=["float32"])
def _square_sum(op: Op) -> Function:
    return lambda tensor, scale: tensor.float().square().sum() * scale.float()


def _unpacked_info(op: Op) -> dict[int, TensorInfo]:
    *leading, groups, packed = op.inputs[0].type.shape
    return {0: TensorInfo("float16", (*leading, groups * packed * 4))}


@kernel("GroupQuantizeDecompress", infer=_unpacked_info)
def _unpacked(op: Op) -> Function:
    """Four numbers of four bits in each of 16, times the scale of their group, plus its bias."""

    def run(tensor: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
        numbers = torch.stack([(tensor >> shift) & 15 for shift in (12, 8, 4, 0)], -1).half()
        *leading, groups, _packed, _four = numbers.shape
        values = numbers.reshape(*leading, groups, -1) * scale + bias
        return values.reshape(*leading, -1)

    return run


@kernel("DenseSparseMatMul", dtypes=["=0"])
def _sparse_product(op: Op) -> Function:
    """With a matrix in compressed rows."""
    data, columns, starts = (torch.as_tensor(op.attributes[name]) for name in ("data", "indices", "indptr"))
    rows, width = len(starts) - 1, op.attributes["columns"]
    counts = starts[1:].long() - starts[:-1].long()
    matrix = torch.zeros(rows, width, dtype=torch.float32)
    matrix[torch.repeat_interleave(torch.arange(rows), counts), columns.long()] = data.float()

    def run(tensor: Tensor) -> Tensor:
        return torch.matmul(tensor, matrix.to(device=tensor.device, dtype=tensor.dtype))

    return run


@kernel("Fp8FindBestScale", infer=lambda op: {0: TensorInfo("int32", ())})
def _best_scale(op: Op) -> Function:
    name = op.attributes["dtype"]

    def run(tensor: Tensor) -> Tensor:
        if isinstance(tensor, FakeTensor):
            return torch.zeros((), dtype=torch.int32)
        return torch.tensor(best_scale(tensor.float().numpy(), name), dtype=torch.int32)

    return run


def _loss_of_parts(logits: Sequence[Tensor], labels: Sequence[Tensor]) -> list[Tensor]:
    """The loss of each sample, its classes in parts, and the probabilities of each part."""
    whole = torch.logsumexp(torch.cat([each.float() for each in logits], -1), -1, keepdim=True)
    chosen = torch.zeros_like(whole)
    for part, label in zip(logits, labels, strict=True):
        places = label.long().unsqueeze(-1)
        inside = (places >= 0) & (places < part.shape[-1])
        found = part.float().gather(-1, torch.where(inside, places, torch.zeros_like(places)))
        chosen = chosen + torch.where(inside, found, torch.zeros_like(found))
    loss = (whole - chosen).squeeze(-1)
    return [loss.to(logits[0].dtype), *(torch.exp(part.float() - whole).to(part.dtype) for part in logits)]


def _wr_infos(op: Op) -> dict[int, TensorInfo]:
    count = len(op.inputs) // 2
    first = op.inputs[0].type
    infos = {index + 1: op.inputs[index].type for index in range(count)}
    return {0: TensorInfo(first.dtype, first.shape[:-1]), **infos}


@kernel("CrossEntropyShardedWr", infer=_wr_infos)
def _loss_over_ipus(op: Op) -> Function:
    """Classes on several IPUs of one replica; labels count all classes."""
    count = len(op.inputs) // 2

    def run(*tensors: Tensor) -> list[Tensor]:
        logits, labels, first = tensors[:count], [], 0
        for part, label in zip(logits, tensors[count:], strict=True):
            labels.append(label.long() - first)
            first += part.shape[-1]
        return _loss_of_parts(logits, labels)

    return run


def _sharded_infos(op: Op) -> dict[int, TensorInfo]:
    logits = op.inputs[0].type
    return {0: TensorInfo(logits.dtype, logits.shape[:-1]), 1: logits}


def _signed(label: Tensor, name: str) -> Tensor:
    """Labels are moved to the classes of a replica, below 0 for those before them, in a type without a sign."""
    if name != "uint32":
        return label
    return torch.where(label >= 1 << 31, label - (1 << 32), label)


def _loss_over_replicas(op: Op) -> ExchangeAll:
    name = op.inputs[1].type.dtype

    def run(given: Sequence[Sequence[Tensor]]) -> list[list[Tensor]]:
        logits = [tensors[0] for tensors in given]
        loss, *parts = _loss_of_parts(logits, [_signed(tensors[1], name) for tensors in given])
        return [[loss.clone(), part] for part in parts]

    return run


def _norm_infos(op: Op) -> dict[int, TensorInfo]:
    info = op.inputs[0].type
    statistics = TensorInfo("float32", (info.shape[0],))
    return {0: info, 1: statistics, 2: statistics}


def _norm_over_replicas(op: Op) -> ExchangeAll:
    """A layer norm whose channels are on several replicas."""
    epsilon = op.attributes["epsilon"]

    def run(given: Sequence[Sequence[Tensor]]) -> list[list[Tensor]]:
        whole = torch.cat([tensors[0].float() for tensors in given], -1)
        mean = whole.mean(-1, keepdim=True)
        inverse = torch.rsqrt(whole.var(-1, correction=0, keepdim=True) + epsilon)
        results = []
        for tensor, scale, bias in given:
            normed = (tensor.float() - mean) * inverse
            result = normed.to(tensor.dtype) * scale + bias
            results.append([result, mean.reshape(-1), inverse.reshape(-1)])
        return results

    return run


def _all_reduce(op: Op) -> Exchange:
    """Identical inputs are added in the backward pass only."""
    identity = op.attributes["identical_inputs"]

    def run(tensors: Sequence[Tensor]) -> Sequence[Tensor]:
        return [tensor.clone() for tensor in tensors]

    if identity:
        return run
    exchange = EXCHANGES["ReplicatedAllReduce"](op)
    return lambda tensors: [results[0] for results in exchange([[tensor] for tensor in tensors])]


#: ops whose result is the same on all replicas, so that it counts once in the backward pass
_SAME_ON_ALL = ("CrossEntropySharded",)


def _backward(op: Op) -> ExchangeAll:
    """Inputs: gradients of outputs of the forward op, then its inputs. Outputs: gradients of inputs."""
    forward: Forward = op.attributes["forward"]
    given_outputs, wanted = op.attributes["given"], op.attributes["wanted"]
    exchange = EXCHANGES[forward.kind](forward)  # type: ignore[arg-type]
    count = len(given_outputs)

    def run(given: Sequence[Sequence[Tensor]]) -> list[list[Tensor]]:
        with torch.enable_grad():
            inputs = [list(tensors[count:]) for tensors in given]
            leaves = []
            for tensors in inputs:
                for index in wanted:
                    tensors[index] = tensors[index].detach().requires_grad_()
                    leaves.append(tensors[index])
            results = exchange(inputs)
            counted = results[:1] if forward.kind in _SAME_ON_ALL else results
            outputs = [each[index] for each in counted for index in given_outputs]
            seeds = [tensors[place] for tensors in given[: len(counted)] for place in range(count)]
            found = torch.autograd.grad(outputs, leaves, seeds, allow_unused=True)
        values = [
            torch.zeros_like(leaf) if each is None else each for leaf, each in zip(leaves, found, strict=True)
        ]
        size = len(wanted)
        return [values[place * size : (place + 1) * size] for place in range(len(given))]

    return run


kernel("CrossEntropySharded", infer=_sharded_infos)(by_the_program)
kernel("LayerNormDistributed", infer=_norm_infos)(by_the_program)
kernel("ReplicatedAllReduceTP", infer=lambda op: {0: op.inputs[0].type})(by_the_program)
kernel("ExchangeGrad")(by_the_program)
EXCHANGES["CrossEntropySharded"] = _loss_over_replicas
EXCHANGES["LayerNormDistributed"] = _norm_over_replicas
EXCHANGES["ReplicatedAllReduceTP"] = single(_all_reduce)
EXCHANGES["ExchangeGrad"] = _backward


def strided_assignment(replicas: int, stride: int, size: int) -> tuple[int, ...]:
    """The group of each replica, `size` replicas with `stride` between them."""
    block = stride * size
    return tuple(replica // block * stride + replica % stride for replica in range(replicas))


def gathered_shape(info: TensorInfo, size: int) -> tuple[int, ...]:
    """The shape of what replicas gather: flat, without what shards were filled up with."""
    whole = math.prod(info.meta_shape) if info.meta_shape else info.elements * size
    return (whole,)
