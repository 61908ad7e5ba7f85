"""Dropout with a seed that the backward pass uses again.

A seed of two 32-bit numbers decides the mask. If the program gives none, a stateful op draws one at each execution; its
fact `random_stream` marks it, so that replicas can be given streams of their own.
"""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.ops import facts

_INT32 = tf.int32


def dropout(
    x: Any,
    rate: float = 0.5,
    noise_shape: Any = None,
    seed: Any = None,
    name: str | None = None,
    **kwargs: Any,
) -> Any:
    """Zero elements of `x` at random and scale the others by `1 / (1 - rate)`.

    Args:
        x: the input.
        rate: the probability that an element is zeroed.
        noise_shape: the shape of the mask: for each axis the size of `x`, or 1 where all elements share a decision.
        seed: two 32-bit integers that decide the mask. By default each execution draws new ones.
        name: of the op.
        kwargs: `ref`, whether the device keeps the layout of the mask for the backward pass: a fact for the chip model.

    Raises:
        ValueError: the rate is not in [0, 1), or a shape does not fit.
        TypeError: there is another keyword.
    """
    reference = kwargs.pop("ref", True)
    if kwargs:
        raise TypeError(f"dropout got an unexpected keyword argument {next(iter(kwargs))!r}.")
    if rate >= 1.0 or rate < 0.0:
        raise ValueError(f"The rate must be in the range [0, 1), but was {rate}.")
    x = tf.convert_to_tensor(x)
    if noise_shape is not None and len(noise_shape):
        _check_noise_shape(noise_shape, x)
    if seed is not None:
        seed = tf.convert_to_tensor(seed)
        if seed.shape != [2]:
            raise ValueError(f"Expected the seed to have a shape [2], but got {seed.shape}.")
    keep = 1 - rate
    with facts.composite("Dropout", rate=float(rate)):
        output, _ = apply(x, keep, 1 / keep, noise_shape, seed, name)
    return facts.record(output, dropout_rate=float(rate), reference=bool(reference))


def _check_noise_shape(noise_shape: Any, x: Any) -> None:
    if x.shape.rank != len(noise_shape):
        raise ValueError(
            f"The length of noise_shape must equal the rank of x. It is {noise_shape}; x has {x.shape}."
        )
    for axis, (size, wanted) in enumerate(zip(x.shape, noise_shape, strict=True)):
        if wanted not in (1, size):
            raise ValueError(
                f"Dimension mismatch, {size} != {wanted}: axis {axis} of noise_shape has to be {size} or 1."
            )


def draw_seed() -> Any:
    """A new seed at each execution."""
    seed = tf.random.uniform([2], _INT32.min, _INT32.max, _INT32, name="dropout_seed")
    return facts.record(seed, random_stream=True)


def apply(
    x: Any, keep: float, scale: float, noise_shape: Any = None, seed: Any = None, name: str | None = None
) -> tuple[Any, Any]:
    """Keep elements with probability `keep` and multiply them by `scale`.

    Returns:
        The output and the seed.
    """
    x = tf.convert_to_tensor(x)
    with tf.name_scope(name or "dropout"):
        seed = draw_seed() if seed is None else tf.cast(seed, _INT32)
        shape = (
            [int(size) for size in noise_shape]
            if noise_shape is not None and len(noise_shape)
            else tf.shape(x)
        )
        kept = tf.random.stateless_uniform(shape, seed) < keep
        output = tf.where(kept, x * tf.cast(scale, x.dtype), tf.zeros_like(x))
        output.set_shape(x.shape)
        return output, seed
