"""Backward passes of single ops: torch's own where an op has none of its own here."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from tremula.frontends.popxl.info import TensorInfo
from tremula.frontends.popxl.model import Op
from tremula.frontends.popxl.ops.table import Alias, Function, find, kernel


class Forward:
    """What a backward pass has to know of its forward op: enough to compute it again."""

    def __init__(self, op: Op) -> None:
        self.ir = op.ir
        self.kind = op.kind
        self.attributes = dict(op.attributes)
        self.inputs = {index: _Known(tensor.type, tensor.identifier) for index, tensor in op.inputs.items()}
        self.outputs = {index: _Known(tensor.type, tensor.identifier) for index, tensor in op.outputs.items()}

    @property
    def input_list(self) -> list[_Known]:
        """As of an op."""
        return [self.inputs[index] for index in sorted(self.inputs)]

    @property
    def output_list(self) -> list[_Known]:
        """As of an op."""
        return [self.outputs[index] for index in sorted(self.outputs)]


class _Known:
    """Shape and name of a tensor of the forward op."""

    consumers: Sequence[object] = ()

    def __init__(self, info: TensorInfo, identifier: str) -> None:
        self.type = info
        self.identifier = identifier


def backward_kind(kind: str) -> str:
    """The kind of op that is the backward pass of `kind`; it exists from now on."""
    name = f"{kind}Grad"
    if kind not in _made:
        _made.add(kind)
        kernel(name, op_type=f"{find(kind).op_type}Grad", alias=Alias.MAYBE)(_backward)
    return name


_made: set[str] = set()


def _backward(op: Op) -> Function:
    """Inputs: gradients of `outputs` of the forward op, then its inputs. Outputs: gradients of the inputs `wanted`."""
    forward: Forward = op.attributes["forward"]
    run_forward = find(forward.kind).make(forward)  # type: ignore[arg-type]
    given: Sequence[int] = op.attributes["given"]
    wanted: Sequence[int] = op.attributes["wanted"]
    order = sorted(forward.inputs)
    places = [order.index(index) for index in wanted]

    def run(*tensors: Tensor) -> list[Tensor]:
        gradients, inputs = tensors[: len(given)], list(tensors[len(given) :])
        with torch.enable_grad():
            for place in places:
                inputs[place] = inputs[place].detach().requires_grad_()
            results = run_forward(*inputs)
            outputs = list(results) if isinstance(results, tuple | list) else [results]
            chosen = [outputs[index] for index in given]
            found = torch.autograd.grad(
                chosen,
                [inputs[place] for place in places],
                [each.to(out.dtype) for each, out in zip(gradients, chosen, strict=True)],
                allow_unused=True,
            )
        return [
            torch.zeros_like(inputs[place]) if each is None else each
            for place, each in zip(places, found, strict=True)
        ]

    return run


def _shaped(op: Op) -> dict[int, TensorInfo]:
    return {0: TensorInfo(op.inputs[0].type.dtype, tuple(op.attributes["shape"]))}


def _summed(op: Op) -> Function:
    """The gradient of a tensor that was broadcast."""
    shape = list(op.attributes["shape"])
    scale = op.attributes.get("scale", 1)

    def run(gradient: Tensor) -> Tensor:
        result = gradient if list(gradient.shape) == shape else gradient.sum_to_size(shape)
        return result if scale == 1 else result * scale

    return run


def _product(op: Op) -> Function:
    shape = list(op.attributes["shape"])
    return lambda gradient, other: (gradient * other).sum_to_size(shape)


for _kind in ("AddArg0Grad", "AddArg1Grad", "SubtractArg0Grad", "SubtractArg1Grad"):
    kernel(_kind, alias=Alias.MAYBE, infer=_shaped)(_summed)
for _kind in ("MulArg0Grad", "MulArg1Grad"):
    kernel(_kind, infer=_shaped)(_product)


@kernel("MatMulLhsGrad", infer=_shaped)
def _left(op: Op) -> Function:
    return _matmul_gradient(op, left=True)


@kernel("MatMulRhsGrad", infer=_shaped)
def _right(op: Op) -> Function:
    return _matmul_gradient(op, left=False)


def _matmul_gradient(op: Op, *, left: bool) -> Function:
    """Inputs: the gradient of the product, and the other factor."""
    shape = list(op.attributes["shape"])
    rank, other_rank = len(shape), op.attributes["other_rank"]

    def run(gradient: Tensor, other: Tensor) -> Tensor:
        if rank == 1 or other_rank == 1:
            return _with_vectors(gradient, other, left=left)
        other = other.to(gradient.dtype)
        if not left and len(shape) == 2 and other.dim() > 2:
            # a weight: all rows of the batch at once
            return other.reshape(-1, shape[0]).transpose(0, 1) @ gradient.reshape(-1, shape[1])
        if left:
            return torch.matmul(gradient, other.transpose(-1, -2)).sum_to_size(shape)
        return torch.matmul(other.transpose(-1, -2), gradient).sum_to_size(shape)

    def _with_vectors(gradient: Tensor, other: Tensor, *, left: bool) -> Tensor:
        probe = torch.zeros(shape, dtype=other.dtype, device=other.device)
        with torch.enable_grad():
            probe = probe.requires_grad_()
            product = torch.matmul(probe, other) if left else torch.matmul(other, probe)
            (found,) = torch.autograd.grad(product, [probe], [gradient.to(product.dtype)])
        return found

    return run
