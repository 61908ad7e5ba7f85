"""Optimizers by name, with default values, for models that are asked about and not trained."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from tremula.errors import Error
from tremula.frontends.torch.optimize.spec import GroupSpec, HyperValue, Kind, OptimizerSpec

#: by name: the rule, its values besides the learning rate, and options of the rule
OPTIMIZERS: dict[str, tuple[Kind, dict[str, float], dict[str, Any]]] = {
    "sgd": (Kind.SGD, {}, {"use_combined_accum": False}),
    "momentum": (Kind.SGD, {"momentum": 0.9}, {"use_combined_accum": False}),
    "combined_momentum": (Kind.SGD, {"momentum": 0.9}, {"use_combined_accum": True}),
    "adam": (Kind.ADAM, {}, {}),
    "adamw": (Kind.ADAMW, {"weightDecay": 0.01}, {}),
    "lamb": (Kind.LAMB, {"weightDecay": 0.01}, {"bias_correction": False}),
    "rmsprop": (Kind.RMSPROP, {"momentum": 0.9}, {}),
}
_VALUES = {
    "learningRate": 0.01, "weightDecay": 0.0, "momentum": 0.0, "dampening": 0.0, "velocityScaling": 1.0,
    "nesterov": 0.0, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "maxWeightNorm": 65535.0, "alpha": 0.99,
}  # fmt: skip


def named_spec(
    name: str,
    parameters: Iterable[str],
    *,
    accumulator: torch.dtype = torch.float32,
    first_order: torch.dtype = torch.float32,
) -> OptimizerSpec:
    """The optimizer called `name` over `parameters`."""
    if name not in OPTIMIZERS:
        raise Error(f"Unknown optimizer {name!r}; the optimizers are {', '.join(OPTIMIZERS)}.")
    kind, values, options = OPTIMIZERS[name]
    constants = {key: HyperValue(value, constant=True) for key, value in {**_VALUES, **values}.items()}
    constants["learningRate"] = HyperValue(_VALUES["learningRate"])
    return OptimizerSpec(
        kind,
        (GroupSpec(tuple(parameters), constants),),
        accum_type=accumulator,
        first_order_type=first_order,
        second_order_type=torch.float32,
        **options,
    )


def name_of(optimizer: object) -> str:
    """The name here for an optimizer of torch's, or one that is called alike."""
    kind = type(optimizer).__name__.lower()
    defaults = getattr(optimizer, "defaults", {})
    if kind == "sgd":
        return "momentum" if defaults.get("momentum") else "sgd"
    if kind in OPTIMIZERS:
        return kind
    raise Error(
        f"{type(optimizer).__name__} is not supported on the device; choose another one with --optimizer: "
        f"{', '.join(OPTIMIZERS)}."
    )
