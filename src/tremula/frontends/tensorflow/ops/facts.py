"""Facts about an op that have no effect on its numbers, kept on the op for the chip model.

An option such as `available_memory_proportion` changes how the device plans an op, not what the op computes. In a graph
it becomes an attribute `_tremula_<name>` of the op; a capture of the graph reads it back. Ops that are executed eagerly
are gone as soon as they have run: nothing is kept for them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import tensorflow.compat.v2 as tf
from tensorflow.core.framework import attr_value_pb2

PREFIX = "_tremula_"
#: the fact that says of which layer an op is a part
COMPOSITE = "composite"


def record(outputs: Any, **values: Any) -> Any:
    """Keep facts on the ops that made `outputs`.

    Args:
        outputs: a tensor, an operation, or a structure of them.
        values: the facts by name. What is None is left out.

    Returns:
        `outputs`.
    """
    present = attributes(values)
    for output in tf.nest.flatten(outputs):
        op = _op_of(output)
        if op is None:
            continue
        for name, value in present.items():
            op._set_attr(name, value)
    return outputs


@tf.autograph.experimental.do_not_convert
@contextmanager
def composite(layer: str, **values: Any) -> Iterator[None]:
    """While the ops of a layer are traced that the device's libraries have as one op: a capture makes one node of them,
    and one of their gradients.

    Args:
        layer: the type of the node, without `tremula.`.
        values: its attributes.
    """
    if tf.executing_eagerly():
        yield
        return
    graph = tf.compat.v1.get_default_graph()
    with tf.name_scope(layer.lower()) as scope:
        described = {"type": f"tremula.{layer}", "scope": scope, **values}
        with graph._attr_scope(attributes({COMPOSITE: described})):
            yield


def attributes(values: dict[str, Any]) -> dict[str, Any]:
    """Facts as attributes of an op by their full names. What is None is left out."""
    return {PREFIX + name: _attribute(value) for name, value in values.items() if value is not None}


def recorded(output: Any) -> dict[str, Any]:
    """The facts of the op that made `output`, by name."""
    op = _op_of(output)
    if op is None:
        return {}
    found = {}
    for name, attribute in op.node_def.attr.items():
        if name.startswith(PREFIX):
            found[name[len(PREFIX) :]] = _value(attribute)
    return found


def _op_of(output: Any) -> Any:
    if isinstance(output, tf.Operation):
        return output
    if not tf.is_tensor(output) or hasattr(output, "numpy"):
        return None
    return getattr(output, "op", None)


def _attribute(value: Any) -> Any:
    if isinstance(value, bool):
        return attr_value_pb2.AttrValue(b=value)
    if isinstance(value, int):
        return attr_value_pb2.AttrValue(i=value)
    if isinstance(value, float):
        return attr_value_pb2.AttrValue(f=value)
    if isinstance(value, tf.DType):
        return attr_value_pb2.AttrValue(type=value.as_datatype_enum)
    if not isinstance(value, str):
        value = json.dumps(value, sort_keys=True, default=str)
    return attr_value_pb2.AttrValue(s=value.encode())


def _value(attribute: Any) -> Any:
    kind = attribute.WhichOneof("value")
    if kind == "type":
        return tf.dtypes.as_dtype(attribute.type)
    value = getattr(attribute, kind)
    return value.decode() if kind == "s" else value
