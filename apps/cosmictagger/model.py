"""What runs on the device: a training step and an inference step, made of network, loss and counts.

`TrainingStep` and `InferenceStep` are wrapped by `poptorch.trainingModel` and `poptorch.inferenceModel`. They return
counts instead of images. The model may be half (`step.half()`): images are cast to the type of the weights, the
loss is computed in single precision; give the optimizer a `loss_scaling`.
"""

from __future__ import annotations

import poptorch
import torch
from torch import nn

from cosmictagger.losses import SegmentationLoss, one_hot
from cosmictagger.metrics.on_device import confusion_counts, predicted_vertex, score_counts


class _Step(nn.Module):
    """A network and how it is judged."""

    def __init__(self, network: nn.Module, loss: SegmentationLoss) -> None:
        super().__init__()
        self.network = network
        self.loss = loss

    def _judged(
        self, image: torch.Tensor, label: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, tuple[torch.Tensor, ...], list[torch.Tensor]]:
        """Counts, loss, logits and true classes of each plane."""
        logits = self.network(image.to(self.network.head.weight.dtype))
        true = [one_hot(plane) for plane in label.unbind(dim=1)]
        pairs = list(zip(logits, true, strict=True))
        loss = sum(self.loss.of_plane(*pair) for pair in pairs)
        counts = torch.stack([confusion_counts(*pair) for pair in pairs], dim=1)
        return counts, loss, logits, true


class TrainingStep(_Step):
    """Images and labels to counts and the loss.

    Args:
        network: gives logits [B, classes, H, W] of each plane.
        loss: how they are judged.
    """

    def forward(self, image: torch.Tensor, label: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Confusion counts [B, planes, true, predicted] and the loss that training differentiates.

        Args:
            image: charges [B, planes, H, W].
            label: classes [B, planes, H, W], of any integer type; one byte each is least to transfer.
        """
        counts, loss, _, _ = self._judged(image, label)
        # over accumulated micro-batches and replicas it is the options that say mean or sum
        return counts, poptorch.identity_loss(loss, reduction="none")


class InferenceStep(_Step):
    """Images and labels to counts and the loss, and on request to what is predicted.

    Args:
        network: gives logits [B, classes, H, W] of each plane.
        loss: how they are judged.
        scores: also give the histogram of the neutrino score, [B, planes, true, bins].
        vertex: also give the pixel where the neutrino seems to have interacted, (row, column) [B, planes, 2].
        labels: also give predicted classes, one byte for each pixel [B, planes, H, W].
        probabilities: also give the probabilities of all classes [B, planes, classes, H, W], in half precision.
    """

    def __init__(
        self,
        network: nn.Module,
        loss: SegmentationLoss,
        *,
        scores: bool = False,
        vertex: bool = False,
        labels: bool = False,
        probabilities: bool = False,
    ) -> None:
        super().__init__(network, loss)
        self.scores = scores
        self.vertex = vertex
        self.labels = labels
        self.probabilities = probabilities

    def forward(self, image: torch.Tensor, label: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Confusion counts, the loss, then what was asked for in the order of the arguments above."""
        counts, loss, logits, true = self._judged(image, label)
        results = [counts, loss]
        if self.scores:
            histograms = [score_counts(*pair) for pair in zip(logits, true, strict=True)]
            results.append(torch.stack(histograms, dim=1))
        if self.vertex:
            places = [predicted_vertex(image[:, plane], each) for plane, each in enumerate(logits)]
            results.append(torch.stack(places, dim=1))
        if self.labels:
            results.append(torch.stack([plane.argmax(dim=1).to(torch.uint8) for plane in logits], dim=1))
        if self.probabilities:
            planes = [torch.softmax(plane.float(), dim=1).half() for plane in logits]
            results.append(torch.stack(planes, dim=1))
        return tuple(results)
