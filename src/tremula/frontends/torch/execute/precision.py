"""The device's half precision on the host. Stochastic rounding: results are computed in float32 and rounded at random,
right on average. Half partials: a reduction is cut into up to `PARTIAL_SUMS` pieces, rounded and added in float16; the
hardware cuts as it plans an op, so single bits differ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx
from torch.utils import _pytree as pytree

from tremula.frontends.torch.graphs.effects import WRITES_STATISTICS
from tremula.frontends.torch.graphs.program import tensors_of

#: float32 -> float16
Rounding = Callable[[torch.Tensor], torch.Tensor]

PARTIAL_SUMS = 8
#: distance between the smallest float16 numbers
_LEAST_STEP = 2.0**-24
_MANTISSA_BITS = 11

_MOVES_ONLY_NAMES = """
    view _unsafe_view t transpose permute expand slice select clone alias detach cat stack unsqueeze
    squeeze reshape split unbind index index_select gather embedding flip roll repeat constant_pad_nd
    as_strided copy_ zeros ones full empty empty_like zeros_like ones_like full_like fill_ zero_ where
    lift_fresh_copy max_pool2d_with_indices relu getitem arange
"""
_MOVES_ONLY = frozenset(_MOVES_ONLY_NAMES.split())


@dataclass(frozen=True)
class Precision:
    """How half precision is computed."""

    stochastic_rounding: bool = False
    half_partials: bool = False


#: round to nearest, sums in float32
DEFAULT_PRECISION = Precision()


def apply_precision(graph: fx.Graph, precision: Precision) -> bool:
    """Make the ops of `graph` compute as `precision` says; tells whether random numbers are drawn for it."""
    draws = False
    for node in graph.nodes:
        target = node.target
        if node.op != "call_function" or not isinstance(target, torch._ops.OpOverload):
            continue
        if not any(tensor.dtype is torch.float16 for tensor in tensors_of(node)):
            continue
        name = target._schema.name.split("::")[-1]
        if precision.half_partials and name in _PARTIAL_FORMS and _halves_only(node):
            node.target = _named(_PARTIAL_FORMS[name], f"{node.name}_half_partials")
        elif precision.stochastic_rounding and name == "copy_" and not _halves_only(node):
            node.target = _named(_rounding_copy, f"{node.name}_stochastically_rounded")
            draws = True
        elif precision.stochastic_rounding and name not in _MOVES_ONLY:
            node.target = ComputedInFloat(node, round_stochastically, "stochastically_rounded")
            draws = True
    return draws


def round_stochastically(tensor: torch.Tensor) -> torch.Tensor:
    """A float32 tensor rounded to float16, up or down at random, unbiased."""
    _, exponent = torch.frexp(tensor)
    step = torch.ldexp(torch.ones_like(tensor), exponent - _MANTISSA_BITS).clamp_(min=_LEAST_STEP)
    steps = tensor / step
    below = steps.floor()
    rounded = (below + (torch.rand_like(tensor) < steps - below)) * step
    return torch.where(tensor.isfinite(), rounded, tensor).half()


class ComputedInFloat:
    """An op computed in float32, whose float16 results (returned or written in place) are then rounded."""

    def __init__(self, node: fx.Node, rounding: Rounding, word: str) -> None:
        op: Any = node.target
        self._op = op
        self._rounding = rounding
        self.__name__ = self.__qualname__ = f"{node.name}_{word}"
        self.__module__ = __name__
        self._dtypes = [tensor.dtype for tensor in tensors_of(node)]
        arguments = list(enumerate(op._schema.arguments))
        self._written = [
            (i, a.name) for i, a in arguments if a.alias_info is not None and a.alias_info.is_write
        ]
        self._statistics = [(i, op._schema.arguments[i].name) for i in WRITES_STATISTICS.get(op, ())]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        # dtypes as well: an op may be told its result's, or (in a gradient) that of the forward's input
        wide_args, wide_kwargs = pytree.tree_map_only((torch.Tensor, torch.dtype), _widened, (args, kwargs))
        result = self._op(*wide_args, **wide_kwargs)
        for position, name in (*self._statistics, *self._written):
            narrow = args[position] if position < len(args) else kwargs.get(name)
            wide = wide_args[position] if position < len(args) else wide_kwargs.get(name)
            if isinstance(narrow, torch.Tensor) and narrow is not wide:
                narrow.copy_(self._rounding(wide))
        if self._written:
            position, name = self._written[0]
            return args[position] if position < len(args) else kwargs[name]
        dtypes = iter(self._dtypes)

        def rounded(tensor: torch.Tensor) -> torch.Tensor:
            dtype = next(dtypes)
            if dtype is torch.float16 and tensor.dtype is torch.float32:
                return self._rounding(tensor)
            return tensor.to(dtype)

        return pytree.tree_map_only(torch.Tensor, rounded, result)


def _rounding_copy(
    destination: torch.Tensor, source: torch.Tensor, _non_blocking: bool = False
) -> torch.Tensor:
    """copy_ into float16 from a wider dtype."""
    return destination.copy_(round_stochastically(source.float()))


def _widened(value: torch.Tensor | torch.dtype) -> torch.Tensor | torch.dtype:
    if isinstance(value, torch.dtype):
        return torch.float32 if value is torch.float16 else value
    return value.float() if value.dtype is torch.float16 else value


def _halves_only(node: fx.Node) -> bool:
    tensors = [tensor for source in node.all_input_nodes for tensor in tensors_of(source)]
    return all(tensor.dtype is torch.float16 for tensor in tensors)


def _named(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    call.__name__ = call.__qualname__ = name
    return call


def _piece(reduced: int) -> int:
    """Length of the pieces of a reduction; never below the 16 terms that the hardware adds at once."""
    return max(16, -(-reduced // PARTIAL_SUMS))


def _sum_of_halves(partials: list[torch.Tensor]) -> torch.Tensor:
    total = partials[0]
    for partial in partials[1:]:
        total = total + partial
    return total


def _product(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    size = _piece(left.shape[-1])
    pieces = zip(torch.split(left, size, -1), torch.split(right, size, -2), strict=True)
    return _sum_of_halves([torch.matmul(a, b) for a, b in pieces])


def _added_product(
    bias: torch.Tensor, left: torch.Tensor, right: torch.Tensor, **kwargs: Any
) -> torch.Tensor:
    result: torch.Tensor = bias * kwargs.get("beta", 1) + _product(left, right) * kwargs.get("alpha", 1)
    return result


def _convolution(
    input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None, *rest: Any
) -> torch.Tensor:
    transposed, groups = rest[3], rest[5]
    size = _piece(input.shape[1])
    if groups != 1 or size >= input.shape[1]:
        result: torch.Tensor = torch.ops.aten.convolution.default(input, weight, bias, *rest)
        return result
    pieces = zip(torch.split(input, size, 1), torch.split(weight, size, 0 if transposed else 1), strict=True)
    total = _sum_of_halves([torch.ops.aten.convolution.default(x, w, None, *rest) for x, w in pieces])
    if bias is not None:
        total = total + bias.view(1, -1, *([1] * (total.dim() - 2)))
    return total


_PARTIAL_FORMS: dict[str, Callable[..., torch.Tensor]] = {
    "mm": _product,
    "bmm": _product,
    "addmm": _added_product,
    "baddbmm": _added_product,
    "convolution": _convolution,
}
