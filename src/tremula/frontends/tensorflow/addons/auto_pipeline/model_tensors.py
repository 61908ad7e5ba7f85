"""What the layers of a Keras model exchange, and which layers compute the same."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow.compat.v2 as tf

from tremula import log
from tremula.frontends.tensorflow.stock_keras import internal


def prepend_batchsize(shape: Any, batch_size: int) -> Any:
    """A shape with the batch size in the place of an unknown first dimension."""
    return (batch_size, *shape[1:]) if shape[0] is None else shape


def tf_tensor_size(x: Any, batch_size: int) -> int:
    """The bytes of a tensor of a model."""
    return math.prod(prepend_batchsize(x.shape, batch_size)) * x.dtype.size


def tf_nested_map_structure_tensor(tensor_func: Callable[[Any], Any], struct: Any) -> Any:
    """A structure with a function of each of its Keras tensors."""
    kind = internal("engine.keras_tensor").KerasTensor
    return tf.nest.map_structure(lambda x: tensor_func(x) if isinstance(x, kind) else x, struct)


def tf_nested_map_structure_all_tensor(tensor_func: Callable[[Any], Any], struct: Any) -> Any:
    """A structure with a function of everything in it that has a shape and a data type."""
    return tf.nest.map_structure(
        lambda x: tensor_func(x) if hasattr(x, "shape") and hasattr(x, "dtype") else x, struct
    )


def parse_model_intermediate(model: Any, batch_size: int) -> tuple[Any, Any, Any]:
    """Sizes of what goes into, through and out of each layer that has a stage.

    Args:
        model: a Functional model of the device.
        batch_size: the batch size, for tensors that leave it open.

    Returns:
        For each layer the bytes that only pass through it, that go in, and that go out. The latter two have the
        first in them.
    """
    nodes = [_node(assignment) for assignment in model.get_pipeline_stage_assignment()]
    made: dict[int, int] = {}
    last_used: dict[int, int] = {}
    sizes: dict[int, int] = {}

    def make(x: Any, place: int) -> None:
        made[id(x)] = last_used[id(x)] = place
        sizes[id(x)] = tf_tensor_size(x, batch_size)

    for x in _tensors([model.input]):
        make(x, -1)
    for place, node in enumerate(nodes):
        for x in _tensors([node.call_args, node.call_kwargs]):
            if id(x) in made:
                last_used[id(x)] = place
            else:
                log.warn_once(
                    f"auto-pipeline-{x.name}", f"{x.name} is used by a layer but made by none before it."
                )
        for x in _tensors([node.output_tensors]):
            make(x, place)

    passing, incoming, outgoing = (np.zeros(len(nodes), np.int64) for _ in range(3))
    for key, size in sizes.items():
        passing[made[key] + 1 : last_used[key]] += size
    for place, node in enumerate(nodes):
        used = {id(x) for x in _tensors([node.call_args, node.call_kwargs]) if id(x) in made}
        # what is used later too is already among what passes
        incoming[place] = passing[place] + sum(sizes[key] for key in used if last_used[key] <= place)
        outgoing[place] = passing[place] + sum(sizes[id(x)] for x in _tensors([node.output_tensors]))
    return passing, incoming, outgoing


def get_assignment_layer_type(assignment: Any, batch_size: int) -> str:
    """A text that is the same for layers that compute the same: initial values, names and floats do not count."""
    layer, node = assignment.layer, _node(assignment)
    description = {
        "class": [type(layer).__module__, type(layer).__name__],
        "args": tf_nested_map_structure_all_tensor(
            lambda x: str([prepend_batchsize(x.shape, batch_size), x.dtype]),
            [node.call_args, node.call_kwargs],
        ),
        "weight": [str([weight.shape, weight.dtype]) for weight in layer.get_weights()],
        "config": {
            name: str(value)
            for name, value in layer.get_config().items()
            if not isinstance(value, float)
            and not any(part in name for part in ("trainable", "initializer", "name"))
        },
    }
    return json.dumps(description, sort_keys=True, default=str)


def _node(assignment: Any) -> Any:
    return assignment.layer.inbound_nodes[getattr(assignment, "node_index", 0)]


def _tensors(struct: Any) -> list[Any]:
    kind = internal("engine.keras_tensor").KerasTensor
    return [x for x in tf.nest.flatten(struct) if isinstance(x, kind)]
