"""The compound scalars into which the device's runtime folds the user's values (names and formulas of its public
headers; the two for Nesterov are ours). Constant ones are Python numbers, others 0-d tensors in `state_dict()`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch

from tremula.frontends.torch.optimize.spec import GroupSpec, HyperValue, Kind, OptimizerSpec

Scalar = torch.Tensor | float

LOSS_SCALING = "lossScaling_FLOAT"
_ATOMIC_LOSS_SCALING = "lossScaling"


@dataclass(frozen=True)
class Compound:
    """A scalar computed from the user's values; `inputs` are their names in the formula's order."""

    name: str
    inputs: tuple[str, ...]
    formula: Callable[..., float]

    def tensor_name(self, parameter: str) -> str:
        return f"{self.name}___specific___{parameter}"

    def is_constant(self, spec: OptimizerSpec, group: GroupSpec) -> bool:
        return all(_input(spec, group, key).constant for key in self.inputs)

    def value(self, spec: OptimizerSpec, group: GroupSpec) -> float:
        return self.formula(*(_input(spec, group, key).value for key in self.inputs))


def _input(spec: OptimizerSpec, group: GroupSpec, key: str) -> HyperValue:
    return spec.loss_scaling if key == _ATOMIC_LOSS_SCALING else group.values[key]


def _inverse(value: float) -> float:
    return 1.0 / value


def _plain(name: str, key: str) -> Compound:
    return Compound(name, (key,), float)


# SGD without velocity:  w <- decay * w - rate * g
SGD0_RATE = Compound(
    "scaledLearningRate0",
    ("learningRate", "dampening", _ATOMIC_LOSS_SCALING),
    lambda lr, dm, ls: lr * (1 - dm) / ls,
)
SGD0_DECAY = Compound(
    "weightDecayScaleFactor0",
    ("learningRate", "dampening", "weightDecay"),
    lambda lr, dm, wd: 1 - lr * (1 - dm) * wd,
)


@dataclass(frozen=True)
class VelocityScalars:
    """SGD with velocity:  v <- momentum * v + dampening * g + decay * w;  w <- w - rate * v."""

    momentum: Compound
    dampening: Compound
    decay: Compound
    rate: Compound
    #: Nesterov: the gradient's factor in  w <- w - rate * (gradient * g + nesterov_decay * w + momentum * v)
    nesterov_gradient: Compound
    nesterov_decay: Compound


def _velocity_scalars(variant: int) -> VelocityScalars:
    return VelocityScalars(
        momentum=_plain(f"scaledMomentum{variant}", "momentum"),
        dampening=Compound(
            f"dampeningScaleFactor{variant}",
            ("dampening", "velocityScaling", _ATOMIC_LOSS_SCALING),
            lambda dm, vs, ls: (1 - dm) * vs / ls,
        ),
        decay=Compound(
            "scaledWeightDecay1",
            ("dampening", "weightDecay", "velocityScaling"),
            lambda dm, wd, vs: (1 - dm) * wd * vs,
        ),
        rate=Compound(
            f"scaledLearningRate{variant}", ("learningRate", "velocityScaling"), lambda lr, vs: lr / vs
        ),
        nesterov_gradient=Compound(
            f"nesterovGradient{variant}",
            ("velocityScaling", _ATOMIC_LOSS_SCALING),
            lambda vs, ls: vs / ls,
        ),
        nesterov_decay=Compound(
            f"nesterovWeightDecay{variant}", ("weightDecay", "velocityScaling"), lambda wd, vs: wd * vs
        ),
    )


SGD_COMBINED = _velocity_scalars(1)
SGD_SEPARATE = _velocity_scalars(2)

RATE = _plain("learningRate", "learningRate")
DECAY = _plain("weightDecay", "weightDecay")
MAX_WEIGHT_NORM = _plain("maxWeightNorm", "maxWeightNorm")

ADAM_BETA1 = _plain("adamBeta1", "beta1")
ADAM_BETA2 = _plain("adamBeta2", "beta2")
ADAM_EPS = _plain("adamEps", "eps")
ADAM_GRADIENT = Compound("adamGradientScaling", (_ATOMIC_LOSS_SCALING,), _inverse)

ADAPTIVE_ALPHA = _plain("adaptiveAlpha", "alpha")
ADAPTIVE_MOMENTUM = _plain("adaptiveMomentum", "momentum")
ADAPTIVE_EPS = _plain("adaptiveEps", "eps")
ADAPTIVE_GRADIENT = Compound("adaptiveGradientScaling", (_ATOMIC_LOSS_SCALING,), _inverse)


#: kinds that scale by a mean of squares
ADAPTIVE = (Kind.RMSPROP, Kind.ADAGRAD, Kind.ADADELTA)


def has_velocity(group: GroupSpec) -> bool:
    """Momentum is, or may become, other than zero."""
    return not group.values["momentum"].is_fixed_at(0.0)


def has_decay(group: GroupSpec) -> bool:
    """Weight decay is, or may become, other than zero."""
    return not group.values["weightDecay"].is_fixed_at(0.0)


def is_nesterov(group: GroupSpec) -> bool:
    return "nesterov" in group.values and bool(group.values["nesterov"].value)


def velocity_scalars(spec: OptimizerSpec) -> VelocityScalars:
    return SGD_COMBINED if spec.use_combined_accum else SGD_SEPARATE


def compounds_of(spec: OptimizerSpec, group: GroupSpec) -> list[Compound]:
    """The scalars that the update of `group` reads."""
    if spec.kind is Kind.SGD:
        return _compounds_of_sgd(spec, group)
    if spec.kind in ADAPTIVE:
        compounds = [RATE, ADAPTIVE_EPS, ADAPTIVE_GRADIENT]
        if spec.kind is not Kind.ADAGRAD:
            compounds.append(ADAPTIVE_ALPHA)
        if has_velocity(group):
            compounds.append(ADAPTIVE_MOMENTUM)
    else:
        compounds = [RATE, ADAM_BETA1, ADAM_BETA2, ADAM_EPS, ADAM_GRADIENT]
        if spec.kind is Kind.LAMB:
            compounds.append(MAX_WEIGHT_NORM)
    if has_decay(group):
        compounds.append(DECAY)
    return compounds


def _compounds_of_sgd(spec: OptimizerSpec, group: GroupSpec) -> list[Compound]:
    if not has_velocity(group):
        return [SGD0_RATE, SGD0_DECAY] if has_decay(group) else [SGD0_RATE]
    scalars = velocity_scalars(spec)
    compounds = [scalars.rate, scalars.dampening, scalars.momentum]
    if has_decay(group):
        compounds.append(scalars.decay)
    if is_nesterov(group):
        compounds.append(scalars.nesterov_gradient)
        if has_decay(group):
            compounds.append(scalars.nesterov_decay)
    return compounds


def hyper_tensors(spec: OptimizerSpec) -> dict[str, torch.Tensor]:
    """The variable scalars of an optimizer as 0-d float32 tensors, by name: the `ipu_param` of its state."""
    tensors: dict[str, torch.Tensor] = {}
    if not spec.loss_scaling.constant:
        tensors[LOSS_SCALING] = _tensor(spec.loss_scaling.value)
    for group in spec.groups:
        for compound in compounds_of(spec, group):
            if not compound.is_constant(spec, group):
                value = compound.value(spec, group)
                for parameter in group.parameters:
                    tensors[compound.tensor_name(parameter)] = _tensor(value)
    return tensors


def _tensor(value: float) -> torch.Tensor:
    return torch.tensor(value, dtype=torch.float32)


@dataclass(frozen=True)
class Scalars:
    """Looks up the scalars of one parameter: a tensor if it is variable, else a number."""

    spec: OptimizerSpec
    group: GroupSpec
    parameter: str
    hyper: Mapping[str, torch.Tensor]

    def __getitem__(self, compound: Compound) -> Scalar:
        if compound.is_constant(self.spec, self.group):
            return compound.value(self.spec, self.group)
        return self.hyper[compound.tensor_name(self.parameter)]


def is_one(scalar: Scalar) -> bool:
    """True for the number one (a tensor's value is not known at capture)."""
    return not isinstance(scalar, torch.Tensor) and scalar == 1.0


def product(scalar: Scalar, factor: Scalar) -> Scalar:
    """`scalar * factor`; no op is captured for two numbers or for a factor of one."""
    if is_one(factor):
        return scalar
    if is_one(scalar):
        return factor
    return scalar * factor


def scalar_names(spec: OptimizerSpec) -> list[str]:
    """Names of all scalars of the update, the constant ones included, as the runtime lists its tensors."""
    names = []
    for parameter, group in spec.parameters():
        compounds = compounds_of(spec, group)
        if spec.kind is Kind.SGD and not has_velocity(group) and SGD0_DECAY not in compounds:
            compounds = [*compounds, SGD0_DECAY]  # the runtime keeps a factor of one
        names += [compound.tensor_name(parameter) for compound in compounds]
    return names
