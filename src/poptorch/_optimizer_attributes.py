"""Reads an optimizer into a dictionary of (value, constant) and into the engine's description. PopTorch's optimizers
mark values themselves; of torch's, values that equal the default are constant, and the learning rate never is.
"""

from __future__ import annotations

import enum
import math
import numbers
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch

from tremula import log
from tremula.frontends.torch.optimize.spec import (
    GroupSpec,
    HyperValue,
    Kind,
    LossScaleSettings,
    OptimizerSpec,
)

from . import enums, optim
from ._logging import logger

#: name in the dictionary -> (value, constant)
_Values = dict[str, tuple[float, bool]]


class _OptimizerType(enum.IntEnum):
    SGD1 = 0
    SGD2 = 1
    ADAM = 2
    ADAMW = 3
    ADAMW_NO_BIAS = 4
    RMSPROP = 5
    RMSPROP_CENTERED = 6
    LAMB = 7
    LAMB_NO_BIAS = 8

    @property
    def kind(self) -> Kind:
        """The update rule, whose name begins that of the type."""
        return Kind[self.name.partition("_")[0].rstrip("12")]


_SUPPORTED_CLASSES = (
    optim.LAMB,
    *(
        getattr(module, name)
        for module in (torch.optim, optim)
        for name in ("SGD", "Adam", "AdamW", "RMSprop")
    ),
)


class OptimizerAttrTracker:
    """Remembers what the first optimizer of a model carried, and reports whatever appears later."""

    def __init__(self, opts: Any) -> None:
        self.log = logger.debug if opts._relax_optimizer_checks else logger.warning
        self.type = "Unknown"
        self._recording = True
        self._known: dict[str, set[str]] = {"group": set(), "optimizer": set()}
        self._reported: set[str] = set()

    def setType(self, optimizer_type: Any) -> None:
        """Name the optimizer in messages; the class has to be one that the device has an update for."""
        if not isinstance(optimizer_type, _OptimizerType):
            raise AssertionError(
                "This optimizer is not supported on the device. Use SGD, Adam, AdamW or RMSprop of torch.optim "
                "or poptorch.optim, or poptorch.optim.LAMB."
            )
        self.type = optimizer_type.name

    def enableChecks(self) -> None:
        """From now on attributes that are new are reported."""
        self._recording = False

    def check(self, where: str, names: Iterable[str], label: str) -> None:
        """Take note of `names`, or report those that were never seen before, once each."""
        known = self._known[where]
        if self._recording:
            known.update(names)
            return
        unexpected = [name for name in names if name not in known]
        message = f"Ignoring unexpected {label} in {self.type} optimizer: {unexpected}"
        if unexpected and message not in self._reported:
            self._reported.add(message)
            self.log(message)


@dataclass(frozen=True)
class _Value:
    """A value of a parameter group: where it is, what it is called below, when it is constant for torch."""

    attribute: str
    name: str
    is_default: Callable[[float], bool]
    fallback: float | None = None
    member: int | None = None

    def read(self, group: dict[str, Any], variable: optim.VariableAttributes | None) -> tuple[float, bool]:
        value = group.get(self.attribute, self.fallback)
        if value is None:
            raise AssertionError(f"The optimizer's parameter groups lack the value {self.attribute}")
        if self.member is not None:
            if not isinstance(value, tuple | list):
                raise AssertionError(f"{self.attribute} must be a pair, not {value}")
            if len(value) != 2:
                raise AssertionError(f"{self.attribute} must be a pair, not {value}")
            value = value[self.member]
        number = _number(value, self.attribute)
        constant = self.is_default(number) if variable is None else variable.isConstant(self.attribute)
        return number, constant


def _number(value: Any, attribute: str) -> float:
    if isinstance(value, torch.Tensor) and value.numel() == 1:
        return float(value)
    if not isinstance(value, numbers.Real):
        raise AssertionError(f"{attribute} must be a number, not {value}")
    return float(value)


def _equals(default: float) -> Callable[[float], bool]:
    return lambda value: value == default


def _always(_: float) -> bool:
    return True


def _never(_: float) -> bool:
    return False


_RATE = _Value("lr", "learningRate", _never)
_DECAY = _Value("weight_decay", "weightDecay", _equals(0.0))
_ADAMW_DECAY = _Value("weight_decay", "weightDecay", _equals(1e-2))
_MOMENTUM = _Value("momentum", "momentum", _equals(0.0))
_EPS = _Value("eps", "eps", _equals(1e-8))
_BETAS = (_Value("betas", "beta1", _always, member=0), _Value("betas", "beta2", _always, member=1))
_SGD_VALUES = (
    _RATE,
    _MOMENTUM,
    _Value("dampening", "dampening", _equals(0.0)),
    _DECAY,
    _Value("nesterov", "nesterov", _always),
    _Value("velocity_scaling", "velocityScaling", _equals(1.0), fallback=1.0),
)
_VALUES = {
    Kind.SGD: _SGD_VALUES,
    Kind.ADAM: (_RATE, *_BETAS, _EPS, _DECAY),
    Kind.ADAMW: (_RATE, *_BETAS, _EPS, _ADAMW_DECAY),
    Kind.RMSPROP: (_RATE, _MOMENTUM, _DECAY, _Value("alpha", "alpha", _always), _EPS),
    Kind.LAMB: (_RATE, _DECAY, *_BETAS, _EPS, _Value("max_weight_norm", "maxWeightNorm", _equals(65500.0))),
}


