"""Activation functions that the device has under a name, and the names of the ones that programs hand over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.ops import facts


def _in_float(function: Callable[[Any], Any], x: Any) -> Any:
    """Apply `function`, for half precision in float32, and round the result back as the device's vertices do."""
    if x.dtype != tf.float16:
        return function(x)
    return tf.cast(function(tf.cast(x, tf.float32)), tf.float16)


def gelu(x: Any, approximate: bool = True, name: str | None = None) -> Any:
    """Gaussian error linear unit.

    Args:
        x: a float16 or float32 tensor.
        approximate: by tanh; otherwise by the error function.
        name: of the op.
    """
    x = tf.convert_to_tensor(x)
    with facts.composite("Gelu"):
        return _in_float(lambda y: tf.nn.gelu(y, approximate=approximate, name=name), x)


def swish(x: Any, name: str | None = None) -> Any:
    """x times its sigmoid."""
    x = tf.convert_to_tensor(x)
    with tf.name_scope(name or "swish"):
        return _in_float(tf.nn.silu, x)


def hard_sigmoid(x: Any, name: str | None = None) -> Any:
    """0 below -2.5, 1 above 2.5, and a straight line between. The slope at both ends is that of the line."""
    x = tf.convert_to_tensor(x)
    with tf.name_scope(name or "hard_sigmoid"):
        line = x * tf.constant(0.2, x.dtype) + tf.constant(0.5, x.dtype)
        return tf.where(tf.abs(x) <= 2.5, line, tf.cast(x > 0, x.dtype))


def softmax(x: Any, stable: bool = False, name: str | None = None) -> Any:
    """Softmax over the last axis.

    Args:
        x: a float16 or float32 tensor.
        stable: whether the device subtracts the maximum first. The host does so always; the choice is a fact for the
            chip model.
        name: of the op.
    """
    x = tf.convert_to_tensor(x)
    return facts.record(_in_float(lambda y: tf.nn.softmax(y, name=name), x), stable=stable)


_BY_NAME: dict[str, Callable[[Any], Any]] = {
    "tanh": tf.tanh,
    "relu": tf.nn.relu,
    "softmax": tf.nn.softmax,
    "sigmoid": tf.sigmoid,
    "hard_sigmoid": hard_sigmoid,
}


def by_name(name: str) -> Callable[[Any], Any]:
    """The activation function that a recurrent layer of the device has under this name.

    Raises:
        ValueError: there is none.
    """
    if name not in _BY_NAME:
        raise ValueError(
            f"The device's recurrent layers have no activation {name!r}. Choose one of {', '.join(sorted(_BY_NAME))}."
        )
    return _BY_NAME[name]


#: modules whose functions are known by their name alone
_MODULES = ("keras", "tf_keras", "tensorflow.python.keras", "tensorflow.python.ops", "tensorflow.python.util")


def name_of(identifier: Any) -> str:
    """The name of an activation that is given as a string or as a function of TensorFlow or Keras.

    Raises:
        TypeError: it is neither.
    """
    if isinstance(identifier, str):
        return identifier
    if callable(identifier):
        module, name = getattr(identifier, "__module__", None) or "", getattr(identifier, "__name__", "")
        if any(module == known or module.startswith(known + ".") for known in _MODULES):
            return name
        raise TypeError(
            f"Unrecognized function : {module}.{name}. A recurrent layer takes an activation of TensorFlow "
            "or Keras, or the name of one."
        )
    raise TypeError(
        f"Could not interpret activation function identifier: {identifier!r}. Give a name such as 'tanh', or a "
        "function of TensorFlow or Keras."
    )
