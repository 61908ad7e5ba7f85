"""Delegated methods: the way in which extensions of Keras layers replace single methods of a layer.

A method with `@extension_delegate` first asks the extension of the instance (or, for a class method, of the class under
the strategy in force): `_<method>_supported(...)` says whether `_<method>_delegate(...)` takes its place. The argument
`__extension_delegate=False` calls the method itself.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.stock_keras import internal

_AS_IT_IS = "__extension_delegate"


class KerasExtension:
    """The base of extensions of Keras layers and models."""


def extension_delegate(method: Callable[..., Any]) -> Callable[..., Any]:
    """Let extensions replace a method."""
    name = method.__name__

    @functools.wraps(method)
    def delegating(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not kwargs.pop(_AS_IT_IS, True):
            return method(self, *args, **kwargs)
        owner = _extension_of_class(self) if inspect.isclass(self) else self
        supported = getattr(owner, f"_{name}_supported", None)
        delegate = getattr(owner, f"_{name}_delegate", None)
        if not (isinstance(self, KerasExtension) or inspect.isclass(self)) or delegate is None:
            return method(self, *args, **kwargs)
        if supported is None or not supported(*args, **kwargs):
            return method(self, *args, **kwargs)
        if inspect.isclass(self):
            # with the class of the layer in the place of the extension's
            return delegate.__func__(self, *args, **kwargs)
        return delegate(*args, **kwargs)

    return delegating


def _extension_of_class(cls: type) -> Any:
    find = getattr(tf.distribute.get_strategy(), "_get_keras_extension", None)
    if find is None:
        return None
    found = (find(base, KerasExtension) for base in cls.__mro__)
    return next((extension for extension in found if extension is not None), None)


def install() -> None:
    """Put both names where programs look for them."""
    base_layer = internal("engine.base_layer")
    base_layer.KerasExtension = KerasExtension
    base_layer.extension_delegate = extension_delegate
