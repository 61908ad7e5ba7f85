"""Sparse pixels to images: [3, ticks, wires], each pixel of an image standing for 2^downsample squared.

The charge of an image pixel is the mean over what it stands for (pixels that are not stored count as 0), its
label the greatest: neutrino beats cosmic beats background. Sums are taken in float32 in the order of the
file, so that images are those of larcv to the last bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from cosmictagger.data.events import COSMIC, NEUTRINO, PLANES, Event

#: On the device, labels are added up: a neutrino pixel weighs more than all cosmic ones of an image pixel.
_NEUTRINO_WEIGHT = 4096.0
#: Above this, an image pixel stands for so many pixels that the weight would no longer do.
MOST_DOWNSAMPLE_ON_DEVICE = 5


def grid(shape: tuple[int, int], downsample: int = 0) -> tuple[int, int]:
    """The (height, width) of images of planes with `shape` (wires, ticks): height is ticks, width is wires.

    Raises:
        ValueError: the plane cannot be halved that often.
    """
    wires, ticks = shape
    most = most_downsample(shape)
    if not 0 <= downsample <= most:
        raise ValueError(
            f"downsample={downsample}: planes of {wires} wires x {ticks} ticks can be halved 0 to {most} times."
        )
    return ticks >> downsample, wires >> downsample


def most_downsample(shape: tuple[int, int]) -> int:
    """How often both sides of a plane can be halved."""
    both = shape[0] | shape[1]
    return (both & -both).bit_length() - 1


def image_pixels(event: Event, downsample: int = 0) -> NDArray[np.int64]:
    """For each stored pixel, where it goes in an image of [3, height, width] laid flat."""
    height, width = grid(event.shape, downsample)
    wires, ticks = event.wires_and_ticks()
    places = (ticks >> downsample) * width + (wires >> downsample)
    for plane in range(1, PLANES):
        places[event.plane(plane)] += plane * height * width
    return places


def densify(
    event: Event, downsample: int = 0, with_labels: bool = True
) -> tuple[NDArray[np.float32], NDArray[np.uint8] | None]:
    """The images of an event.

    Args:
        event: the event.
        downsample: how often to halve both sides.
        with_labels: make the label image too.

    Returns:
        The charge, float32 [3, height, width], and the labels, uint8 of the same shape; None instead of them if
        they are not wanted or not known.
    """
    height, width = grid(event.shape, downsample)
    places = image_pixels(event, downsample)
    charge = np.zeros(PLANES * height * width, np.float32)
    np.add.at(charge, places, event.values)
    if downsample:
        charge /= np.float32(4**downsample)
    image = charge.reshape(PLANES, height, width)
    if not with_labels or event.labels is None:
        return image, None
    label = np.zeros(len(charge), np.uint8)
    np.maximum.at(label, places, event.labels)
    return image, label.reshape(image.shape)


def at_voxels(event: Event, image: NDArray[Any], downsample: int = 0) -> NDArray[Any]:
    """The values of an image at the stored pixels of an event: how a prediction becomes sparse again.

    Args:
        event: the event.
        image: [3, height, width], or [3, classes, height, width] for several values per pixel.
        downsample: the one that the image was made with.

    Returns:
        One value, or one row of values, per stored pixel, in the order of `event.ids`.
    """
    height, width = grid(event.shape, downsample)
    if image.shape[0] != PLANES or image.shape[-2:] != (height, width) or image.ndim not in (3, 4):
        raise ValueError(
            f"The image has shape {image.shape}, but downsample={downsample} of planes with {event.shape[0]} "
            f"wires x {event.shape[1]} ticks makes [{PLANES}, ..., {height}, {width}]."
        )
    if image.ndim == 4:
        image = np.moveaxis(image, 1, -1)
    return np.ascontiguousarray(image).reshape(PLANES * height * width, *image.shape[3:])[
        image_pixels(event, downsample)
    ]


def vertex_pixels(event: Event, downsample: int = 0) -> NDArray[np.float32] | None:
    """The vertex as (row, column) of the images: float32 [3, 2], or None if it is not known."""
    if event.vertex is None:
        return None
    found: NDArray[np.float32] = np.floor(event.vertex[:, ::-1] / 2**downsample).astype(np.float32)
    return found


def densify_on_device(
    ids: torch.Tensor,
    values: torch.Tensor,
    labels: torch.Tensor | None,
    size: tuple[int, int],
    downsample: int = 0,
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """`densify` for a padded sparse batch (see `SparseEventDataset`), in operations that a device runs.

    To be called in the forward method of a model. Padding has pixel 0 and charge 0, so it changes nothing.

    Args:
        ids: int32 [batch, 3, n], places in the image of a plane laid flat.
        values: float32 [batch, 3, n].
        labels: uint8 [batch, 3, n], or None.
        size: (height, width) of the images.
        downsample: how often the sides were halved, at most 5.

    Returns:
        The charge, float32 [batch, 3, height, width], and the labels, int32 of the same shape, or None.
    """
    if not 0 <= downsample <= MOST_DOWNSAMPLE_ON_DEVICE:
        raise ValueError(
            f"downsample={downsample}: on the device it may be 0 to {MOST_DOWNSAMPLE_ON_DEVICE}."
        )
    batch, planes, _ = ids.shape
    pixels = size[0] * size[1]
    if batch * planes * pixels >= 2**31:
        raise ValueError(f"A batch of {batch} such images has more pixels than int32 can count: use fewer.")
    first = torch.arange(batch * planes, dtype=torch.int32).reshape(batch, planes, 1) * pixels
    places = (ids + first).reshape(-1).long()
    empty = torch.zeros(batch * planes * pixels)
    charge = empty.scatter_add(0, places, values.reshape(-1)) * (0.25**downsample)
    charge = charge.reshape(batch, planes, *size)
    if labels is None:
        return charge, None
    weights = (labels == COSMIC).float() + (labels == NEUTRINO).float() * _NEUTRINO_WEIGHT
    weight = empty.scatter_add(0, places, weights.reshape(-1)).reshape(batch, planes, *size)
    return charge, (weight >= 1).int() + (weight >= _NEUTRINO_WEIGHT).int()
