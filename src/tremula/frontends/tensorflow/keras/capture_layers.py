"""Keras layers that wrap another layer and capture gradients on the way back.

An optimizer that takes `captured_grads` in `apply_gradients` gets them there, by the tag of the wrapper.
"""

from __future__ import annotations

from typing import Any

from tremula.frontends.tensorflow.gradient_capture import capture_upstream_gradients
from tremula.frontends.tensorflow.stock_keras import keras


class _CaptureLayer(keras.layers.Layer):
    """A layer around another one.

    Attributes:
        layer: the wrapped layer.
        tag: the name under which gradients are captured, and of this layer.
    """

    def __init__(self, layer: Any, tag: Any) -> None:
        _check_is_layer(layer)
        super().__init__(dtype=layer.dtype, name=tag)
        self._tag = tag
        self._layer = layer

    @property
    def tag(self) -> str:
        """The name under which gradients are captured."""
        return self._tag

    @property
    def layer(self) -> Any:
        """The wrapped layer."""
        return self._layer

    def _wrapped_call(self, inputs: Any, args: Any, options: dict[str, Any]) -> Any:
        if "training" in options and not self._layer._call_spec.expects_training_arg:
            options = {name: value for name, value in options.items() if name != "training"}
        return self._layer(inputs, *args, **options)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """The mask of the wrapped layer."""
        return self._layer.compute_mask(inputs, mask)

    def get_config(self) -> dict[str, Any]:
        """The wrapped layer as Keras serializes it, and the tag."""
        return {"layer": keras.layers.serialize(self._original()), "tag": self._tag}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """The inverse of `get_config`."""
        layer = config["layer"]
        if not isinstance(layer, keras.layers.Layer):
            layer = keras.layers.deserialize(layer)
        return cls(layer, tag=config.get("tag"))

    def _original(self) -> Any:
        return self._layer


class CaptureUpstreamGradients(_CaptureLayer):
    """Captures the gradients of the outputs of a layer.

    Args:
        layer: the layer to wrap.
        tag: defaults to the layer's name and `_cug`.
    """

    def __init__(self, layer: Any, tag: str | None = None) -> None:
        _check_is_layer(layer)
        super().__init__(layer, f"{layer.name}_cug" if tag is None else tag)

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """What the layer gives."""
        return capture_upstream_gradients(self._wrapped_call(inputs, args, kwargs), tag=self._tag)


class _ActivationCapture(keras.layers.Activation):
    """An activation function that captures the gradients of its argument."""

    def __init__(self, activation: Any, tag: str, **options: Any) -> None:
        super().__init__(activation, **options)
        self._tag = tag

    def call(self, inputs: Any) -> Any:
        """What the function gives."""
        return super().call(capture_upstream_gradients(inputs, tag=self._tag))

    def get_config(self) -> dict[str, Any]:
        """The function and the tag."""
        return {**super().get_config(), "tag": self._tag}


class CaptureActivationGradients(_CaptureLayer):
    """Captures the gradients of the arguments of a layer's activation functions.

    The layer is made anew from its configuration, with functions that capture. Their tags are the tag of the wrapper
    and the name of the function in the layer's configuration.

    Args:
        layer: the layer to wrap; it has not been used yet.
        tag: defaults to the layer's name and `_cag`.

    Raises:
        ValueError: the layer has no activation function.
    """

    def __init__(self, layer: Any, tag: str | None = None) -> None:
        _check_is_layer(layer)
        config = layer.get_config()
        functions = _activation_names(config)
        if not functions:
            raise ValueError(
                f"The layer {layer.name} does not use an activation function, so CaptureActivationGradients finds "
                f"nothing to capture. CaptureUpstreamGradients captures the gradients of its outputs."
            )
        tag = f"{layer.name}_cag" if tag is None else tag
        capturing = {
            name: _ActivationCapture(keras.activations.get(config[name]), tag=f"{tag}_{name}")
            for name in functions
        }
        super().__init__(type(layer).from_config({**config, **capturing}), tag)
        self._plain_layer = (type(layer), config)
        self._wrapped_activations = capturing

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """What the layer gives."""
        return self._wrapped_call(inputs, args, kwargs)

    @staticmethod
    def layer_is_supported(layer: Any) -> bool:
        """Whether a layer has activation functions."""
        _check_is_layer(layer)
        return bool(_activation_names(layer.get_config()))

    def _original(self) -> Any:
        kind, config = self._plain_layer
        return kind.from_config(dict(config))


def _check_is_layer(layer: Any) -> None:
    if not isinstance(layer, keras.layers.Layer):
        raise ValueError(f"Expected an instance of a Keras layer to wrap, not {layer!r}.")


def _activation_names(config: dict[str, Any]) -> list[str]:
    def is_function(value: Any) -> bool:
        if value is None:
            return False
        try:
            return callable(keras.activations.get(value))
        except (TypeError, ValueError):
            return False

    return [name for name, value in config.items() if "activation" in name and is_function(value)]
