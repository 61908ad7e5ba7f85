"""Arithmetic, comparisons and functions of single elements, out of place and in place."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from tremula.frontends.popxl.broadcasting import as_first, broadcast
from tremula.frontends.popxl.elements import is_float, wrapped
from tremula.frontends.popxl.errors import graph_error
from tremula.frontends.popxl.info import TensorInfo
from tremula.frontends.popxl.model import Op
from tremula.frontends.popxl.ops.table import Function, kernel

_UNARY: dict[str, tuple[str, Callable[[Tensor], Tensor]]] = {
    "Abs": ("Abs", torch.abs),
    "Ceil": ("Ceil", torch.ceil),
    "Cos": ("Cos", torch.cos),
    "Exp": ("Exp", torch.exp),
    "Floor": ("Floor", torch.floor),
    "Gelu": ("Gelu", lambda tensor: functional.gelu(tensor, approximate="tanh")),
    "GeluErf": ("GeluErf", functional.gelu),
    "Log": ("Log", torch.log),
    "Negate": ("Neg", torch.neg),
    "Relu": ("Relu", torch.relu),
    "Sign": ("Sign", torch.sign),
    "Sin": ("Sin", torch.sin),
    "Sqrt": ("Sqrt", torch.sqrt),
    "Swish": ("Swish", functional.silu),
    "Tanh": ("Tanh", torch.tanh),
}
#: those of them that exist in place
_IN_PLACE = ("Exp", "Gelu", "GeluErf", "Relu", "Swish")
_TESTS: dict[str, Callable[[Tensor], Tensor]] = {
    "IsNaN": torch.isnan,
    "IsInf": torch.isinf,
    "Not": torch.logical_not,
}
_COMPARISONS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "Equal": torch.eq,
    "Greater": torch.gt,
    "Less": torch.lt,
    "And": torch.logical_and,
    "Or": torch.logical_or,
}


def divide(first: Tensor, second: Tensor) -> Tensor:
    """The quotient, towards zero for integers."""
    if first.is_floating_point() or second.is_floating_point():
        return torch.div(first, second)
    return torch.div(first, second, rounding_mode="trunc")


_BINARY: dict[str, tuple[str, Callable[[Tensor, Tensor], Tensor]]] = {
    "Add": ("Add", torch.add),
    "Subtract": ("Sub", torch.sub),
    "Mul": ("Mul", torch.mul),
    "Div": ("Div", divide),
    "Fmod": ("Fmod", torch.fmod),
    "Pow": ("Pow", torch.pow),
}


def into_first(function: Function) -> Function:
    """The same, written over the first input, which is returned."""

    def run(first: Tensor, *others: Tensor) -> Tensor:
        return first.copy_(function(first, *others))

    return run


def _register_unary(kind: str, op_type: str, function: Callable[[Tensor], Tensor]) -> None:
    kernel(kind, op_type=op_type, infer=as_first)(lambda op: function)
    if kind in _IN_PLACE:
        in_place = kernel(f"{kind}Inplace", op_type=f"{op_type}Inplace", modifies=[0], infer=as_first)
        in_place(lambda op: into_first(function))


_CHANGES_FIRST: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "Add": Tensor.add_,
    "Subtract": Tensor.sub_,
    "Mul": Tensor.mul_,
}


def _first_changed(kind: str, op: Op) -> Function | None:
    """Torch's own function in place, where types are plain."""
    types = {tensor.type.dtype for tensor in op.input_list}
    plain = len(types) == 1 and is_float(types.pop())
    return _CHANGES_FIRST.get(kind) if plain else None


def _register_binary(kind: str, op_type: str, function: Callable[[Tensor, Tensor], Tensor]) -> None:
    def make(op: Op) -> Function:
        name = op.inputs[0].type.dtype
        same = op.inputs[0].type.dtype == op.inputs[1].type.dtype
        if name in ("uint16", "uint32"):
            return lambda first, second: wrapped(function(first, second), name)
        if same:
            return function
        # a scalar of another type must not widen the result
        return lambda first, second: function(first, second.to(first.dtype))

    kernel(kind, op_type=op_type, infer=broadcast())(make)
    kernel(f"{kind}LhsInplace", op_type=f"{op_type}LhsInplace", modifies=[0], infer=broadcast(into=0))(
        lambda op: _first_changed(kind, op) or into_first(make(op))
    )
    kernel(f"{kind}RhsInplace", op_type=f"{op_type}RhsInplace", modifies=[1], infer=broadcast(into=1))(
        lambda op: lambda first, second: second.copy_(function(first, second))
    )


