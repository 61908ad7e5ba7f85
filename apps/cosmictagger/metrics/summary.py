"""Metrics of a segmentation from confusion counts, as the original defines them, and sums that ranks can add up.

Intersection over union is taken image by image, 1 where neither truth nor prediction has a pixel of the class, and
then averaged; accuracy of pixels that are not background likewise, over the images that have any. mIoU is the mean
of cosmic and neutrino; background is left out. What is not defined is NaN.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cosmictagger.network.configurations import CLASSES, PLANES

Array = NDArray[np.float64]

BACKGROUND, COSMIC, NEUTRINO = range(CLASSES)
#: what is told of each plane and of their average, in the original's words
METRICS = ("Total_Accuracy", "Cosmic_IoU", "Neutrino_IoU", "Non_Bkg_Accuracy", "mIoU")


def checked(counts: ArrayLike) -> Array:
    """Confusion counts [images, planes, true, predicted] in double precision.

    Raises:
        ValueError: they have another shape, or there is a count that cannot be one.
    """
    array = np.asarray(counts, dtype=np.float64)
    if array.ndim != 4 or array.shape[1:] != (PLANES, CLASSES, CLASSES):
        raise ValueError(
            f"confusion counts are [images, {PLANES}, {CLASSES}, {CLASSES}], these are {list(array.shape)}."
        )
    if array.size and not (np.isfinite(array).all() and array.min() >= 0):
        raise ValueError("confusion counts are not negative and finite.")
    return array


def ratio(part: Array, whole: Array) -> Array:
    """part / whole, NaN where there is nothing to divide by."""
    return np.divide(part, whole, out=np.full(np.broadcast(part, whole).shape, np.nan), where=whole > 0)


def iou(counts: Array) -> Array:
    """Intersection over union [..., class] from counts [..., true, predicted]; 1 where the union is empty."""
    inside = np.diagonal(counts, axis1=-2, axis2=-1)
    union = counts.sum(axis=-1) + counts.sum(axis=-2) - inside
    return np.where(union > 0, ratio(inside, union), 1.0)


def accuracy(counts: Array) -> Array:
    """Share of pixels that are right."""
    return ratio(np.trace(counts, axis1=-2, axis2=-1), counts.sum(axis=(-2, -1)))


def non_background_accuracy(counts: Array) -> Array:
    """The same for pixels that are cosmic or neutrino; NaN where there are none."""
    there = counts[..., 1:, :].sum(axis=(-2, -1))
    right = counts[..., COSMIC, COSMIC] + counts[..., NEUTRINO, NEUTRINO]
    return ratio(right, there)


def purity(counts: Array) -> Array:
    """Of the pixels predicted as each class, the share that is of it."""
    return ratio(np.diagonal(counts, axis1=-2, axis2=-1), counts.sum(axis=-2))


def efficiency(counts: Array) -> Array:
    """Of the pixels of each class, the share that is predicted as it."""
    return ratio(np.diagonal(counts, axis1=-2, axis2=-1), counts.sum(axis=-1))


def mean_of_defined(values: Array, axis: int | None = None) -> Any:
    """The mean without NaN; NaN where nothing is defined."""
    defined = ~np.isnan(values)
    return ratio(np.where(defined, values, 0.0).sum(axis=axis), defined.sum(axis=axis).astype(np.float64))


@dataclass(frozen=True, eq=False)
class Totals:
    """Sums over images, from which all metrics of a run follow. Those of several ranks are added up.

    Attributes:
        images: number of images.
        confusion: counts [planes, true, predicted].
        accuracy: sum of each plane's accuracy.
        non_background: sum of each plane's accuracy off the background.
        non_background_images: images of each plane that have such pixels.
        iou: sum of the intersections over union [planes, class].
        loss: sum over images of the loss.
    """

    images: float
    confusion: Array
    accuracy: Array
    non_background: Array
    non_background_images: Array
    iou: Array
    loss: float = 0.0

    @classmethod
    def of(cls, counts: ArrayLike, loss: float = 0.0) -> Totals:
        """The sums of some images.

        Args:
            counts: [images, planes, true, predicted].
            loss: mean loss of these images.
        """
        array = checked(counts)
        off_background = non_background_accuracy(array)
        return cls(
            images=float(len(array)),
            confusion=array.sum(axis=0),
            accuracy=accuracy(array).sum(axis=0),
            non_background=np.nansum(off_background, axis=0),
            non_background_images=(~np.isnan(off_background)).sum(axis=0).astype(np.float64),
            iou=iou(array).sum(axis=0),
            loss=float(loss) * len(array),
        )

    def __add__(self, other: Totals) -> Totals:
        return Totals.from_array(self.to_array() + other.to_array())

    def to_array(self) -> Array:
        """All sums in a row, to be added up over ranks."""
        return np.concatenate([np.ravel(np.asarray(getattr(self, each.name))) for each in fields(self)])

    @classmethod
    def from_array(cls, array: ArrayLike) -> Totals:
        """The sums that `to_array` put in a row."""
        row = np.asarray(array, dtype=np.float64)
        shapes = [(), (PLANES, CLASSES, CLASSES), (PLANES,), (PLANES,), (PLANES,), (PLANES, CLASSES), ()]
        sizes = [int(np.prod(shape)) for shape in shapes]
        if row.shape != (sum(sizes),):
            raise ValueError(f"sums are a row of {sum(sizes)} numbers, not {list(row.shape)}.")
        parts = np.split(row, np.cumsum(sizes)[:-1])
        values = [
            part.reshape(shape) if shape else float(part[0])
            for part, shape in zip(parts, shapes, strict=True)
        ]
        return cls(*values)  # type: ignore[arg-type]

    def metrics(self) -> dict[str, float]:
        """`plane0/Cosmic_IoU`, …, `Average/mIoU` and `loss`, named as the original names them."""
        images = np.full(PLANES, self.images)
        cosmic, neutrino = ratio(self.iou[:, COSMIC], images), ratio(self.iou[:, NEUTRINO], images)
        planes = dict(
            zip(
                METRICS,
                (
                    ratio(self.accuracy, images),
                    cosmic,
                    neutrino,
                    ratio(self.non_background, self.non_background_images),
                    0.5 * (cosmic + neutrino),
                ),
                strict=True,
            )
        )
        found = {f"Average/{name}": float(mean_of_defined(values)) for name, values in planes.items()}
        for plane in range(PLANES):
            found |= {f"plane{plane}/{name}": float(values[plane]) for name, values in planes.items()}
        found["loss"] = self.loss / self.images if self.images else float("nan")
        return found
