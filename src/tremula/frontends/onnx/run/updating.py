"""What a session asks of the rule that trains its weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import torch

#: the new value of a weight
UPDATED = "UpdatedVar___"
#: the sum of the gradients of a weight so far
ACCUMULATOR = "Accum___"
Tensors = Mapping[str, torch.Tensor]


class Updater(Protocol):
    """An update rule with its state."""

    @property
    def description(self) -> Any:
        """The optimizer, as the front end describes it."""

    @property
    def loss_scale(self) -> float:
        """The factor on the loss, which gradients have too."""

    def begin(self, weights: Tensors) -> None:
        """Make the state for these weights, or go back to the one that was kept."""

    def to_host(self) -> None:
        """Keep the state as it is now."""

    def accumulator(self, weight: torch.Tensor) -> torch.dtype:
        """The type in which the gradients of a weight are summed up."""

    def update(self, weights: Tensors, gradients: Tensors) -> None:
        """Change the weights in place."""

    def slots(self) -> tuple[Tensors, Tensors]:
        """The state, and the values that may vary, as they are now; of the same names from `begin` on."""

    def update_with(self, weights: Tensors, gradients: Tensors, state: Tensors, varying: Tensors) -> None:
        """Change weights and state in place; for a recording, which gives its own tensors for `slots`."""

    def tensors(self) -> dict[str, torch.Tensor]:
        """The state that was kept, under the names that users know."""

    def present(self) -> dict[str, torch.Tensor]:
        """The state and the values as they are now, under the names that users know."""

    def write(self, name: str, value: torch.Tensor) -> None:
        """Give a kept tensor of the state another value."""

    def replace(self, other: Any) -> None:
        """Take over the values of another rule of the same kind."""
