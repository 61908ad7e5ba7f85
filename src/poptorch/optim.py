"""The optimizers of `poptorch.optim`: torch's optimizers plus what the device needs to know.

An argument that is given (not None) marks its value as variable: it may change after compilation. The device
applies the update (`tremula.frontends.torch.optimize`); on the host these classes still work as plain torch optimizers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

import torch

from tremula.frontends.torch.optimize.rules import apply_update
from tremula.frontends.torch.optimize.spec import GroupSpec, HyperValue, Kind, OptimizerSpec

from ._logging import logger

_FLOAT_TYPES = (torch.float16, torch.float32)
_SCALED: Mapping[str, Any] = {"loss_scaling": 1.0, "accum_type": torch.float32}
_TWO_MOMENTS: Mapping[str, Any] = {
    **_SCALED,
    "first_order_momentum_accum_type": torch.float32,
    "second_order_momentum_accum_type": torch.float32,
}


class VariableAttributes:
    """The attributes of an optimizer that may change after compilation.

    >>> optimizer = poptorch.optim.SGD(model.parameters(), lr=0.01)
    >>> optimizer.variable_attrs.isConstant("lr")
    False
    """

    def __init__(self, variable_attributes: list[str], allowed_attributes: list[str]) -> None:
        """
        Args:
            variable_attributes: names that are variable to begin with.
            allowed_attributes: all names that may be marked.
        """
        self._variable_attributes = variable_attributes
        self._allowed_attributes = allowed_attributes

    def isConstant(self, attr: str) -> bool:
        """True if the value is fixed when the model is compiled."""
        return attr not in self._variable_attributes

    def markAsConstant(self, attr: str) -> None:
        """Fix the value at compilation.

        Raises:
            AssertionError: there is no such attribute.
        """
        self._check(attr)
        self._variable_attributes = [name for name in self._variable_attributes if name != attr]

    def markAsVariable(self, attr: str) -> None:
        """Let the value change after compilation.

        Raises:
            AssertionError: there is no such attribute.
        """
        self._check(attr)
        if attr not in self._variable_attributes:
            self._variable_attributes = [*self._variable_attributes, attr]

    def _check(self, attr: str) -> None:
        if attr not in self._allowed_attributes:
            raise AssertionError(
                f"The optimizer has no attribute {attr!r}; it has {self._allowed_attributes}"
            )


class Optimizer:
    """The base class of all PopTorch optimizers: the state on the device and its copy on the host.

    Arguments that several of the constructors have:
        params: parameters, or dicts that define parameter groups.
        loss_scaling: factor on the loss, and so on the gradients, to keep float16 values in range (1.0).
        accum_type: dtype of accumulated gradients (float32).
        first_order_momentum_accum_type, second_order_momentum_accum_type: dtype of the first and of the second
            state tensor (float32).
        max_grad_norm: largest global norm of the gradients; larger ones are scaled down (inf).

    Attributes:
        ipu_state_is_dirty: the state held here is newer than the device's and has to be uploaded.
        host_state_is_dirty: the device's state is newer than the one held here.
    """

    #: Attributes that belong to the whole optimizer rather than to a parameter group, and their defaults.
    _own_attributes: Mapping[str, Any] = {}
    # what torch's class holds, which each subclass derives from too
    defaults: dict[str, Any]
    param_groups: list[dict[str, Any]]
    variable_attrs: VariableAttributes

    def __init__(self) -> None:
        self._state_dict: dict[str, Any] = {"ipu_state": None, "ipu_param": None}
        self.ipu_state_is_dirty = False
        self.host_state_is_dirty = False

    def state_dict(self) -> dict[str, Any]:
        """Device state (`ipu_state`, `ipu_param`) together with torch's entries, which schedulers use."""
        return self.get_state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Load a state that `state_dict()` returned. It is uploaded when the model is next used.

        Raises:
            RuntimeError: the dictionary is empty or does not come from a PopTorch optimizer.
        """
        _check_state(state)
        torch.optim.Optimizer.load_state_dict(cast(torch.optim.Optimizer, self), state)
        self.set_state_dict(state)

    def get_state_dict(self) -> dict[str, Any]:
        """The state as last copied to the host."""
        device_state = {
            key: None if tensors is None else dict(tensors) for key, tensors in self._state_dict.items()
        }
        return {**device_state, **torch.optim.Optimizer.state_dict(cast(torch.optim.Optimizer, self))}

    def set_state_dict(self, state: dict[str, Any]) -> None:
        """Replace the device's part of the state.

        Raises:
            RuntimeError: the dictionary is empty or does not come from a PopTorch optimizer.
        """
        _check_state(state)
        self._state_dict = {
            key: None if state[key] is None else dict(state[key]) for key in ("ipu_state", "ipu_param")
        }
        self.ipu_state_is_dirty = True
        self.host_state_is_dirty = False

    def has_state(self) -> bool:
        """Whether a state was read from the device or loaded."""
        return all(tensors is not None for tensors in self._state_dict.values())

    def __getstate__(self) -> dict[str, Any]:
        # torch saves groups, defaults and its own state; whatever was hung on the object by a wrapped model
        # (such as its state_dict method) stays behind.
        state: dict[str, Any] = torch.optim.Optimizer.__getstate__(cast(torch.optim.Optimizer, self))
        for name in ("variable_attrs", *self._own_attributes):
            state[name] = getattr(self, name)
        state["_state_dict"] = self._state_dict
        state["ipu_state_is_dirty"] = self.has_state()
        state["host_state_is_dirty"] = False
        return state

    def _construct(self, base: Any, arguments: dict[str, Any], **group_values: Any) -> None:
        """Construct from the arguments (`locals()`) of a subclass; those that are None keep their defaults.

        `group_values` are values of the parameter groups that torch's class `base` does not have.
        """
        given = _given(arguments)
        Optimizer.__init__(self)
        own = {*self._own_attributes, "velocity_scaling"}
        base.__init__(self, **{name: value for name, value in given.items() if name not in own})
        self.defaults.update(group_values)
        for group in self.param_groups:
            group.update({**group_values, **group})
        self._set_own(given)

    def _set_own(self, given: dict[str, Any]) -> None:
        """Store the optimizer-wide attributes, check them, and note which values are variable."""
        for name, default in self._own_attributes.items():
            value = given.get(name, default)
            if name.endswith("accum_type") and value not in _FLOAT_TYPES:
                raise AssertionError(f"{name} must be torch.float16 or torch.float32, not {value}")
            setattr(self, name, value)
        self.variable_attrs = VariableAttributes([*given], [*self.defaults, "loss_scaling"])


def _check_state(state: dict[str, Any]) -> None:
    if not state:
        raise RuntimeError("Cannot load the state of an optimizer: the dictionary is empty.")
    if "ipu_state" not in state or "ipu_param" not in state:
        raise RuntimeError(
            "Only IPU optimizer states can be loaded onto the IPU. This one has no entries 'ipu_state' and "
            "'ipu_param': it was not saved by an optimizer of poptorch.optim."
        )


def _given(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a constructor (its `locals()`) that were given."""
    return {name: value for name, value in arguments.items() if value is not None and name != "self"}


