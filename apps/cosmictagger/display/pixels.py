"""Images of an event as colours: charge, classes, and what a prediction got wrong."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cosmictagger.data.dense import densify
from cosmictagger.data.events import COSMIC, NEUTRINO, Event

#: dark, like the event displays of control rooms: light is charge
GROUND = "#0b0e14"
CLASS_COLOURS = {"noise": "#343c4c", "cosmic": "#3f9cff", "neutrino": "#ff5d4d"}
ERROR_COLOURS = {
    "right": "#4a5365",
    "neutrino missed": "#ff57d0",
    "false neutrino": "#ffd23f",
    "cosmic missed": "#2fd6c3",
    "false cosmic": "#8f7bff",
}
#: the widest image that is drawn pixel by pixel; larger ones are pooled so that thin tracks do not vanish
_WIDEST = 640


@dataclass(frozen=True)
class Images:
    """One event.

    Attributes:
        charge: [3, height, width].
        truth: true classes of that shape; None if not known.
        prediction: predicted classes of that shape; None without a network.
        shape: (wires, ticks) of a plane.
        vertex: (wire, tick) on each plane, NaN where not seen; None if not known.
    """

    charge: NDArray[np.float32]
    truth: NDArray[np.uint8] | None
    prediction: NDArray[np.uint8] | None
    shape: tuple[int, int]
    vertex: NDArray[np.float32] | None

    @classmethod
    def of(cls, event: Event, prediction: NDArray[np.uint8] | None, downsample: int) -> Images:
        """The images of an event as the network saw it."""
        charge, truth = densify(event, downsample)
        if prediction is not None and prediction.shape != charge.shape:
            raise ValueError(f"The prediction has shape {prediction.shape}, the images have {charge.shape}.")
        return cls(charge, truth, prediction, event.shape, event.vertex)


def rgb(colour: str) -> NDArray[np.uint8]:
    """#rrggbb as three bytes."""
    return np.array([int(colour[start : start + 2], 16) for start in (1, 3, 5)], np.uint8)


def class_picture(classes: NDArray[np.uint8], charge: NDArray[np.float32]) -> NDArray[np.uint8]:
    """A plane coloured by class; pixels with charge that are background are dim."""
    picture = np.empty((*classes.shape, 3), np.uint8)
    picture[:] = rgb(GROUND)
    picture[charge > 0] = rgb(CLASS_COLOURS["noise"])
    picture[classes == COSMIC] = rgb(CLASS_COLOURS["cosmic"])
    picture[classes == NEUTRINO] = rgb(CLASS_COLOURS["neutrino"])
    return picture


def error_picture(truth: NDArray[np.uint8], prediction: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """A plane coloured by what is wrong with the prediction."""
    picture = np.empty((*truth.shape, 3), np.uint8)
    picture[:] = rgb(GROUND)
    rules = {
        "right": (truth == prediction) & (truth > 0),
        "false cosmic": (prediction == COSMIC) & (truth == 0),
        "cosmic missed": (truth == COSMIC) & (prediction == 0),
        "false neutrino": (prediction == NEUTRINO) & (truth != NEUTRINO),
        "neutrino missed": (truth == NEUTRINO) & (prediction != NEUTRINO),
    }
    for name, where in rules.items():
        picture[where] = rgb(ERROR_COLOURS[name])
    return picture


def pooled(plane: NDArray, largest: int = _WIDEST) -> NDArray:
    """A plane of charges or classes, made smaller by maxima until it is at most that wide."""
    while plane.shape[1] > largest and not (plane.shape[0] % 2 or plane.shape[1] % 2):
        height, width = plane.shape
        plane = plane.reshape(height // 2, 2, width // 2, 2).max(axis=(1, 3))
    return plane


def iou(truth: NDArray[np.uint8], prediction: NDArray[np.uint8], kind: int) -> float:
    """Mean over planes of the intersection over union of a class; 1 where there is none and none was found."""
    both = ((truth == kind) & (prediction == kind)).sum(axis=(1, 2))
    either = ((truth == kind) | (prediction == kind)).sum(axis=(1, 2))
    return float(np.where(either > 0, both / np.maximum(either, 1), 1.0).mean())
