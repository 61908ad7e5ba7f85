"""Losses of a segmentation into background, cosmic and neutrino, plane by plane.

Nearly all pixels are background, so schemes weigh them: a plane's loss is sum(w * ce) / sum(w) over all pixels of
the micro-batch, and the loss is the sum over the planes. All of it is computed in single precision whatever the
network computes in, and no shape depends on the data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum

import torch
from torch import nn
from torch.nn import functional

from cosmictagger.network.configurations import CLASSES

#: of background, cosmic and neutrino
LIGHT_WEIGHTS = (1.0, 1.5, 10.0)
#: what a class gets together, if all its pixels share it evenly
_EVEN_SHARE = 0.3333


class LossBalanceScheme(StrEnum):
    """How pixels are weighed."""

    none = "none"
    focal = "focal"
    even = "even"
    light = "light"


def one_hot(labels: torch.Tensor) -> torch.Tensor:
    """[B, classes, H, W] in single precision: 1 where a pixel [B, H, W] has that class, else 0."""
    return torch.stack([(labels == each).float() for each in range(CLASSES)], dim=1)


def _focal(onehot: torch.Tensor, entropy: torch.Tensor) -> torch.Tensor:
    """(1 - p)^2 / 3 for the probability p of the true class: pixels that are right already count little."""
    missing = 1 - torch.exp(-entropy)
    return missing * missing / CLASSES


def _even(onehot: torch.Tensor, entropy: torch.Tensor) -> torch.Tensor:
    """Each class of a plane has nearly the same weight in all, however few pixels it has."""
    counts = onehot.sum(dim=(0, 2, 3), keepdim=True)
    return (onehot * (_EVEN_SHARE / (counts + 1))).sum(dim=1)


def _light(onehot: torch.Tensor, entropy: torch.Tensor) -> torch.Tensor:
    """Cosmic pixels count a little more than background, neutrino pixels ten times as much."""
    background, cosmic, neutrino = onehot.unbind(dim=1)
    return LIGHT_WEIGHTS[0] * background + LIGHT_WEIGHTS[1] * cosmic + LIGHT_WEIGHTS[2] * neutrino


_SCHEMES: dict[LossBalanceScheme, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    LossBalanceScheme.focal: _focal,
    LossBalanceScheme.even: _even,
    LossBalanceScheme.light: _light,
}


class SegmentationLoss(nn.Module):
    """The loss of all planes.

    Args:
        scheme: how pixels are weighed.
    """

    def __init__(self, scheme: LossBalanceScheme | str = LossBalanceScheme.focal) -> None:
        super().__init__()
        try:
            self.scheme = LossBalanceScheme(scheme)
        except ValueError:
            allowed = ", ".join(LossBalanceScheme)
            raise ValueError(f"unknown loss scheme {scheme!r}; the schemes are {allowed}.") from None

    def forward(self, logits: Sequence[torch.Tensor], labels: torch.Tensor) -> torch.Tensor:
        """One number.

        Args:
            logits: [B, classes, H, W] of each plane.
            labels: [B, planes, H, W], of any integer type.
        """
        planes = zip(logits, labels.unbind(dim=1), strict=True)
        return sum(self.of_plane(one, one_hot(labels)) for one, labels in planes)

    def of_plane(self, logits: torch.Tensor, onehot: torch.Tensor) -> torch.Tensor:
        """The loss of one plane, from logits [B, classes, H, W] and labels as `one_hot` gives them."""
        entropy = -(onehot * functional.log_softmax(logits.float(), dim=1)).sum(dim=1)
        if self.scheme is LossBalanceScheme.none:
            return entropy.mean()
        # weights are constants to the gradient
        weights = _SCHEMES[self.scheme](onehot, entropy.detach())
        # where every pixel is right beyond doubt, focal weights add up to nothing, and so does the loss
        total = weights.sum().clamp(min=torch.finfo(torch.float32).tiny)
        return (weights * entropy).sum() / total
