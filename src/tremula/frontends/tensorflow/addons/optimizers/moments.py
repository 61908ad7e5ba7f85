"""The first and second moments of gradients that Adam and LAMB keep."""

from __future__ import annotations

from typing import Any, NamedTuple

import tensorflow.compat.v2 as tf


class Moments(NamedTuple):
    """Moments after a step: the running averages, and the values that the update uses."""

    first: Any
    second: Any
    first_hat: Any
    second_hat: Any


def prepare(optimizer: Any, coefficients: dict[str, Any]) -> None:
    """Add what `step` needs to an optimizer's coefficients, in its first compute precision."""
    dtype = optimizer.opt_dtypes[0]
    number = tf.cast(optimizer.iterations + 1, dtype)
    for name in ("beta_1", "beta_2"):
        beta = tf.identity(optimizer._get_hyper(name, dtype))
        coefficients[f"{name}_t"] = beta
        coefficients[f"{name}_power"] = tf.pow(beta, number)
        coefficients[f"one_minus_{name}_t"] = 1 - beta
    coefficients["epsilon"] = tf.convert_to_tensor(optimizer.epsilon, dtype)


def step(optimizer: Any, coefficients: dict[str, Any], grad: Any, first: Any, second: Any) -> Moments:
    """The moments after a gradient, in the optimizer's first compute precision."""
    dtype = optimizer.opt_dtypes[0]
    grad = tf.cast(grad, dtype)
    beta_1, beta_2 = coefficients["beta_1_t"], coefficients["beta_2_t"]
    first = tf.cast(first, dtype) * beta_1 + grad * (1 - beta_1)
    second = tf.cast(second, dtype) * beta_2 + tf.square(grad) * (1 - beta_2)
    if not optimizer.debiasing:
        return Moments(first, second, first, second)
    return Moments(
        first,
        second,
        first / (1 - coefficients["beta_1_power"]),
        second / (1 - coefficients["beta_2_power"]),
    )
