"""`gen_poprand_ops`: dropout with its seed. The rate of these ops is the probability that an element is kept."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.ops import dropout


def ipu_dropout(
    input: Any, rate: float, scale: float, noise_shape: Any = None, name: str | None = None
) -> tuple[Any, Any, Any]:
    """Dropout with a new seed: the output, the seed, and a place-holder for the reference tensor."""
    output, seed = dropout.apply(input, rate, scale, noise_shape, None, name)
    return output, seed, tf.zeros([], tf.int32)


def ipu_dropout_no_ref(
    input: Any, rate: float, scale: float, noise_shape: Any = None, name: str | None = None
) -> tuple[Any, Any]:
    """Dropout with a new seed: the output and the seed."""
    return dropout.apply(input, rate, scale, noise_shape, None, name)


def ipu_dropout_with_seed(
    input: Any, seed: Any, rate: float, scale: float, noise_shape: Any = None, name: str | None = None
) -> tuple[Any, Any, Any]:
    """Dropout with a given seed: the output, the seed, and a place-holder for the reference tensor."""
    output, seed = dropout.apply(input, rate, scale, noise_shape, tf.convert_to_tensor(seed), name)
    return output, seed, tf.zeros([], tf.int32)


def ipu_dropout_with_seed_no_ref(
    input: Any, seed: Any, rate: float, scale: float, noise_shape: Any = None, name: str | None = None
) -> tuple[Any, Any]:
    """Dropout with a given seed: the output and the seed."""
    return dropout.apply(input, rate, scale, noise_shape, tf.convert_to_tensor(seed), name)


def ipu_dropout_with_seed_and_reference(
    input: Any,
    seed: Any,
    reference: Any,
    rate: float,
    scale: float,
    noise_shape: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Dropout with the seed of an earlier one: the output and the seed."""
    return dropout.apply(input, rate, scale, noise_shape, tf.convert_to_tensor(seed), name)
