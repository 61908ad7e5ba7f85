"""What trains the weights of a session: the protocol of update rules, and plain gradient descent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import torch

Tensors = Mapping[str, torch.Tensor]


class Updater(Protocol):
    """An update rule with its state."""

    @property
    def loss_scale(self) -> float:
        """The factor on the loss, which gradients have too."""

    def begin(self, weights: Tensors) -> None:
        """Make the state for these weights."""

    def update(self, weights: Tensors, gradients: Tensors) -> None:
        """Change the weights in place."""

    def tensors(self) -> dict[str, torch.Tensor]:
        """The state, under the names that users know."""

    def replace(self, other: Updater) -> None:
        """Take over the values of another rule of the same kind."""


@dataclass
class GradientDescent:
    """Weights go down their gradients; decay pulls them to zero."""

    learning_rate: float
    weight_decay: float = 0.0
    loss_scale: float = 1.0
    _none: dict[str, torch.Tensor] = field(default_factory=dict, repr=False)

    def begin(self, weights: Tensors) -> None:
        pass

    def update(self, weights: Tensors, gradients: Tensors) -> None:
        with torch.no_grad():
            for name, gradient in gradients.items():
                weight = weights[name]
                step = gradient.to(weight.dtype) / self.loss_scale + weight * self.weight_decay
                weight.sub_(step * self.learning_rate)

    def tensors(self) -> dict[str, torch.Tensor]:
        return dict(self._none)

    def replace(self, other: Updater) -> None:
        if not isinstance(other, GradientDescent):
            raise TypeError("another kind of update rule")
        self.learning_rate, self.weight_decay = other.learning_rate, other.weight_decay
        self.loss_scale = other.loss_scale