def convertOptimizerToDict(
    optimizer: torch.optim.Optimizer, attr_tracker: OptimizerAttrTracker, options: Any, is_compiled: bool
) -> dict[str, Any]:
    """The optimizer as a dictionary; two are the same for the device if their dictionaries are. Accumulating in
    float16 switches `options` to a running mean, which is refused once they are used (`is_compiled`).
    """
    optimizer_type: Any = _type_of(optimizer)
    attr_tracker.setType(optimizer_type)
    _refuse_amsgrad(optimizer)
    _use_running_mean_for_half(optimizer, options, is_compiled)
    _say_what_is_ignored(optimizer, optimizer_type)

    popart_options = options._Popart.options
    automatic = bool(popart_options.get("automaticLossScalingSettings.enabled", False))
    variable: optim.VariableAttributes | None = getattr(optimizer, "variable_attrs", None)
    if variable is not None and automatic:
        variable.markAsVariable("loss_scaling")

    opts: dict[str, Any] = {"optimizer_type": optimizer_type, **_attributes_of(optimizer, optimizer_type)}
    if automatic:
        opts["automaticLossScaling"] = _loss_scale_settings(popart_options)
    scaling = _number(getattr(optimizer, "loss_scaling", 1.0), "loss_scaling")
    fixed = scaling == 1.0 and not automatic if variable is None else variable.isConstant("loss_scaling")
    values = _VALUES[optimizer_type.kind]
    opts["defaults"] = {v.name: v.read(optimizer.defaults, variable) for v in values}
    opts["defaults"]["lossScaling"] = (scaling, fixed)
    opts["groups"] = [{v.name: v.read(group, variable) for v in values} for group in optimizer.param_groups]
    _track(optimizer, attr_tracker)
    logger.debug("Optimizer as read from Python: %s", opts)
    return opts


def _type_of(optimizer: torch.optim.Optimizer) -> _OptimizerType | None:
    if type(optimizer) not in _SUPPORTED_CLASSES and isinstance(optimizer, _SUPPORTED_CLASSES):
        logger.warning(
            "Optimizer `%s` is a subclass of an optimizer of torch.optim or poptorch.optim. Poptorch does "
            "not run Python optimizer code directly: the device runs the update of the base class, and methods "
            "that the subclass overrides have no effect.",
            type(optimizer).__name__,
        )
    if isinstance(optimizer, torch.optim.SGD):
        combined = getattr(optimizer, "use_combined_accum", False)
        return _OptimizerType.SGD1 if combined else _OptimizerType.SGD2
    # AdamW is a subclass of Adam and has to be asked for first.
    if isinstance(optimizer, torch.optim.AdamW):
        corrected = getattr(optimizer, "bias_correction", True)
        return _OptimizerType.ADAMW if corrected else _OptimizerType.ADAMW_NO_BIAS
    if isinstance(optimizer, torch.optim.Adam):
        decoupled = _same_in_groups(optimizer, "decoupled_weight_decay")
        return _OptimizerType.ADAMW if decoupled else _OptimizerType.ADAM
    if isinstance(optimizer, torch.optim.RMSprop):
        centered = _same_in_groups(optimizer, "centered")
        return _OptimizerType.RMSPROP_CENTERED if centered else _OptimizerType.RMSPROP
    if isinstance(optimizer, optim.LAMB):
        return _OptimizerType.LAMB if optimizer.bias_correction else _OptimizerType.LAMB_NO_BIAS
    return None


def _same_in_groups(optimizer: torch.optim.Optimizer, attribute: str) -> bool:
    """A flag that all groups have to agree on."""
    flags = [bool(group.get(attribute, False)) for group in optimizer.param_groups]
    if len(set(flags)) != 1:
        raise AssertionError(
            f"All parameter groups must have the same value for the {attribute!r} attribute; they have {flags}"
        )
    return flags[0]


def _refuse_amsgrad(optimizer: torch.optim.Optimizer) -> None:
    if any(group.get("amsgrad") for group in (optimizer.defaults, *optimizer.param_groups)):
        raise ValueError("AMSGrad is not supported on the device: create Adam or AdamW with amsgrad=False.")