for _kind, (_op_type, _function) in _UNARY.items():
    _register_unary(_kind, _op_type, _function)
for _kind, (_op_type, _two) in _BINARY.items():
    _register_binary(_kind, _op_type, _two)
for _kind, _test in _TESTS.items():
    kernel(_kind, infer=broadcast("bool"))(lambda op, function=_test: function)  # type: ignore[misc]
for _kind, _compare in _COMPARISONS.items():
    kernel(_kind, infer=broadcast("bool"))(lambda op, function=_compare: function)  # type: ignore[misc]


@kernel("Max", infer=broadcast())
def _maximum(op: Op) -> Function:
    def run(*tensors: Tensor) -> Tensor:
        result = tensors[0]
        for tensor in tensors[1:]:
            result = torch.maximum(result, tensor)
        return result.clone() if len(tensors) == 1 else result

    return run


@kernel("Sum", infer=broadcast())
def _sum(op: Op) -> Function:
    def run(*tensors: Tensor) -> Tensor:
        if len(tensors) == 1:
            return tensors[0].clone()
        result = tensors[0] + tensors[1]
        for tensor in tensors[2:]:
            result = result + tensor
        return result

    return run


@kernel("Where", infer=broadcast(like=1))
def _where(op: Op) -> Function:
    return torch.where


@kernel("Clip", infer=as_first)
def _clip(op: Op) -> Function:
    least, most = op.attributes["min"], op.attributes["max"]
    return lambda tensor: torch.clamp(tensor, least, most)


def _incremented(op: Op) -> Function:
    increment, modulus = op.attributes["increment"], op.attributes["modulus"]

    def run(tensor: Tensor) -> Tensor:
        if not tensor.is_floating_point():
            return torch.remainder(tensor + int(increment), int(modulus))
        return torch.remainder(tensor + increment, modulus)

    return run


kernel("IncrementMod", infer=as_first)(_incremented)
kernel("IncrementModInplace", modifies=[0], infer=as_first)(lambda op: into_first(_incremented(op)))


def _plus_scaled(first: Tensor, second: Tensor, scale: float | Tensor) -> Tensor:
    """`first += scale * second` without another tensor of that size, where types allow it."""
    if isinstance(scale, Tensor):
        same = first.dtype == second.dtype == scale.dtype
        return first.addcmul_(second, scale) if same else first.add_(second * scale)
    return first.add_(second, alpha=scale)


def _scaled_sum(op: Op, *, in_place: bool) -> Function:
    a, b = op.attributes["a"], op.attributes["b"]
    places = [index for index in sorted(op.inputs) if index > 1]

    def run(first: Tensor, second: Tensor, *scales: Tensor) -> Tensor:
        given = dict(zip(places, scales, strict=True))
        own, other = given.get(2, a), given.get(3, b)
        if not first.is_floating_point():
            whole = (first * own + second * other).to(first.dtype)
            return first.copy_(whole) if in_place else whole
        if in_place:
            total = first if isinstance(own, float) and own == 1 else first.mul_(own)
        else:
            total = first * own
        return _plus_scaled(total, second, other)

    return run


def _scaled_infos(op: Op) -> dict[int, TensorInfo]:
    first, second = op.inputs[0].type, op.inputs[1].type
    if first.shape != second.shape and second.elements != 1:
        raise graph_error(
            f"{op.kind} needs tensors of one shape, not {list(first.shape)} and {list(second.shape)}."
        )
    return {0: first}


kernel("ScaledAdd", infer=_scaled_infos)(lambda op: _scaled_sum(op, in_place=False))
kernel("ScaledAddLhsInplace", modifies=[0], infer=_scaled_infos)(lambda op: _scaled_sum(op, in_place=True))


@kernel("Cast", dtypes=["to"])
def _cast(op: Op) -> Function:
    from tremula.frontends.popxl.elements import ELEMENTS

    name = op.attributes["to"]
    carrier = ELEMENTS[name].carrier
    source = op.inputs[0].type.dtype

    def run(tensor: Tensor) -> Tensor:
        if name in ("uint16", "uint32"):
            return wrapped(tensor.to(carrier), name)
        if source in ("uint16", "uint32") and name == "int32":
            return torch.where(tensor >= 1 << 31, tensor - (1 << 32), tensor).to(carrier)
        return tensor.to(carrier, copy=True)

    return run
