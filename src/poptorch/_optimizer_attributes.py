"""Reads an optimizer into a dictionary of (value, constant). PopTorch's optimizers mark values themselves; of torch's,
values that equal the default are constant, and the learning rate never is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import torch

from tremula import log
from tremula.frontends.torch.optimize.spec import (
    Kind,
    LossScaleSettings,
)

from . import enums, optim
from ._logging import logger
from ._optimizer_values import VALUES, OptimizerType, number_of

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
        if not isinstance(optimizer_type, OptimizerType):
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
    scaling = number_of(getattr(optimizer, "loss_scaling", 1.0), "loss_scaling")
    fixed = scaling == 1.0 and not automatic if variable is None else variable.isConstant("loss_scaling")
    values = VALUES[optimizer_type.kind]
    opts["defaults"] = {v.name: v.read(optimizer.defaults, variable) for v in values}
    opts["defaults"]["lossScaling"] = (scaling, fixed)
    opts["groups"] = [{v.name: v.read(group, variable) for v in values} for group in optimizer.param_groups]
    _track(optimizer, attr_tracker)
    logger.debug("Optimizer as read from Python: %s", opts)
    return opts


def _type_of(optimizer: torch.optim.Optimizer) -> OptimizerType | None:
    if type(optimizer) not in _SUPPORTED_CLASSES and isinstance(optimizer, _SUPPORTED_CLASSES):
        logger.warning(
            "Optimizer `%s` is a subclass of an optimizer of torch.optim or poptorch.optim. Poptorch does "
            "not run Python optimizer code directly: the device runs the update of the base class, and methods "
            "that the subclass overrides have no effect.",
            type(optimizer).__name__,
        )
    if isinstance(optimizer, torch.optim.SGD):
        combined = getattr(optimizer, "use_combined_accum", False)
        return OptimizerType.SGD1 if combined else OptimizerType.SGD2
    # AdamW is a subclass of Adam and has to be asked for first.
    if isinstance(optimizer, torch.optim.AdamW):
        corrected = getattr(optimizer, "bias_correction", True)
        return OptimizerType.ADAMW if corrected else OptimizerType.ADAMW_NO_BIAS
    if isinstance(optimizer, torch.optim.Adam):
        decoupled = _same_in_groups(optimizer, "decoupled_weight_decay")
        return OptimizerType.ADAMW if decoupled else OptimizerType.ADAM
    if isinstance(optimizer, torch.optim.RMSprop):
        centered = _same_in_groups(optimizer, "centered")
        return OptimizerType.RMSPROP_CENTERED if centered else OptimizerType.RMSPROP
    if isinstance(optimizer, optim.LAMB):
        return OptimizerType.LAMB if optimizer.bias_correction else OptimizerType.LAMB_NO_BIAS
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


def _say_what_is_ignored(optimizer: torch.optim.Optimizer, optimizer_type: OptimizerType) -> None:
    if optimizer_type is OptimizerType.ADAMW_NO_BIAS:
        log.no_effect("AdamW(bias_correction=False)", "the device's AdamW always corrects the bias")
    if any(group.get("maximize") for group in optimizer.param_groups):
        log.no_effect("maximize=True of an optimizer", "the device always minimises; negate the loss instead")


def _attributes_of(optimizer: torch.optim.Optimizer, optimizer_type: OptimizerType) -> dict[str, Any]:
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
        norm = number_of(getattr(optimizer, "max_grad_norm", math.inf), "max_grad_norm")
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
