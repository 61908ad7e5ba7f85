"""Convolutions and norms of the image networks."""

from __future__ import annotations

from typing import Any

from tensorflow.keras import layers

from ipu_tensorflow_addons.keras.layers import GroupNormalization


def normed(
    x: Any,
    name: str,
    kind: str,
    width: int,
    kernel: int,
    stride: int = 1,
    *,
    groups: int = 1,
    norm_groups: int = 32,
) -> Any:
    """A convolution without bias, padded so that only its stride makes the image smaller, and its norm."""
    x = layers.Conv2D(width, kernel, stride, "same", use_bias=False, groups=groups, name=name)(x)
    return norm(x, kind, norm_groups, f"{name}_norm")


def norm(x: Any, kind: str, groups: int, name: str) -> Any:
    """A norm over channels: batch, group or none."""
    if kind == "batch":
        return layers.BatchNormalization(momentum=0.9, epsilon=1e-5, name=name)(x)
    if kind == "group":
        return GroupNormalization(groups, epsilon=1e-5, name=name)(x)
    if kind == "none":
        return x
    raise ValueError(f"norm {kind!r}: there are batch, group and none")
