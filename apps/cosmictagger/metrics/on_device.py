"""Counts made inside the model, so that no image has to leave the device.

Three images of logits are 23.6 MB an event at 640x1024; all metrics of a segmentation follow from nine counts for
each plane, and the curve of rejection against retention from a histogram of the neutrino score.
"""

from __future__ import annotations

import torch
from torch.nn import functional

#: the class whose score is put into a histogram
NEUTRINO = 2
#: bins of that histogram, between 0 and 1
SCORE_BINS = 32
#: pixels to each side of one whose charge counts when a vertex is looked for
_NEAR = 4


def predicted_one_hot(logits: torch.Tensor) -> torch.Tensor:
    """1 at the class with the largest logit [B, classes, H, W], the first of equal ones as argmax does it."""
    background, cosmic, neutrino = logits.unbind(dim=1)
    is_background = (background >= cosmic) & (background >= neutrino)
    is_cosmic = (cosmic >= neutrino) & ~is_background
    is_neutrino = ~(is_background | is_cosmic)
    return torch.stack((is_background, is_cosmic, is_neutrino), dim=1).float()


def confusion_counts(logits: torch.Tensor, onehot: torch.Tensor) -> torch.Tensor:
    """Pixels of a plane by true and predicted class, [B, true, predicted], whole numbers in single precision.

    Exact up to 16.7 million pixels; a full image has 2.6 million.

    Args:
        logits: [B, classes, H, W].
        onehot: true classes as `losses.one_hot` gives them.
    """
    predicted = predicted_one_hot(logits.detach())
    return torch.bmm(onehot.flatten(start_dim=2), predicted.flatten(start_dim=2).transpose(1, 2))


def score_counts(logits: torch.Tensor, onehot: torch.Tensor, bins: int = SCORE_BINS) -> torch.Tensor:
    """Pixels of a plane by true class and neutrino probability, [B, true, bins].

    The first bin is from 0 to 1 / bins; a probability on an edge belongs to the bin above.
    """
    probability = torch.softmax(logits.detach().float(), dim=1)[:, NEUTRINO].flatten(start_dim=1)
    true = onehot.flatten(start_dim=2)
    # one threshold after the other needs no image of all bins
    at_least = [true.sum(dim=2)]
    for each in range(1, bins):
        above = (probability >= each / bins).float().unsqueeze(2)
        at_least.append(torch.bmm(true, above).squeeze(2))
    at_least.append(torch.zeros_like(at_least[0]))
    edges = torch.stack(at_least, dim=2)
    return edges[..., :-1] - edges[..., 1:]


def predicted_vertex(charge: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
    """Where the neutrino interacted as a plane sees it, (row, column) [B, 2]; NaN without a neutrino pixel.

    The network says nothing of vertices. This is the pixel, of those predicted as neutrino, with most charge of such
    pixels around it (9x9): prongs overlap at the vertex. It knows neither the beam's direction nor clusters, so even
    perfect labels leave a distance: a median of 8 pixels at 640x1024 in the five published events.

    Args:
        charge: [B, H, W].
        logits: [B, classes, H, W].
    """
    neutrino = predicted_one_hot(logits.detach())[:, NEUTRINO]
    inside = charge.float() * neutrino
    around = functional.avg_pool2d(inside.unsqueeze(1), 2 * _NEAR + 1, stride=1, padding=_NEAR).squeeze(1)
    best = torch.where(neutrino > 0, around, -torch.ones_like(around)).flatten(start_dim=1).argmax(dim=1)
    width = charge.shape[2]
    place = torch.stack((best // width, best % width), dim=1).float()
    found = neutrino.flatten(start_dim=1).amax(dim=1, keepdim=True) > 0
    return torch.where(found, place, torch.full_like(place, float("nan")))
