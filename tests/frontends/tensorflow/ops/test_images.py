"""Normalised images have a fourth channel of zeros."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from tremula.frontends.tensorflow.ops import images

OFFSETS, SCALES = np.array([1, 2, 3], np.float32), np.array([4, 5, 0.5], np.float32)


@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.float32])
def test_each_channel_has_its_offset_and_scale(dtype):
    image = np.arange(24).reshape(2, 2, 2, 3).astype(dtype)
    result = images.normalise_image(tf.constant(image), OFFSETS, tf.constant(SCALES), scale=2)
    assert result.dtype == (np.float16 if dtype == np.uint8 else dtype)
    np.testing.assert_allclose(result[..., :3], (image.astype(np.float32) * 2 - OFFSETS) * SCALES, rtol=1e-3)
    np.testing.assert_array_equal(result[..., 3], 0)


def test_what_has_not_three_channels_is_refused():
    with pytest.raises(tf.errors.InvalidArgumentError, match="The image has 2 channels, expected 3"):
        images.normalise_image(tf.zeros([4, 2]), OFFSETS, SCALES)
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="same size as the number of image channels 3, but was 2"
    ):
        images.normalise_image(tf.zeros([4, 3]), OFFSETS[:2], SCALES)
    with pytest.raises(TypeError, match="not in int32"):
        images.normalise_image(tf.zeros([4, 3], tf.int32), OFFSETS, SCALES)
