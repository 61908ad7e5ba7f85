"""The network of a model that is a subclass of `Model`: what its `call` does with Keras tensors."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.keras.pipeline_order import Network
from tremula.frontends.tensorflow.stock_keras import internal, keras


def trace(model: Any, inputs: Any) -> Network:
    """Run `model.call` on Keras inputs.

    Args:
        model: a subclass of `Model`.
        inputs: a structure of `keras.Input`s.

    Raises:
        ValueError: `call` does not accept such inputs.
    """
    context = internal("engine.base_layer_utils").call_context()
    options = {"training": False} if _needs_training(model) else {}
    scope = model.distribute_strategy.scope()
    with scope, context.enter(layer=model, inputs=inputs, build_graph=True, training=None):
        if not model.built:
            model.build(tf.nest.map_structure(lambda tensor: tuple(tensor.shape), inputs))
        try:
            outputs = model.call(inputs, **options)
        except (tf.errors.InvalidArgumentError, TypeError) as error:
            raise ValueError(
                f"The call of model {model.name} failed on inputs {_described(inputs)}: {error}. A plain shape "
                f"stands for float32: give `build` a keras.Input with the right dtype, or call the model on real data."
            ) from error
    functional = internal("engine.functional")
    by_depth = functional._map_graph_network(tf.nest.flatten(inputs), tf.nest.flatten(outputs))[1]
    return Network(inputs, outputs, by_depth)


def forget(network: Network) -> None:
    """Take the calls of an earlier trace off their layers, so that calls are counted from 0 again."""
    for nodes in network.nodes_by_depth.values():
        for node in nodes:
            if node.is_input:
                continue
            if node in node.layer._inbound_nodes:
                node.layer._inbound_nodes.remove(node)
            for parent in node.parent_nodes:
                if node in parent.layer._outbound_nodes:
                    parent.layer._outbound_nodes.remove(node)


def inputs_like(shapes: Any, types: Any = None) -> Any:
    """Keras inputs for a structure of shapes (or of Keras inputs, which stay) and one of types.

    Raises:
        ValueError: something else is in the structure of shapes.
    """
    if types is None:
        return _map_shapes(shapes, _input)
    if isinstance(shapes, dict):
        return {key: _input(shapes[key], types[key]) for key in sorted(shapes)}
    if isinstance(types, (list, tuple)):
        return [_input(shape, dtype) for shape, dtype in zip(shapes, types, strict=True)]
    return _input(shapes, types)


def plain_shapes(shapes: Any) -> Any:
    """The same structure with the shapes of Keras inputs instead of them."""
    return _map_shapes(shapes, lambda one: tuple(one.shape) if _is_input(one) else one)


def packed_inputs(structure: Any) -> Any:
    """A structure of Keras inputs as plain data for a configuration; None if its keys are not strings."""
    if isinstance(structure, dict):
        if not all(isinstance(key, str) for key in structure):
            return None
        return {"dict": {key: packed_inputs(one) for key, one in structure.items()}}
    if isinstance(structure, (list, tuple)):
        return {"list": [packed_inputs(one) for one in structure]}
    return {"shape": list(structure.shape), "dtype": structure.dtype.name}


def unpacked_inputs(data: Any) -> Any:
    """The inverse of `packed_inputs`, with new Keras inputs."""
    if "dict" in data:
        return {key: unpacked_inputs(one) for key, one in data["dict"].items()}
    if "list" in data:
        return [unpacked_inputs(one) for one in data["list"]]
    return keras.Input(batch_shape=tuple(data["shape"]), dtype=data["dtype"])


def _map_shapes(shapes: Any, function: Callable[[Any], Any]) -> Any:
    if isinstance(shapes, dict):
        return {key: function(one) for key, one in shapes.items()}
    if isinstance(shapes, (list, tuple)) and not _is_shape(shapes):
        return [function(one) for one in shapes]
    return function(shapes)


def _is_shape(value: Any) -> bool:
    return all(one is None or isinstance(one, (int, tf.compat.v1.Dimension)) for one in value)


def _is_input(value: Any) -> bool:
    history = getattr(value, "_keras_history", None)
    return history is not None and isinstance(history[0], internal("engine.input_layer").InputLayer)


def _input(value: Any, dtype: Any = None) -> Any:
    if _is_input(value):
        return value
    if not isinstance(value, (tuple, list, tf.TensorShape)):
        raise ValueError(
            f"Specified input shape is not one of the valid types: {type(value).__name__}. Give a shape with the batch "
            f"size as a tuple, a list or dict of such, or a `keras.Input`."
        )
    return keras.Input(batch_shape=tuple(value), dtype=dtype)


def _needs_training(model: Any) -> bool:
    parameter = inspect.signature(model.call).parameters.get("training")
    return parameter is not None and parameter.default is inspect.Parameter.empty


def _described(inputs: Any) -> str:
    return ", ".join(f"{tensor.dtype.name}{tuple(tensor.shape)}" for tensor in tf.nest.flatten(inputs))
