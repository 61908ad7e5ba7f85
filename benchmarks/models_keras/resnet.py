"""ResNet in the form called v1.5, with bottlenecks: the stride is in the 3x3 convolution."""

from __future__ import annotations

from typing import Any

from tensorflow.keras import layers

from .convolutions import normed
from .network import Network, classifier, images

DEPTHS = {50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}


def resnet(
    batch: int,
    depth: int = 50,
    image: int = 224,
    classes: int = 1000,
    norm: str = "batch",
    groups: int = 32,
    eight_bit_input: bool = False,
) -> Network:
    """An image classifier; the arguments are those of the torch version."""
    inputs, x = images(batch, image, eight_bit=eight_bit_input)
    x = layers.ReLU(name="relu")(normed(x, "stem", norm, 64, 7, 2, norm_groups=groups))
    x = layers.MaxPooling2D(3, 2, "same", name="pool")(x)
    for stage, (blocks, width) in enumerate(zip(DEPTHS[depth], (64, 128, 256, 512), strict=True), 1):
        for block in range(blocks):
            stride = 2 if stage > 1 and not block else 1
            x = _bottleneck(x, f"stage{stage}.{block}", width, stride, not block, norm, groups)
    return classifier(
        inputs, layers.Dense(classes, name="head")(layers.GlobalAveragePooling2D(name="mean")(x))
    )


def _bottleneck(x: Any, name: str, width: int, stride: int, shortcut: bool, norm: str, groups: int) -> Any:
    y = x
    for number, (out, kernel, step) in enumerate(((width, 1, 1), (width, 3, stride), (4 * width, 1, 1)), 1):
        y = normed(y, f"{name}.conv{number}", norm, out, kernel, step, norm_groups=groups)
        if number < 3:
            y = layers.ReLU(name=f"{name}.relu{number}")(y)
    if shortcut:
        x = normed(x, f"{name}.shortcut", norm, 4 * width, 1, stride, norm_groups=groups)
    return layers.ReLU(name=f"{name}.relu")(layers.Add(name=f"{name}.add")([y, x]))
