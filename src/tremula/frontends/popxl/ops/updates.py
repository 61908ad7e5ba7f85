"""Updates of variables: accumulators, the optimizers' parts, plain copies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from tremula.frontends.popxl.broadcasting import as_first
from tremula.frontends.popxl.errors import graph_error
from tremula.frontends.popxl.info import TensorInfo
from tremula.frontends.popxl.model import Op
from tremula.frontends.popxl.ops.table import Function, kernel

Value = float | Tensor


def _added(accumulator: Tensor, value: Tensor, factor: Any) -> Tensor:
    """Without another tensor of that size, where types allow it."""
    if not accumulator.is_floating_point():
        return accumulator.add_((value * factor).to(accumulator.dtype))
    if not isinstance(factor, Tensor):
        return accumulator.add_(value, alpha=factor)
    if accumulator.dtype == value.dtype == factor.dtype:
        return accumulator.addcmul_(value, factor)
    return accumulator.add_(value * factor)


_ACCUMULATE: dict[str, Callable[[Tensor, Tensor, Any], Tensor]] = {
    "Add": lambda a, x, f: a.add_(x),
    "DampenedAdd": lambda a, x, f: _added(a, x, f),
    "DampenedAddSquare": lambda a, x, f: (
        a.add_(x * x * f) if isinstance(f, Tensor) else a.addcmul_(x, x, value=f)
    ),
    "MovingAverage": lambda a, x, f: _added(a.mul_(f), x, 1 - f),
    "MovingAverageSquare": lambda a, x, f: (
        a.mul_(f).add_(x * x * (1 - f)) if isinstance(f, Tensor) else a.mul_(f).addcmul_(x, x, value=1 - f)
    ),
    "Infinity": lambda a, x, f: a.copy_(torch.maximum(f * a, x.abs())),
    # a running mean over f + 1 values
    "Mean": lambda a, x, f: _added(a.mul_(f / (f + 1)), x, 1 / (f + 1)),
}


def _accumulated(op: Op) -> Mapping[int, TensorInfo]:
    accumulator, value = op.inputs[0].type, op.inputs[1].type
    if accumulator.shape != value.shape and value.elements != 1:
        raise graph_error(
            f"A value of the shape {list(value.shape)} cannot be added to an accumulator of {list(accumulator.shape)}."
        )
    return {0: accumulator}


def _as_moment(op: Op) -> Mapping[int, TensorInfo]:
    """As the weight, or the first moment where there is none."""
    return {0: op.inputs.get(0, op.inputs[1]).type}


def _values(op: Op, first: int, tensors: tuple[Tensor, ...]) -> dict[int, Tensor]:
    places = [index for index in sorted(op.inputs) if index >= first]
    return dict(zip(places, tensors, strict=True))


@kernel("Accumulate", modifies=[0], infer=_accumulated)
def _accumulate(op: Op) -> Function:
    accumulate, constant = _ACCUMULATE[op.attributes["type"]], op.attributes.get("factor")

    def run(accumulator: Tensor, value: Tensor, *factor: Tensor) -> Tensor:
        scale: Any = factor[0] if factor else constant
        # what is wider than the accumulator is rounded once, at the end
        widest = value.dtype if value.dtype.itemsize > accumulator.dtype.itemsize else accumulator.dtype
        if isinstance(scale, Tensor) and scale.dtype.itemsize > widest.itemsize:
            widest = scale.dtype
        if widest != accumulator.dtype and accumulator.is_floating_point():
            return accumulator.copy_(accumulate(accumulator.to(widest), value.to(widest), scale))
        return accumulate(accumulator, value.to(accumulator.dtype), scale)

    return run


@kernel("AccumulatorScale", modifies=[0], infer=as_first)
def _scale(op: Op) -> Function:
    constant = op.attributes.get("factor")

    def run(accumulator: Tensor, *factor: Tensor) -> Tensor:
        if factor:
            return accumulator.mul_(factor[0].to(accumulator.dtype))
        return accumulator.zero_() if not constant else accumulator.mul_(constant)

    return run


@kernel("SparseAccumulate", modifies=[0], infer=as_first)
def _sparse(op: Op) -> Function:
    axis, constant = op.attributes["axis"], op.attributes.get("factor")

    def run(accumulator: Tensor, value: Tensor, *others: Tensor) -> Tensor:
        given = _values(op, 2, others)
        scale = given.get(2, constant)
        places = given[3].long().reshape(-1)
        if scale is not None:
            value = value * scale
        shape = [*accumulator.shape[:axis], places.shape[0], *accumulator.shape[axis + 1 :]]
        return accumulator.index_add_(axis, places, value.reshape(shape).to(accumulator.dtype))

    return run


@kernel("CopyVarUpdate", modifies=[0], infer=as_first)
def _copy(op: Op) -> Function:
    if op.inputs[0].type.shape != op.inputs[1].type.shape:
        shapes = [list(tensor.type.shape) for tensor in op.input_list]
        raise graph_error(f"A variable of the shape {shapes[0]} cannot become {shapes[1]}.")
    return lambda variable, value: variable.copy_(value)


def _corrected(beta: Value, step: Tensor) -> Any:
    """What the bias of a moving average is divided by."""
    return 1 - torch.pow(torch.as_tensor(beta, dtype=torch.float32, device=step.device), step.float())


@kernel("AdamUpdater", modifies=[3], returns_modified=False, infer=_as_moment)
def _adam(op: Op) -> Function:
    attributes = op.attributes
    mode = attributes["mode"]
    places = sorted(op.inputs)

    def run(*tensors: Tensor) -> Any:
        given = dict(zip(places, tensors, strict=True))
        first, second, step = given[1], given[2], given.get(3)
        if step is not None:
            step.add_(1)
        moment: Tensor = first
        spread: Tensor = second
        if step is not None and mode in ("Adam", "Lamb", "AdaMax"):
            moment = first.to(second.dtype) / _corrected(given.get(5, attributes["beta1"]), step).to(
                second.dtype
            )
            if mode != "AdaMax":
                spread = second / _corrected(given.get(6, attributes["beta2"]), step).to(second.dtype)
        if mode != "AdaMax":
            spread = spread.sqrt()
        epsilon = given.get(7, attributes["epsilon"])
        update: Tensor = moment.to(second.dtype) / (spread + epsilon)
        if 0 not in given:
            return update.to(first.dtype)
        decay = given.get(4, attributes["weight_decay"])
        weight = given[0]
        return update.to(weight.dtype) + weight * (
            decay.to(weight.dtype) if isinstance(decay, Tensor) else decay
        )

    return run


@kernel("AdamVarUpdate", modifies=[0], infer=as_first)
def _adam_update(op: Op) -> Function:
    attributes = op.attributes

    def run(variable: Tensor, updater: Tensor, r1: Tensor, r2: Tensor, *others: Tensor) -> Tensor:
        given = _values(op, 4, others)
        rate: Any = given.get(4, attributes["learning_rate"])
        largest: Any = given.get(5, attributes["max_weight_norm"])
        norm = r1.sqrt()
        if largest is not None:
            norm = torch.minimum(norm, torch.as_tensor(largest, dtype=norm.dtype, device=norm.device))
        plain = (r1 == 0) | (r2 == 0)
        ratio = torch.where(plain, torch.ones_like(norm), norm / r2.sqrt())
        return variable.sub_((updater * (rate * ratio)).to(variable.dtype))

    return run
