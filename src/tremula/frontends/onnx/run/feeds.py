"""What a step asks of whoever gives its data: inputs by turn, and places for the anchored values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import torch

from tremula.frontends.onnx.run.anchors import Turn, Turns
from tremula.frontends.onnx.shapes import TensorType


class StepData(Protocol):
    """The data of one step."""

    @property
    def given(self) -> Sequence[Any]:
        """The arrays that a step takes; empty where they are not known before."""

    @property
    def returned(self) -> Sequence[Any]:
        """The arrays that a step fills; empty where they are not known before."""

    def begin(self, inputs: dict[str, TensorType], turns: Turns) -> None:
        """A step begins that takes these inputs; refuses data that does not fit."""

    def input(self, name: str, turn: Turn) -> torch.Tensor:
        """The value of an input for one turn; the caller does not write to it."""

    def output(self, name: str, turn: Turn, place: int, value: torch.Tensor, *, add: bool) -> None:
        """The value of an anchored tensor, the `place`-th that comes back; `add`: it is added to what is there."""
