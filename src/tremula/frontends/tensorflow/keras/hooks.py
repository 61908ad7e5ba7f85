"""The changes to Keras: models that are made under an IPUStrategy get extensions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import tensorflow.compat.v2 as tf
from tensorflow.python.util import tf_decorator

from tremula.frontends.tensorflow.keras import delegation, extension, model_kinds
from tremula.frontends.tensorflow.keras.registry import KerasExtensions
from tremula.frontends.tensorflow.keras.user_errors import at_line
from tremula.frontends.tensorflow.stock_keras import internal


def install() -> None:
    """Make the changes."""
    delegation.install()
    model_kinds.install()
    model = internal("engine.training").Model
    layer = internal("engine.base_layer").Layer
    _extend_after(model, lambda made: True)
    _extend_after(layer, lambda made: not isinstance(made, model))
    data_adapter = internal("engine.data_adapter")
    data_adapter.get_data_handler = extension.data_handler(data_adapter.get_data_handler)
    data_adapter.single_batch_iterator = extension.single_batches(data_adapter.single_batch_iterator)
    _refuse_models_from_outside(model)


def _extend_after(owner: type, concerned: Callable[[Any], bool]) -> None:
    """Extend an object when the constructor of this class has run, if the strategy in force wants it."""
    stock: Any = owner.__init__  # type: ignore[misc]

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        stock(self, *args, **kwargs)
        if not concerned(self):
            return
        strategy = tf.distribute.get_strategy()
        if isinstance(self, extension.KerasExtensionBase):
            # made as an instance of an extended class
            if "_feeds" not in vars(self):
                self._init_extension()
        elif isinstance(strategy, KerasExtensions):
            strategy._patch_keras_extension(self)

    # Keras reads the arguments of constructors through decorators
    owner.__init__ = tf_decorator.make_decorator(stock, __init__)  # type: ignore[misc]


def _refuse_models_from_outside(model: Any) -> None:
    stock = model.compile

    @functools.wraps(stock)
    def checked(self: Any, *args: Any, **kwargs: Any) -> None:
        strategy = tf.distribute.get_strategy()
        here = isinstance(strategy, KerasExtensions) and strategy._enable_keras_extensions
        if here and not isinstance(self, delegation.KerasExtension):
            raise ValueError(
                at_line(
                    f"The model {self.name} was created outside the distribution strategy scope, so it would not run "
                    f"on the IPU. Make the model, and compile it, inside `with strategy.scope():`."
                )
            )
        stock(self, *args, **kwargs)

    model.compile = checked
