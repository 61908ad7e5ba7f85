"""Ops that a graph cannot have taken apart (those of other namespaces, and those that write operands and have no form
that does not): called with float32 copies, whose float16 results are then rounded.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import fx
from torch.utils import _pytree as pytree

from tremula.frontends.torch.execute.rounding import round_stochastically
from tremula.frontends.torch.graphs.effects import WRITES_STATISTICS
from tremula.frontends.torch.graphs.program import tensors_of


class ComputedInFloat:
    """An op computed in float32, whose float16 results (returned or written in place) are then rounded."""

    def __init__(self, node: fx.Node, *, stochastic: bool) -> None:
        op: Any = node.target
        self._op = op
        self._stochastic = stochastic
        self.__name__ = self.__qualname__ = f"{node.name}_in_float32"
        self.__module__ = __name__
        self._dtypes = [tensor.dtype for tensor in tensors_of(node)]
        arguments = list(enumerate(op._schema.arguments))
        self._written = [
            (i, a.name) for i, a in arguments if a.alias_info is not None and a.alias_info.is_write
        ]
        self._statistics = [(i, op._schema.arguments[i].name) for i in WRITES_STATISTICS.get(op, ())]

    def name(self) -> str:
        """The op's name, as the op itself gives it."""
        return str(self._op.name())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        # dtypes as well: an op may be told its result's, or (in a gradient) that of the forward's input
        wide_args, wide_kwargs = pytree.tree_map_only((torch.Tensor, torch.dtype), widened, (args, kwargs))
        result = self._op(*wide_args, **wide_kwargs)
        for position, name in (*self._statistics, *self._written):
            narrow = args[position] if position < len(args) else kwargs.get(name)
            wide = wide_args[position] if position < len(args) else wide_kwargs.get(name)
            if isinstance(narrow, torch.Tensor) and narrow is not wide:
                narrow.copy_(self._rounded(wide))
        if self._written:
            position, name = self._written[0]
            return args[position] if position < len(args) else kwargs[name]
        dtypes = iter(self._dtypes)

        def result_of(tensor: torch.Tensor) -> torch.Tensor:
            dtype = next(dtypes)
            if dtype is torch.float16 and tensor.dtype is torch.float32:
                return self._rounded(tensor)
            return tensor.to(dtype)

        return pytree.tree_map_only(torch.Tensor, result_of, result)

    def _rounded(self, tensor: torch.Tensor) -> torch.Tensor:
        return (round_stochastically(tensor) if self._stochastic else tensor).half()


def widened(value: Any) -> Any:
    """A float16 tensor in float32, float32 instead of float16; anything else as it is."""
    if isinstance(value, torch.dtype):
        return torch.float32 if value is torch.float16 else value
    if isinstance(value, torch.Tensor) and value.dtype is torch.float16:
        return value.float()
    return value