def _or(value: Any, default: Any) -> Any:
    return default if value is None else value


class SGD(Optimizer, torch.optim.SGD):
    """Stochastic gradient descent with optional momentum.

    By default the velocity is stored separately from the gradient accumulator. With
    `use_combined_accum=True` one tensor serves both: less memory, less numerical headroom.
    """

    _own_attributes = {
        **_SCALED,
        "use_combined_accum": False,
        "velocity_accum_type": torch.float32,
        "max_grad_norm": math.inf,
    }

    def __init__(
        self,
        params: Iterable[Any],
        lr: float,
        momentum: float | None = None,
        dampening: float | None = None,
        weight_decay: float | None = None,
        nesterov: bool | None = None,
        maximize: bool | None = None,
        foreach: bool | None = None,
        differentiable: bool | None = None,
        loss_scaling: float | None = None,
        velocity_scaling: float | None = None,
        use_combined_accum: bool | None = None,
        accum_type: torch.dtype | None = None,
        velocity_accum_type: torch.dtype | None = None,
        max_grad_norm: float | None = None,
        *,
        fused: bool | None = None,
    ) -> None:
        """
        Args:
            lr: learning rate.
            momentum: fraction of the velocity that is kept from step to step.
            dampening: fraction of each gradient that is left out of the velocity.
            weight_decay: coefficient of the L2 penalty.
            nesterov: use Nesterov's form of momentum (default: no).
            velocity_scaling: factor on the stored velocity; for the combined variant only (1.0).
            use_combined_accum: accumulate gradients in the velocity itself (default: no).
            velocity_accum_type: dtype of the velocity (float32).
        """
        if use_combined_accum:
            self._construct(torch.optim.SGD, locals(), velocity_scaling=_or(velocity_scaling, 1.0))
            return
        self._construct(torch.optim.SGD, locals())
        if velocity_scaling is not None:
            logger.warning(
                "velocity_scaling=%s has no effect: with use_combined_accum=False the velocity is scaled by "
                "loss_scaling. Remove it, or set use_combined_accum=True.",
                velocity_scaling,
            )


