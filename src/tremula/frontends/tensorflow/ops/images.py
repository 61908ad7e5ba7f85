"""Normalisation of images with three channels, which pads them to four."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.static_shape import static_size

_CHANNELS = 3


def normalise_image(
    image: Any, channel_offsets: Any, channel_scales: Any, scale: float = 1, name: str | None = None
) -> Any:
    """Compute `(image * scale - offset) * channel_scale` for each channel and add a fourth channel of zeros.

    Args:
        image: a tensor whose last axis has 3 channels, in uint8, float16 or float32.
        channel_offsets: 3 values.
        channel_scales: 3 values.
        scale: multiplies the image first.
        name: of the op.

    Returns:
        A tensor with 4 channels in the type of the image, or in float16 for uint8.

    Raises:
        TypeError: the type of the image is not one of the three.
        InvalidArgumentError: something has not 3 channels.
    """
    image = tf.convert_to_tensor(image)
    if image.dtype not in (tf.float16, tf.float32, tf.uint8):
        raise TypeError(
            f"normalise_image takes images in float16, float32 or uint8, not in {image.dtype.name}."
        )
    dtype = tf.float16 if image.dtype == tf.uint8 else image.dtype
    channels = static_size(image, -1)
    if channels != _CHANNELS:
        raise tf.errors.InvalidArgumentError(
            None, None, f"The image has {channels} channels, expected {_CHANNELS}."
        )
    offsets = _per_channel("offsets", channel_offsets, dtype)
    scales = _per_channel("scales", channel_scales, dtype)
    with tf.name_scope(name or "normalise_image"):
        normalised = (tf.cast(image, dtype) * tf.cast(scale, dtype) - offsets) * scales
        return tf.pad(normalised, [[0, 0]] * (image.shape.rank - 1) + [[0, 1]])


def _per_channel(what: str, values: Any, dtype: Any) -> Any:
    values = tf.cast(values, dtype) if tf.is_tensor(values) else tf.convert_to_tensor(values, dtype=dtype)
    size = values.shape.num_elements()
    if values.shape.rank != 1 or size != _CHANNELS:
        raise tf.errors.InvalidArgumentError(
            None,
            None,
            f"The channel {what} must be the same size as the number of image channels {_CHANNELS}, but was {size}.",
        )
    return values
