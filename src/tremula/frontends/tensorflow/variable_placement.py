"""Where variables of a graph are initialised."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v2 as tf
from tensorflow.core.framework import attr_value_pb2
from tensorflow.python.distribute import values

_CPU = "/device:CPU:0"


def move_variable_initialization_to_cpu(graph: Any = None) -> None:
    """Compute the initial values of all variables of a graph on the CPU.

    Ops that read a variable stay where they are, since they must be where it is. Variables of a distribution strategy
    are left alone.

    Args:
        graph: the graph; the default one, if None.
    """
    graph = graph or tf.compat.v1.get_default_graph()
    with graph.as_default(), tf.device(_CPU):
        tf.no_op(name="cpu")
    variables = graph.get_collection(tf.compat.v1.GraphKeys.GLOBAL_VARIABLES)
    waiting = [
        variable.initializer.inputs[1].op
        for variable in variables
        if not isinstance(variable, values.DistributedVariable)
    ]
    seen = set()
    while waiting:
        op = waiting.pop()
        if op in seen or any(each.dtype == tf.resource for each in op.inputs):
            continue
        seen.add(op)
        waiting += [each.op for each in op.inputs]
        _put_on_cpu(op)


def _put_on_cpu(op: Any) -> None:
    op._set_device(_CPU)
    op._set_attr("_class", attr_value_pb2.AttrValue(list=attr_value_pb2.AttrValue.ListValue(s=[b"loc:@cpu"])))
    op._set_attr("_XlaCompile", attr_value_pb2.AttrValue(b=False))
    op._set_attr("_XlaScope", attr_value_pb2.AttrValue(s=b""))
