"""Functions that the device keeps once and calls: outlined functions and groups of parallel convolutions.

On the host the body is written into the graph where it is called: TensorFlow would inline it anyway, and variables,
gradients and nested functions are then nothing special. Each op of the body carries the facts of its function, so that
a capture finds the calls again. AutoGraph does not touch the body, as with the original.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.ops import facts

_calls = itertools.count()


def outlined_function(
    func: Callable[..., Any] | None = None,
    unique_sharding: bool = False,
    keep_input_layouts: bool | None = None,
    name: str | None = None,
) -> Any:
    """Make a function that exists once on the device and is called from each place.

    Args:
        func: takes tensors, or what can be made into tensors, and returns at least one. Without it a decorator results.
        unique_sharding: whether the device copies all inputs to one IPU first: a fact for the chip model.
        keep_input_layouts: whether the device keeps the layouts of the inputs: a fact for the chip model.
        name: of the function.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        label = name or "function"

        @functools.wraps(function)
        def outlined(*args: Any) -> Any:
            notes = {
                "outlined": f"{getattr(function, '__qualname__', label)}#{next(_calls)}",
                "unique_sharding": unique_sharding,
                "keep_input_layouts": keep_input_layouts,
            }
            return _call(function, args, label, notes)

        return _left_to_python(outlined)

    return decorate if func is None else decorate(func)


def multi_conv(func: Callable[..., Any] | None = None, options: dict[str, str] | None = None) -> Any:
    """Make a function whose convolutions the device does in parallel.

    Args:
        func: takes tensors and returns at least one. Without it a decorator results.
        options: of the device's multi-convolution: facts for the chip model.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def convolutions(*args: Any) -> Any:
            if options is not None and not isinstance(options, dict):
                raise TypeError(
                    f"Expected the multi_conv `options` to be a `dict`, but got {options!r} instead."
                )
            notes = {"multi_conv": next(_calls), "multi_conv_options": options or None}
            return _call(function, args, "multi_conv", notes)

        return _left_to_python(convolutions)

    return decorate if func is None else decorate(func)


def _left_to_python(function: Callable[..., Any]) -> Callable[..., Any]:
    plain: Callable[..., Any] = tf.autograph.experimental.do_not_convert(function)
    return plain


def _call(function: Callable[..., Any], args: tuple[Any, ...], name: str, notes: dict[str, Any]) -> Any:
    tensors = [tf.convert_to_tensor(arg) for arg in args]
    with tf.name_scope(name), _noted(notes):
        result = function(*tensors)
    return tf.nest.map_structure(_as_tensor, result)


def _as_tensor(value: Any) -> Any:
    if value is None or isinstance(value, tf.Operation):
        return value
    return tf.convert_to_tensor(value)


@contextmanager
def _noted(notes: dict[str, Any]) -> Iterator[None]:
    if tf.executing_eagerly():
        yield
        return
    with tf.compat.v1.get_default_graph()._attr_scope(facts.attributes(notes)):
        yield
