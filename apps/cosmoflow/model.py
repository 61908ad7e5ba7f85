"""What runs on the device: a training step and an inference step, made of transform, network and errors.

Counts are sent as they lie in the files, two bytes each with channels last, and become logarithms on the device:
half the transfer of float32. Weights may be half (`step.half()`): logarithms, errors and the loss are computed in
single precision all the same; give the optimizer a `loss_scaling`.
"""

from __future__ import annotations

import poptorch
import torch
from torch import nn

from cosmoflow.network import CosmoFlow


def logarithms(counts: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """log(1 + counts) of [B, D, D, D, 4] as [B, 4, D, D, D]."""
    return torch.log1p(counts.float()).to(dtype).permute(0, 4, 1, 2, 3)


class InferenceStep(nn.Module):
    """Counts and targets to predictions and errors.

    Args:
        network: the network.
    """

    def __init__(self, network: CosmoFlow) -> None:
        super().__init__()
        self.network = network

    def predict(self, counts: torch.Tensor) -> torch.Tensor:
        """Predictions [B, 4] in single precision."""
        return self.network(logarithms(counts, self.network.dtype)).float()

    def forward(self, counts: torch.Tensor, targets: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Predictions [B, 4] and absolute errors [B, 4].

        Args:
            counts: [B, D, D, D, 4], of any integer type.
            targets: [B, 4], float32.
        """
        predictions = self.predict(counts)
        return predictions, (predictions - targets).abs()


class TrainingStep(InferenceStep):
    """Counts and targets to mean errors of each parameter and the loss."""

    def forward(self, counts: torch.Tensor, targets: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Mean absolute errors of the micro-batch [1, 4] and the loss that training differentiates.

        Args:
            counts: [B, D, D, D, 4], of any integer type.
            targets: [B, 4], float32.
        """
        error = self.predict(counts) - targets
        # the reduction over accumulated micro-batches and replicas is that of the options (Mean by default)
        return error.abs().mean(0, keepdim=True), poptorch.identity_loss(
            error.square().mean(), reduction="none"
        )
