"""The dictionary of an optimizer as the engine's description of it, and as log lines."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from tremula.frontends.torch.optimize.spec import GroupSpec, HyperValue, OptimizerSpec

from ._optimizer_values import OptimizerType, Values


def _with_tied_velocity(opts: dict[str, Any]) -> tuple[Values, list[Values]]:
    """Defaults and groups; with separate tensors the velocity is scaled like the loss."""
    defaults, groups = opts["defaults"], opts["groups"]
    if opts["optimizer_type"] is not OptimizerType.SGD2:
        return defaults, groups
    tied = {"velocityScaling": defaults["lossScaling"]}
    return {**defaults, **tied}, [{**group, **tied} for group in groups]


def to_spec(
    optimizer: torch.optim.Optimizer, opts: dict[str, Any], name_of: Callable[[torch.Tensor], str | None]
) -> OptimizerSpec:
    """The engine's description of an optimizer with dictionary `opts`; `name_of` is None for foreign parameters."""
    optimizer_type: OptimizerType = opts["optimizer_type"]
    defaults, groups = _with_tied_velocity(opts)
    specs = []
    for group, values in zip(optimizer.param_groups, groups, strict=True):
        names = tuple(name for tensor in group["params"] if (name := name_of(tensor)) is not None)
        specs.append(GroupSpec(names, {key: HyperValue(*pair) for key, pair in values.items()}))
    first = opts.get("velocityAccumType", opts.get("firstOrderMomentumAccumType", False))
    return OptimizerSpec(
        kind=optimizer_type.kind,
        groups=tuple(specs),
        accum_type=_dtype(opts["accumType"]),
        first_order_type=_dtype(first),
        second_order_type=_dtype(opts.get("secondOrderMomentumAccumType", False)),
        loss_scaling=HyperValue(*defaults["lossScaling"]),
        max_grad_norm=opts.get("maxGradNorm", math.inf),
        use_tf_variant=opts.get("useTfVariant", False),
        centered=optimizer_type is OptimizerType.RMSPROP_CENTERED,
        bias_correction=optimizer_type is not OptimizerType.LAMB_NO_BIAS,
        use_combined_accum=optimizer_type is OptimizerType.SGD1,
        automatic_loss_scaling=opts.get("automaticLossScaling"),
    )


def _dtype(is_half: bool) -> torch.dtype:
    return torch.float16 if is_half else torch.float32


def describe(opts: dict[str, Any], spec: OptimizerSpec) -> list[str]:
    """Log lines about a new optimizer: one for its defaults and one for each group."""
    defaults, groups = _with_tied_velocity(opts)
    own = {"lossScaling", "nesterov"}
    named = {
        key if key in own else f"default{key[0].upper()}{key[1:]}": pair for key, pair in defaults.items()
    }
    name = opts["optimizer_type"].name.replace("_NO_BIAS", "").replace("_CENTERED", "")
    lines = [f"Updating graph optimizer with {name}, {_text(named, spec)}"]
    for index, (values, group) in enumerate(zip(groups, spec.groups, strict=True)):
        tensors = ", ".join(group.parameters)
        text = f"{name}, {_text(values, spec)} for (tensors affected [{tensors}])"
        lines.append(f"Updating group {index} optimizer with {text}")
    return lines


def _text(values: Values, spec: OptimizerSpec) -> str:
    attributes = {
        "accumType": str(spec.accum_type).removeprefix("torch."),
        "firstOrderMomentumAccumType": str(spec.first_order_type).removeprefix("torch."),
        "secondOrderMomentumAccumType": str(spec.second_order_type).removeprefix("torch."),
        "useTfVariant": int(spec.use_tf_variant),
        "maxGradNorm": f"{spec.max_grad_norm:g}",
    }
    numbers = {
        key: f"{value:g}{' (const)' if fixed else ''}" for key, (value, fixed) in sorted(values.items())
    }
    return ", ".join(f"{key}={value}" for key, value in {**numbers, **attributes}.items())