def _use_running_mean_for_half(optimizer: torch.optim.Optimizer, options: Any, is_compiled: bool) -> None:
    """A sum of many gradients overflows float16; a running mean does not."""
    half = getattr(optimizer, "accum_type", torch.float32) == torch.float16
    if not half or getattr(optimizer, "use_combined_accum", False):
        return
    training = options.Training
    if not is_compiled:
        options._unfreeze()
        training.setMeanAccumulationAndReplicationReductionStrategy(enums.MeanReductionStrategy.Running)
        options._freeze()
    elif training.meanAccumulationAndReplicationReductionStrategy != enums.MeanReductionStrategy.Running:
        raise ValueError(
            "accum_type=torch.float16 needs options.Training.meanAccumulationAndReplicationReductionStrategy "
            "to be poptorch.MeanReductionStrategy.Running, but the model is already compiled without it. "
            "Set the optimizer before the first call, or choose Running in the options."
        )


def _say_what_is_ignored(optimizer: torch.optim.Optimizer, optimizer_type: _OptimizerType) -> None:
    if optimizer_type is _OptimizerType.ADAMW_NO_BIAS:
        log.no_effect("AdamW(bias_correction=False)", "the device's AdamW always corrects the bias")
    if any(group.get("maximize") for group in optimizer.param_groups):
        log.no_effect("maximize=True of an optimizer", "the device always minimises; negate the loss instead")


def _attributes_of(optimizer: torch.optim.Optimizer, optimizer_type: _OptimizerType) -> dict[str, Any]:
    """Attributes of the whole optimizer; none of them can change after compilation."""
    attributes: dict[str, Any] = {"accumType": _is_half(optimizer, "accum_type")}
    if optimizer_type.kind is Kind.SGD:
        attributes["velocityAccumType"] = _is_half(optimizer, "velocity_accum_type")
    else:
        for order in ("first", "second"):
            attribute = f"{order}_order_momentum_accum_type"
            attributes[f"{order}OrderMomentumAccumType"] = _is_half(optimizer, attribute)
    if optimizer_type.kind is Kind.RMSPROP:
        attributes["useTfVariant"] = bool(getattr(optimizer, "use_tf_variant", False))
    elif optimizer_type.kind is not Kind.LAMB:
        norm = _number(getattr(optimizer, "max_grad_norm", math.inf), "max_grad_norm")
        if math.isnan(norm):
            raise ValueError("max_grad_norm must not be NaN; leave it out for no limit.")
        attributes["maxGradNorm"] = norm
    return attributes


def _is_half(optimizer: torch.optim.Optimizer, attribute: str) -> bool:
    dtype = getattr(optimizer, attribute, torch.float32)
    if dtype not in (torch.float16, torch.float32):
        raise ValueError(f"{attribute} must be torch.float16 or torch.float32, not {dtype}")
    return dtype == torch.float16


def _loss_scale_settings(popart_options: dict[str, Any]) -> LossScaleSettings:
    names = {
        "binEdgeLocation": "bin_edge_location",
        "thresholdUpperCountProportion": "threshold_upper_count_proportion",
        "updatePeriod": "update_period",
    }
    given = {
        field: popart_options[f"automaticLossScalingSettings.{name}"]
        for name, field in names.items()
        if f"automaticLossScalingSettings.{name}" in popart_options
    }
    return LossScaleSettings(**given)


def _track(optimizer: torch.optim.Optimizer, tracker: OptimizerAttrTracker) -> None:
    tracker.check("group", optimizer.defaults, "default group variable")
    ours = {
        "defaults",
        "state",
        "param_groups",
        "variable_attrs",
        "ipu_state_is_dirty",
        "host_state_is_dirty",
    }
    ours.update(getattr(optimizer, "_own_attributes", ()))
    # Methods hung on the object (a wrapped model's state_dict, a scheduler's step) are not settings.
    visible = [
        name
        for name, value in vars(optimizer).items()
        if name not in ours and not name.startswith("_") and not callable(value)
    ]
    tracker.check("optimizer", visible, "optimizer attribute")
    for index, group in enumerate(optimizer.param_groups):
        names = [name for name in group if name not in ("params", "param_names")]
        tracker.check("group", names, f"group {index} attribute")
    tracker.enableChecks()


def _with_tied_velocity(opts: dict[str, Any]) -> tuple[_Values, list[_Values]]:
    """Defaults and groups; with separate tensors the velocity is scaled like the loss."""
    defaults, groups = opts["defaults"], opts["groups"]
    if opts["optimizer_type"] is not _OptimizerType.SGD2:
        return defaults, groups
    tied = {"velocityScaling": defaults["lossScaling"]}
    return {**defaults, **tied}, [{**group, **tied} for group in groups]


def to_spec(
    optimizer: torch.optim.Optimizer, opts: dict[str, Any], name_of: Callable[[torch.Tensor], str | None]
) -> OptimizerSpec:
    """The engine's description of an optimizer with dictionary `opts`; `name_of` is None for foreign parameters."""
    optimizer_type: _OptimizerType = opts["optimizer_type"]
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
        centered=optimizer_type is _OptimizerType.RMSPROP_CENTERED,
        bias_correction=optimizer_type is not _OptimizerType.LAMB_NO_BIAS,
        use_combined_accum=optimizer_type is _OptimizerType.SGD1,
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


def _text(values: _Values, spec: OptimizerSpec) -> str:
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
