"""The U-Net of Ronneberger et al. (2015): unpadded convolutions, cropped connections, 572 x 572 pixels."""

from __future__ import annotations

from typing import Any

import tensorflow as tf
from tensorflow.keras import layers

from .network import Network, classifier, compute_dtype


def unet(batch: int, image: int = 572, classes: int = 2, width: int = 64, levels: int = 4) -> Network:
    """Segmentation; the arguments are those of the torch version."""
    inputs = x = tf.keras.Input((image, image, 1), batch, dtype=compute_dtype(), name="images")
    widths = [width * 2**level for level in range(levels + 1)]
    kept = []
    for level, channels in enumerate(widths[:-1]):
        kept.append(_double(x, f"down.{level}", channels))
        x = layers.MaxPooling2D(2, name=f"pool.{level}")(kept[-1])
    x = layers.Dropout(0.5, name="dropout")(_double(x, f"down.{levels}", widths[-1]))
    for level, channels in enumerate(reversed(widths[:-1])):
        x = layers.Conv2DTranspose(channels, 2, 2, name=f"grow.{level}")(x)
        beside = kept.pop()
        edge = beside.shape[1] - x.shape[1]
        sides = (edge // 2, edge - edge // 2)
        cropped = layers.Cropping2D((sides, sides), name=f"crop.{level}")(beside)
        x = _double(layers.Concatenate(name=f"beside.{level}")([cropped, x]), f"up.{level}", channels)
    return classifier(inputs, layers.Conv2D(classes, 1, name="head")(x))


def _double(x: Any, name: str, width: int) -> Any:
    for number in (0, 2):
        x = layers.Conv2D(width, 3, activation="relu", name=f"{name}.{number}")(x)
    return x
