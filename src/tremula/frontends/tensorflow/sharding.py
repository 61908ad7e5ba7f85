"""Which IPU of a replica an op is on: read and written as the `_XlaSharding` attribute of ops in a graph."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tensorflow.compat.v2 as tf
from tensorflow.compiler.xla import xla_data_pb2
from tensorflow.core.framework import attr_value_pb2
from tensorflow.python import pywrap_tfe
from tensorflow.python.eager import backprop, execute

ATTRIBUTE = "_XlaSharding"


def attribute(ipus: Iterable[int]) -> Any:
    """The attribute that puts an op on `ipus`."""
    proto = xla_data_pb2.OpSharding(type=xla_data_pb2.OpSharding.MAXIMAL, tile_assignment_devices=list(ipus))
    return attr_value_pb2.AttrValue(s=proto.SerializeToString())


def has_attr(o: Any, attr_name: str) -> bool:
    """Whether an op has an attribute."""
    return attr_name in o.node_def.attr


def get_sharding(op: Any) -> list[int] | None:
    """The IPUs that an op is on; None if nothing was said."""
    if not has_attr(op, ATTRIBUTE):
        return None
    proto = xla_data_pb2.OpSharding()
    proto.ParseFromString(op.get_attr(ATTRIBUTE))
    return list(proto.tile_assignment_devices)


def dependencies(roots: Iterable[Any]) -> set[Any]:
    """The operations that `roots` (tensors or operations) depend on, themselves included."""
    found: set[Any] = set()
    waiting = [getattr(root, "op", root) for root in roots]
    while waiting:
        op = waiting.pop()
        if op not in found:
            found.add(op)
            waiting.extend([tensor.op for tensor in op.inputs])
            waiting.extend(op.control_inputs)
    return found


def get_shard_from_colocation(op: Any) -> Any:
    """The sharding of an op that this one is colocated with or takes a tensor from; None if there is none."""
    for group in op.colocation_groups():
        try:
            other = op.graph.get_operation_by_name(group.decode().removeprefix("loc:@"))
        except KeyError:
            continue
        if has_attr(other, ATTRIBUTE):
            return other.get_attr(ATTRIBUTE)
    for tensor in op.inputs:
        if has_attr(tensor.op, ATTRIBUTE):
            return tensor.op.get_attr(ATTRIBUTE)
    return None


def propagate_sharding(g: Any) -> None:
    """Give ops of the backward pass the sharding of the forward ops that they are colocated with."""
    unplaced = [op for op in g.get_operations() if has_attr(op, "_class") and not has_attr(op, ATTRIBUTE)]
    while True:
        placed = []
        for op in unplaced:
            found = get_shard_from_colocation(op)
            if found is not None:
                op._set_attr(ATTRIBUTE, attr_value_pb2.AttrValue(s=found))
                placed.append(op)
        if not placed:
            return
        unplaced = [op for op in unplaced if op not in placed]


def enable_sharded_gradient_tape() -> None:
    """Let ops that `tf.GradientTape` makes for a backward pass be on the IPU of their forward op."""
    pywrap_tfe.TFE_Py_RegisterGradientFunction(_gradient_with_sharding)
    execute.record_gradient = _record_with_sharding


def _gradient_with_sharding(op_name: str, attributes: Any, *args: Any, **kwargs: Any) -> Any:
    if not attributes or len(attributes) < 2 or attributes[-2] != ATTRIBUTE:
        return backprop._gradient_function(op_name, attributes, *args, **kwargs)
    with tf.compat.v1.get_default_graph()._attr_scope({ATTRIBUTE: attributes[-1]}):
        return backprop._gradient_function(op_name, attributes[:-2], *args, **kwargs)


def _record_with_sharding(op_name: str, inputs: Any, attributes: Any, *args: Any, **kwargs: Any) -> Any:
    if not tf.executing_eagerly():
        shard = tf.compat.v1.get_default_graph()._attr_scope_map.get(ATTRIBUTE)
        if shard:
            attributes = (*(attributes or ()), ATTRIBUTE, shard)
    return backprop.record_gradient(op_name, inputs, attributes, *args, **kwargs)
