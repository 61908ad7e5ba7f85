"""Copies of ops and functions in the graph that is being built."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v2 as tf
from tensorflow.core.framework import attr_value_pb2
from tensorflow.python.framework import func_graph as func_graphs
from tensorflow.python.ops import control_flow_util_v2, handle_data_util

from tremula.frontends.tensorflow.replicas import analysis
from tremula.frontends.tensorflow.replicas.collectives import COLLECTIVE_ATTRIBUTE

#: names of other ops mean nothing in another graph
_DROPPED = frozenset({"_class", "_output_shapes"})
#: spreads the numbers of replicas over seeds
_SEED_STEP = 0x9E3779B1


def copy_op(op: Any, inputs: Sequence[Any], waits: Sequence[Any], replica: int | None = None) -> Any:
    """A copy of `op` in the current graph; with `replica`, its random stream or state is that replica's."""
    graph = tf.compat.v1.get_default_graph()
    attributes = {
        key: value
        for key, value in op.node_def.attr.items()
        if key not in _DROPPED and key != COLLECTIVE_ATTRIBUTE
    }
    if replica and analysis.has_own_state(op):
        own = attributes["shared_name"].s + f", replica {replica}".encode()
        attributes["shared_name"] = attr_value_pb2.AttrValue(s=own)
    elif replica and (attributes["seed"].i or attributes["seed2"].i):
        seed = (attributes["seed2"].i + replica * _SEED_STEP) & 0x7FFFFFFF
        attributes["seed2"] = attr_value_pb2.AttrValue(i=seed or 1)
    for name in analysis.function_names(op):
        # a session knows the functions of its own graph alone
        function = _find_function(op.graph, name)
        if function is not None:
            graph._add_function_recursive(function)
    with tf.control_dependencies(list(waits)), tf.device(op.device or None):
        made = graph._create_op_internal(
            op.type, list(inputs), [t.dtype for t in op.outputs], name=last_name(op), attrs=attributes,
            op_def=op.op_def,
        )  # fmt: skip
    for source, target in zip(op.outputs, made.outputs, strict=True):
        handle_data_util.copy_handle_data(source, target)
    return made


def _find_function(graph: Any, name: str) -> Any:
    """A function that an op of a graph calls, from the graph or one around it; None if no graph has it."""
    while graph is not None:
        function = graph._get_function(name)
        if function is not None:
            return function
        graph = getattr(graph, "outer_graph", None)
    return None


def last_name(op: Any) -> str:
    """The last part of an op's name; a name may not begin with an underscore."""
    return op.name.rpartition("/")[2].lstrip("_") or op.type


def build_function(name: str, build: Callable[..., Any], like: Sequence[Any]) -> Any:
    """A function of the graph that is built by `build`, for arguments like these."""
    graph = func_graphs.func_graph_from_py_func(
        control_flow_util_v2.unique_fn_name(tf.compat.v1.get_default_graph().get_name_scope(), name),
        lambda *tensors: _with_handles(build, like, tensors),
        [tf.TensorSpec(tensor.shape, tensor.dtype) for tensor in like],
        {},
        add_control_dependencies=True,
    )
    return control_flow_util_v2.create_new_tf_function(graph)


def _with_handles(build: Callable[..., Any], like: Sequence[Any], tensors: Sequence[Any]) -> Any:
    for source, target in zip(like, tensors, strict=True):
        handle_data_util.copy_handle_data(source, target)
    return build(*tensors)
