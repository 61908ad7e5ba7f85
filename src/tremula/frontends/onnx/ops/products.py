"""Products of matrices."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from tremula.frontends.onnx.call import Call
from tremula.frontends.onnx.ops.table import op


@op("MatMul")
def matmul(call: Call, first: Tensor, second: Tensor) -> Tensor:
    if first.dim() > 2 and second.dim() == 2:
        # one product; torch makes one for each matrix of a batch that does not lie in one piece
        rows = torch.mm(first.reshape(-1, first.shape[-1]), second)
        return rows.reshape(*first.shape[:-1], second.shape[-1])
    return torch.matmul(first, second)


@op("Gemm")
def gemm(call: Call, first: Tensor, second: Tensor, third: Tensor | None = None) -> Tensor:
    alpha, beta = call.number("alpha", 1.0), call.number("beta", 1.0)
    turned = call.flag("transB")
    if call.flag("transA"):
        first = first.T
    if alpha == beta == 1.0 and turned and (third is None or third.dim() == 1):
        return functional.linear(first, second, third)
    product = torch.matmul(first, second.T if turned else second)
    if alpha != 1.0:
        product = alpha * product
    if third is None:
        return product.to(first.dtype)
    return (product + (third if beta == 1.0 else beta * third)).to(first.dtype)


@op("Einsum")
def einsum(call: Call, *tensors: Tensor) -> Tensor:
    return torch.einsum(call.text("equation").replace(" ", ""), *tensors)


@op("Det")
def determinant(call: Call, tensor: Tensor) -> Tensor:
    found: Tensor = torch.linalg.det(tensor)
    return found
