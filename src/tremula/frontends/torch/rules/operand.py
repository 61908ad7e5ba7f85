"""Tensors of torch as lowering sees them."""

from __future__ import annotations

import math

import torch
from torch import fx

from tremula.frontends.torch.dtypes import dtype_name
from tremula.lowering.operand import Operand as AnyOperand
from tremula.lowering.operand import dense_strides

#: a tensor that an op of a graph makes
Operand = AnyOperand[fx.Node]


def operand(tensor: torch.Tensor, node: fx.Node | None = None) -> Operand:
    """The description of a (fake) tensor."""
    shape = tuple(tensor.shape)
    strides = tensor.stride() if tensor.layout is torch.strided else dense_strides(shape)
    return AnyOperand(node, shape, tuple(strides), dtype_name(tensor.dtype), math.prod(shape))
