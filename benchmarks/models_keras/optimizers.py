"""Optimizers by the names that case files use, with state of a type of its own."""

from __future__ import annotations

from typing import Any

from tensorflow.keras.optimizers import legacy

from ipu_tensorflow_addons.keras.optimizers import AdamIpuOptimizer, LAMBIpuOptimizer, SGDIpuOptimizer


def optimizer(name: str, weights: str, state: str) -> Any:
    """The optimizer called `name` for weights of a type whose state has another one.

    Raises:
        ValueError: there is none in Keras.
    """
    if name == "sgd":
        return legacy.SGD(0.01)
    if name == "momentum":
        if state == weights:
            return legacy.SGD(0.01, momentum=0.9)
        return SGDIpuOptimizer(0.01, 0.9, momentum_accum_dtype=state)
    if name == "adam":
        if state == weights:
            return legacy.Adam(0.001, epsilon=1e-8)
        return AdamIpuOptimizer(0.001, epsilon=1e-8, m_dtype=state, v_dtype="float32")
    if name == "lamb":
        return LAMBIpuOptimizer(
            0.001, weight_decay_rate=0.01, debiasing=False, m_dtype=state, v_dtype="float32"
        )
    if name == "rmsprop" and state == weights:
        return legacy.RMSprop(0.001, rho=0.99, momentum=0.9)
    raise ValueError(
        f"the Keras versions have no optimizer {name} with {state} state for {weights} weights; there are sgd, "
        "momentum, adam, lamb, and rmsprop with state like the weights"
    )
