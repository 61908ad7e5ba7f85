"""What inputs hold if the host sends none (TF_POPLAR_FLAGS: --use_synthetic_data, --synthetic_data_initializer)."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow import flags


def tensor(shape: Any, dtype: Any) -> Any:
    """A synthetic input: zeros, the number that the flag names, or random numbers.

    `random` and `uniform` are in [0, 1), `normal` has mean 0 and deviation 1; whole numbers are 0 or 1.

    Args:
        shape: fully known.
        dtype: of the input.
    """
    kind = tf.as_dtype(dtype)
    initializer = flags.flag("synthetic_data_initializer")
    if initializer == "":
        return tf.zeros(shape, kind)
    if isinstance(initializer, float):
        return tf.cast(tf.fill(shape, initializer), kind)
    if not kind.is_floating:
        return tf.cast(tf.random.uniform(shape) < 0.5, kind)
    draw = tf.random.normal if initializer == "normal" else tf.random.uniform
    return tf.cast(draw(shape), kind)


def like(element_spec: Any) -> Any:
    """Synthetic inputs for all tensors of a dataset's `element_spec`, in its structure."""
    return tf.nest.map_structure(lambda spec: tensor(spec.shape, spec.dtype), element_spec)
