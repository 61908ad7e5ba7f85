"""Losses by name, for ONNX files that are asked about as if they were trained: a file has no loss of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from tremula.errors import Error
from tremula.frontends.onnx.module import OnnxModule
from tremula.frontends.onnx.shapes import TensorType


def _classes(result: Tensor) -> Tensor:
    return result.reshape(-1, result.shape[-1])


#: by name: the loss of a result and a target
LOSSES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "cross_entropy": lambda result, target: functional.cross_entropy(_classes(result), target.reshape(-1)),
    # of probabilities
    "nll": lambda result, target: functional.nll_loss(
        _classes(result).clamp_min(1e-7).log(), target.reshape(-1)
    ),
    "mse": functional.mse_loss,
    "l1": functional.l1_loss,
    "bce": functional.binary_cross_entropy_with_logits,
}
#: losses whose targets are numbers of classes, which the last dimension of the result has
_OF_CLASSES = frozenset({"cross_entropy", "nll"})


class WithLoss(OnnxModule):
    """A graph and a loss of its first output; the target is the last input."""

    loss = ""

    def forward(self, *inputs: Tensor) -> Any:
        *given, target = inputs
        return LOSSES[self.loss](super().forward(*given)[0], target)


class OwnLoss(OnnxModule):
    """A graph whose first output is the loss."""

    def forward(self, *inputs: Tensor) -> Any:
        return super().forward(*inputs)[0].reshape(())


def target_type(loss: str, result: TensorType) -> TensorType:
    """The type of the target that goes with a result.

    Raises:
        Error: there is no such loss, or it does not fit the result.
    """
    if loss not in LOSSES:
        raise Error(f"There is no loss called {loss!r} here; there are {', '.join(LOSSES)}.")
    if loss not in _OF_CLASSES:
        return result
    if len(result.shape) < 2:
        raise Error(
            f"{loss} needs classes in the last dimension; the result has the shape {list(result.shape)}."
        )
    return TensorType(result.shape[:-1], torch.int64)
