"""An optimizer for the engine. Constant values are built into the captured update, variable ones are passed as
tensors; their names are those of the device's runtime.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields

import torch

from tremula.errors import Error


class Kind(enum.Enum):
    """The update rules that the device knows."""

    SGD = "SGD"
    ADAM = "ADAM"
    ADAMW = "ADAMW"
    ADAMAX = "ADAMAX"
    LAMB = "LAMB"
    RMSPROP = "RMSPROP"
    ADAGRAD = "ADAGRAD"
    ADADELTA = "ADADELTA"


@dataclass(frozen=True)
class HyperValue:
    """One hyperparameter; `constant` means that it is fixed when the program is captured."""

    value: float
    constant: bool = False

    def is_fixed_at(self, value: float) -> bool:
        """True if the value is `value` now and for ever."""
        return self.constant and self.value == value


@dataclass(frozen=True)
class GroupSpec:
    """Parameters, by name, that share their hyperparameters.

    Names of values: `learningRate`, `weightDecay`, `momentum`, `dampening`, `velocityScaling`, `nesterov`,
    `beta1`, `beta2`, `eps`, `maxWeightNorm`, `alpha`; each kind reads its own.
    """

    parameters: tuple[str, ...]
    values: Mapping[str, HyperValue] = field(default_factory=dict)


class Decay(enum.Enum):
    """Where weight decay enters the update."""

    #: it is added to the gradient
    GRADIENT = "gradient"
    #: it is added to the step
    STEP = "step"


@dataclass(frozen=True)
class ClipGroup:
    """Parameters (None: all) whose gradients together have at most this norm."""

    max_norm: float
    parameters: tuple[str, ...] | None = None


@dataclass(frozen=True)
class LossScaleSettings:
    """Automatic loss scaling, with the defaults of the device's runtime.

    Attributes:
        bin_edge_location: where "large" gradient elements begin, as a fraction of the dtype's range.
        threshold_upper_count_proportion: fraction of large elements above which the scale is halved.
        update_period: number of weight updates between two changes of the scale.
    """

    bin_edge_location: float = 0.0625
    threshold_upper_count_proportion: float = 1e-7
    update_period: int = 1


@dataclass(frozen=True)
class OptimizerSpec:
    """An optimizer, complete enough to capture its update.

    Attributes:
        accum_type: dtype in which gradients are accumulated over micro-batches. Of this and the types below, None
            stands for that of the parameter.
        first_order_type: dtype of the first state tensor (velocity or first moment).
        second_order_type: dtype of the second state tensor.
        loss_scaling: factor that the loss was multiplied by before the backward pass.
        third_order_type: dtype of the third state tensor (momentum of the adaptive kinds).
        max_grad_norm: largest allowed global norm of all gradients together.
        clip_groups: further limits, of some parameters' gradients.
        weight_decay: where weight decay enters, if not where it usually does for the kind.
        use_combined_accum: SGD keeps one tensor for accumulation and velocity.
        automatic_loss_scaling: how the device adapts a further factor on the loss by itself, or None.
    """

    kind: Kind
    groups: tuple[GroupSpec, ...]
    accum_type: torch.dtype | None = torch.float32
    first_order_type: torch.dtype | None = torch.float32
    second_order_type: torch.dtype | None = torch.float32
    loss_scaling: HyperValue = HyperValue(1.0, True)
    max_grad_norm: float = math.inf
    use_tf_variant: bool = False
    centered: bool = False
    bias_correction: bool = True
    use_combined_accum: bool = False
    automatic_loss_scaling: LossScaleSettings | None = None
    third_order_type: torch.dtype | None = torch.float32
    clip_groups: tuple[ClipGroup, ...] = ()
    weight_decay: Decay | None = None

    @property
    def decays_gradient(self) -> bool:
        """Whether weight decay is added to the gradient, rather than to the step."""
        if self.weight_decay is not None:
            return self.weight_decay is Decay.GRADIENT
        return self.kind not in (Kind.ADAMW, Kind.LAMB)

    def accumulator_type(self, parameter: torch.Tensor) -> torch.dtype:
        """The dtype in which the gradients of a parameter are accumulated."""
        return parameter.dtype if self.accum_type is None else self.accum_type

    def parameters(self) -> Iterator[tuple[str, GroupSpec]]:
        """Every parameter with the group it belongs to."""
        for group in self.groups:
            for name in group.parameters:
                yield name, group


#: Fields that choose the captured update itself.
_STRUCTURE = tuple(f.name for f in fields(OptimizerSpec) if f.name not in ("kind", "groups", "loss_scaling"))


def replaced(old: OptimizerSpec, new: OptimizerSpec) -> OptimizerSpec:
    """`new`, once it is certain that the update captured for `old` serves it."""
    difference = _difference(old, new)
    if difference is not None:
        raise Error(
            f"The optimizer of a compiled model cannot be exchanged: {difference}. Mark the value as "
            "variable before the model is compiled (pass it to the optimizer's constructor, or use "
            "optimizer.variable_attrs.markAsVariable), or wrap the model again.",
            type="popart_exception",
        )
    return new


def _difference(old: OptimizerSpec, new: OptimizerSpec) -> str | None:
    """What keeps `new` from being used where `old` was captured, in words, or None."""
    if old.kind is not new.kind:
        return f"it was compiled with {old.kind.value} and the new one is {new.kind.value}"
    for attribute in _STRUCTURE:
        before, after = getattr(old, attribute), getattr(new, attribute)
        if before != after:
            return f"{attribute} was {before} when the model was compiled and is {after} now"
    refusal = _refusal("lossScaling", old.loss_scaling, new.loss_scaling)
    if refusal is not None:
        return refusal
    after_by_name = {name: group.values for name, group in new.parameters()}
    before_by_name = {name: group.values for name, group in old.parameters()}
    if before_by_name.keys() != after_by_name.keys():
        names = sorted(before_by_name.keys() ^ after_by_name.keys())
        return f"it does not update the same parameters ({', '.join(names)})"
    for name, values in before_by_name.items():
        for key, value in values.items():
            other = after_by_name[name].get(key)
            if other is None:
                return f"{key} of {name} is missing"
            refusal = _refusal(key, value, other)
            if refusal is not None:
                return f"{refusal} (parameter {name})"
    return None


def _refusal(key: str, old: HyperValue, new: HyperValue) -> str | None:
    """Why the device's runtime would not take `new` for `old`, or None."""
    if old.constant != new.constant:
        before, after = ("constant", "variable") if old.constant else ("variable", "constant")
        return f"{key} was {before} when the model was compiled and is {after} now"
    if old.constant and old.value != new.value:
        return f"{key} is a constant, {old.value:g}, in the compiled model and {new.value:g} in the new one"
    return None
