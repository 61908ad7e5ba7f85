"""What the layers share: arguments of the stock layer that the device's layer does not have."""

from __future__ import annotations

from typing import Any

from tremula.frontends.tensorflow.stock_keras import keras


class IPULayer(keras.layers.Layer):
    """A layer that stands in for a layer of Keras."""

    def _check_unsupported(self, arg: Any, arg_name: str, method: str = "__init__") -> None:
        """Refuse an argument that only the stock layer has.

        Raises:
            NotImplementedError: the argument is given.
        """
        if arg is None or arg is False:
            return
        name = type(self).__name__
        raise NotImplementedError(
            f"ipu_tensorflow_addons.keras.layers.{name} does not support {arg_name} in {method}: the argument is there "
            f"because keras.layers.{name} has it. Leave it out, or use the layer of Keras."
        )


def fresh_initializer(initializer: Any) -> Any:
    """A copy of an initializer for one weight: without a seed, it would give all of its weights the same values."""
    if not hasattr(initializer, "get_config"):
        return initializer
    return type(initializer).from_config(initializer.get_config())


def initializer_config(initializer: Any) -> Any:
    """What makes an equal initializer: its name and arguments, without the module that it is from."""
    return None if initializer is None else keras.initializers.serialize(initializer, use_legacy_format=True)