class Adam(Optimizer, torch.optim.Adam):
    """Adam. Weight decay is an L2 penalty. The device does not support AMSGrad."""

    _own_attributes = {**_TWO_MOMENTS, "max_grad_norm": math.inf}

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | None = None,
        betas: tuple[float, float] | None = None,
        eps: float | None = None,
        weight_decay: float | None = None,
        amsgrad: bool | None = None,
        foreach: bool | None = None,
        maximize: bool | None = None,
        capturable: bool | None = None,
        differentiable: bool | None = None,
        fused: bool | None = None,
        loss_scaling: float | None = None,
        accum_type: torch.dtype | None = None,
        first_order_momentum_accum_type: torch.dtype | None = None,
        second_order_momentum_accum_type: torch.dtype | None = None,
        max_grad_norm: float | None = None,
        *,
        decoupled_weight_decay: bool | None = None,
    ) -> None:
        """
        Args:
            lr: learning rate (1e-3).
            betas: decay of the first and of the second moment (0.9, 0.999).
            eps: added to the divisor (1e-8).
            weight_decay: coefficient of the L2 penalty (0).
            amsgrad: must be False.
        """
        self._construct(torch.optim.Adam, locals())


class AdamW(Optimizer, torch.optim.AdamW):
    """Adam with decoupled weight decay. The device does not support AMSGrad."""

    _own_attributes = {**_TWO_MOMENTS, "bias_correction": True, "max_grad_norm": math.inf}

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | None = None,
        betas: tuple[float, float] | None = None,
        eps: float | None = None,
        weight_decay: float | None = None,
        amsgrad: bool | None = None,
        maximize: bool | None = None,
        foreach: bool | None = None,
        capturable: bool | None = None,
        differentiable: bool | None = None,
        fused: bool | None = None,
        loss_scaling: float | None = None,
        bias_correction: bool | None = None,
        accum_type: torch.dtype | None = None,
        first_order_momentum_accum_type: torch.dtype | None = None,
        second_order_momentum_accum_type: torch.dtype | None = None,
        max_grad_norm: float | None = None,
    ) -> None:
        """
        Args:
            lr: learning rate (1e-3).
            betas: decay of the first and of the second moment (0.9, 0.999).
            eps: added to the divisor (1e-8).
            weight_decay: coefficient of the weight decay (1e-2).
            amsgrad: must be False.
            bias_correction: False is accepted and has no effect: the update is always corrected.
        """
        self._construct(torch.optim.AdamW, locals())


