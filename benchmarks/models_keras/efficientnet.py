"""EfficientNet, and the variant with grouped instead of depthwise convolutions: see models/efficientnet.py."""

from __future__ import annotations

import math
from typing import Any

from tensorflow.keras import layers

from ..models.efficientnet import STAGES, VARIANTS, rounded
from .convolutions import normed
from .network import Network, classifier, images

#: groups of a group norm
_NORM_GROUPS = 4


def efficientnet(
    batch: int,
    variant: str = "b0",
    group_size: int = 1,
    expansion: int = 6,
    norm: str = "batch",
    classes: int = 1000,
    image: int | None = None,
    eight_bit_input: bool = False,
) -> Network:
    """An image classifier; the arguments are those of the torch version."""
    width, depth, size = VARIANTS[variant]
    inputs, x = images(batch, image or size, eight_bit=eight_bit_input)
    x = _active(x, "stem", norm, rounded(32 * width), 3, 2)
    for stage, (factor, out, repeats, stride, kernel) in enumerate(STAGES):
        for block in range(math.ceil(repeats * depth)):
            x = _block(
                x,
                f"blocks.{stage}.{block}",
                rounded(out * width),
                1 if factor == 1 else expansion,
                1 if block else stride,
                kernel,
                group_size,
                norm,
            )
    x = _active(x, "top", norm, rounded(1280 * width), 1)
    x = layers.Dropout(0.2, name="dropout")(layers.GlobalAveragePooling2D(name="mean")(x))
    return classifier(inputs, layers.Dense(classes, name="head")(x))


def _block(
    x: Any, name: str, out: int, expansion: int, stride: int, kernel: int, group_size: int, norm: str
) -> Any:
    channels = x.shape[-1]
    inner, y = channels * expansion, x
    if expansion != 1:
        y = _active(y, f"{name}.expand", norm, inner, 1)
    y = _active(y, f"{name}.spatial", norm, inner, kernel, stride, max(1, inner // group_size))
    weights = layers.GlobalAveragePooling2D(keepdims=True, name=f"{name}.excite.mean")(y)
    weights = layers.Conv2D(max(1, channels // 4), 1, activation="swish", name=f"{name}.excite.reduce")(
        weights
    )
    weights = layers.Conv2D(inner, 1, activation="sigmoid", name=f"{name}.excite.expand")(weights)
    y = layers.Multiply(name=f"{name}.excite.scale")([y, weights])
    y = normed(y, f"{name}.project", norm, out, 1, norm_groups=_NORM_GROUPS)
    return layers.Add(name=f"{name}.add")([x, y]) if stride == 1 and channels == out else y


def _active(x: Any, name: str, norm: str, width: int, kernel: int, stride: int = 1, groups: int = 1) -> Any:
    x = normed(x, name, norm, width, kernel, stride, groups=groups, norm_groups=_NORM_GROUPS)
    return layers.Activation("swish", name=f"{name}_silu")(x)
