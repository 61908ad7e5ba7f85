"""The update rule of a session: an optimizer's specification with its state and the values it has now."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from tremula.frontends.onnx.optimize.description import Description
from tremula.frontends.torch.optimize.loss_scale import FINAL_SCALE, loss_scale
from tremula.frontends.torch.optimize.rules import apply_update, hyper_tensors, initial_state
from tremula.frontends.torch.optimize.scalars import SGD0_DECAY, SGD0_RATE, compounds_of
from tremula.frontends.torch.optimize.spec import LossScaleSettings, OptimizerSpec, replaced
from tremula.invariants import present

#: what the user's scale is called, by the type of the loss
_USER_SCALES = ("lossScaling_FLOAT", "lossScaling_FLOAT16")


class Updater:
    """Changes weights by their gradients, which are still multiplied by the loss scale.

    Attributes:
        description: the optimizer, of whatever weights.
        spec: the optimizer of the weights that are trained; None before `begin`.
    """

    def __init__(
        self, description: Description, automatic_loss_scaling: LossScaleSettings | None = None
    ) -> None:
        self.description = description
        self.spec: OptimizerSpec | None = None
        self._automatic = automatic_loss_scaling
        self._state: dict[str, Tensor] = {}
        self._kept: dict[str, Tensor] = {}
        self._hyper: dict[str, Tensor] = {}

    @property
    def loss_scale(self) -> float:
        """The factor on the loss now."""
        if self.spec is None:
            return self.description.loss_scaling.value
        return float(loss_scale(self.spec, self._state, self._hyper))

    def begin(self, weights: Mapping[str, Tensor]) -> None:
        """Make the state for these weights, or go back to the one that was kept."""
        self.spec = self.description.spec(weights, self._automatic)
        self._hyper = hyper_tensors(self.spec)
        if not self._kept:
            self._kept = initial_state(self.spec, weights)
        self._state = {name: tensor.clone() for name, tensor in self._kept.items()}

    def to_host(self) -> None:
        """Keep the state as it is now: `begin` goes back to it."""
        self._kept = {name: tensor.clone() for name, tensor in self._state.items()}

    def accumulator(self, weight: Tensor) -> torch.dtype:
        """The type in which the gradients of a weight are summed up."""
        return weight.dtype if self.description.accum_type is None else self.description.accum_type

    def update(self, weights: Mapping[str, Tensor], gradients: Mapping[str, Tensor]) -> None:
        """Change the weights in place."""
        self.update_with(weights, gradients, self._state, self._hyper)

    def slots(self) -> tuple[Mapping[str, Tensor], Mapping[str, Tensor]]:
        """The state, and the values that may vary, as they are now; of the same names from `begin` on."""
        return self._state, self._hyper

    def update_with(
        self,
        weights: Mapping[str, Tensor],
        gradients: Mapping[str, Tensor],
        state: Mapping[str, Tensor],
        varying: Mapping[str, Tensor],
    ) -> None:
        """Change weights and state in place; for a recording, which gives its own tensors for `slots`."""
        apply_update(present(self.spec, "the optimizer"), weights, gradients, state, varying)

    def tensors(self) -> dict[str, Tensor]:
        """The state that was kept, under the names that users know."""
        return dict(self._kept)

    def present(self) -> dict[str, Tensor]:
        """The state and the values as they are now; a value that weights share has the name of its default."""
        found = dict(self._state)
        spec = present(self.spec, "the optimizer")
        found |= dict.fromkeys(_USER_SCALES, torch.tensor(spec.loss_scaling.value))
        found[FINAL_SCALE] = torch.tensor(self.loss_scale)
        for group in spec.groups:
            specific = [name for name in group.parameters if name in self.description.specifics]
            compounds = compounds_of(spec, group)
            if SGD0_RATE in compounds and SGD0_DECAY not in compounds:
                compounds = [*compounds, SGD0_DECAY]
            for compound in compounds:
                value = torch.tensor(compound.value(spec, group))
                names = [compound.tensor_name(name) for name in specific]
                names += (
                    [] if len(specific) == len(group.parameters) else [f"{compound.name}___default___FLOAT"]
                )
                found.update(dict.fromkeys(names, value))
        return found

    def write(self, name: str, value: Tensor) -> None:
        """Give a kept tensor of the state another value."""
        self._kept[name] = value.reshape(self._kept[name].shape).to(self._kept[name].dtype).clone()

    def replace(self, other: Updater) -> None:
        """Take over the values of another optimizer of the same kind.

        Raises:
            Error: it differs in more than in values that may change.
        """
        if self.spec is None:
            self.description = other.description
            return
        names = [name for name, _ in self.spec.parameters()]
        self.spec = replaced(self.spec, other.description.spec(names, self._automatic))
        self.description = other.description
        self._hyper = hyper_tensors(self.spec)