class RMSprop(Optimizer, torch.optim.RMSprop):
    """RMSprop, in torch's form or (`use_tf_variant=True`) in TensorFlow's.

    TensorFlow's form starts the average of squares at one, adds eps under the square root, and accumulates
    the learning rate in the momentum buffer.
    """

    _own_attributes = {**_TWO_MOMENTS, "use_tf_variant": False}

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | None = None,
        alpha: float | None = None,
        eps: float | None = None,
        weight_decay: float | None = None,
        momentum: float | None = None,
        centered: bool | None = None,
        foreach: bool | None = None,
        maximize: bool | None = None,
        differentiable: bool | None = None,
        loss_scaling: float | None = None,
        accum_type: torch.dtype | None = None,
        first_order_momentum_accum_type: torch.dtype | None = None,
        second_order_momentum_accum_type: torch.dtype | None = None,
        use_tf_variant: bool | None = None,
        *,
        capturable: bool | None = None,
    ) -> None:
        """
        Args:
            lr: learning rate (1e-2).
            alpha: decay of the average of squares (0.99).
            eps: added to the divisor (1e-8).
            weight_decay: coefficient of the L2 penalty (0).
            momentum: momentum factor (0).
            centered: normalise by the estimated variance; the same for all groups (default: no).
            use_tf_variant: use TensorFlow's form on the device (default: no).
        """
        self._construct(torch.optim.RMSprop, locals())


class LAMB(Optimizer, torch.optim.Optimizer):
    """LAMB (https://arxiv.org/abs/1904.00962): Adam whose steps are scaled layer by layer.

    A layer's step is proportional to the norm of its weights, at most `max_weight_norm`.
    """

    _own_attributes = {**_TWO_MOMENTS, "bias_correction": True}
    bias_correction: bool

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | None = None,
        betas: tuple[float, float] | None = None,
        eps: float | None = None,
        weight_decay: float | None = None,
        bias_correction: bool | None = None,
        loss_scaling: float | None = None,
        max_weight_norm: float | None = None,
        accum_type: torch.dtype | None = None,
        first_order_momentum_accum_type: torch.dtype | None = None,
        second_order_momentum_accum_type: torch.dtype | None = None,
    ) -> None:
        """
        Args:
            lr: learning rate (1e-3).
            betas: decay of the first and of the second moment (0.9, 0.999).
            eps: added to the divisor (1e-8).
            weight_decay: coefficient of the weight decay (1e-2).
            bias_correction: correct the moments for their start at zero (default: yes).
            max_weight_norm: largest norm of a layer's weights that counts; None means 65500.
        """
        given = _given(locals())
        defaults = {
            "lr": _or(lr, 1e-3),
            "betas": _or(betas, (0.9, 0.999)),
            "eps": _or(eps, 1e-8),
            "weight_decay": _or(weight_decay, 1e-2),
            "max_weight_norm": _or(max_weight_norm, 65500.0),
        }
        Optimizer.__init__(self)
        torch.optim.Optimizer.__init__(self, params, defaults)
        self._set_own(given)

    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """Update the parameters on the host from their `.grad`, as any torch optimizer does."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            self._step_group(group)
        return loss

    def _step_group(self, group: dict[str, Any]) -> None:
        moving = {str(i): p for i, p in enumerate(group["params"]) if p.grad is not None}
        state: dict[str, torch.Tensor] = {}
        for name, parameter in moving.items():
            own = self.state[parameter]
            if not own:
                own["step"] = torch.zeros(())
                own["exp_avg"] = torch.zeros_like(parameter, dtype=torch.float32)
                own["exp_avg_sq"] = torch.zeros_like(parameter, dtype=torch.float32)
            state[f"Step___{name}"] = own["step"]
            state[f"Accl1___{name}"] = own["exp_avg"]
            state[f"Accl2___{name}"] = own["exp_avg_sq"]
        values = {
            "learningRate": group["lr"],
            "beta1": group["betas"][0],
            "beta2": group["betas"][1],
            "eps": group["eps"],
            "weightDecay": group["weight_decay"],
            "maxWeightNorm": group["max_weight_norm"],
        }
        constants = {key: HyperValue(float(value), constant=True) for key, value in values.items()}
        spec = OptimizerSpec(
            Kind.LAMB, (GroupSpec(tuple(moving), constants),), bias_correction=self.bias_correction
        )
        apply_update(spec, moving, {name: p.grad for name, p in moving.items()}, state, {})
