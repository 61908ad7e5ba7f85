"""State that lives as long as a loop on the device runs: accumulators of gradients.

Programs never see it: it is no `tf.Variable`, and no collection or checkpoint has it. It is made and set to zero just
before the loop begins.
"""

from __future__ import annotations

import itertools
from typing import Any

import tensorflow.compat.v2 as tf
from tensorflow.python.framework import func_graph
from tensorflow.python.ops import control_flow_v2_func_graphs, gen_resource_variable_ops

from tremula.frontends.tensorflow.ops import facts
from tremula.frontends.tensorflow.pipeline.facts import OWN_STATE

_numbers = itertools.count()


class Loop:
    """The loop whose body is being traced.

    Args:
        body: the graph of the body.
    """

    def __init__(self, body: Any) -> None:
        self._body = body

    @property
    def counter(self) -> Any:
        """The number of the iteration, from 0."""
        return tf.cast(self._body.inputs[0], tf.int32)

    def state(self, shape: Any, dtype: Any) -> State:
        """A new tensor that iterations pass on; zeros before the first one."""
        # the graph in which the loop is: what is made there now comes before the loop
        with self._body.outer_graph.as_default(), tf.control_dependencies(None):
            return State(tf.TensorShape(shape), dtype)


class State:
    """A tensor that iterations of a loop pass on."""

    def __init__(self, shape: Any, dtype: Any) -> None:
        self._shape, self._dtype = shape, dtype
        self._handle = gen_resource_variable_ops.var_handle_op(
            dtype=dtype, shape=shape, shared_name=f"loop state {next(_numbers)}"
        )
        facts.record(self._handle, **{OWN_STATE: True})
        self.assign(tf.zeros(shape, dtype))

    def read(self) -> Any:
        """The value now."""
        value = gen_resource_variable_ops.read_variable_op(self._handle, self._dtype)
        value.set_shape(self._shape)
        return value

    def assign(self, value: Any) -> Any:
        """Replace the value; gives the operation."""
        return gen_resource_variable_ops.assign_variable_op(self._handle, value)

    def assign_add(self, value: Any) -> Any:
        """Add to the value; gives the operation."""
        return gen_resource_variable_ops.assign_add_variable_op(self._handle, value)


def current_loop() -> Loop | None:
    """The innermost loop that is being traced, in a function; None if there is none."""
    graph = tf.compat.v1.get_default_graph()
    while isinstance(graph, func_graph.FuncGraph):
        if isinstance(graph, control_flow_v2_func_graphs.WhileBodyFuncGraph):
            inside = isinstance(graph.outer_graph, func_graph.FuncGraph)
            return Loop(graph) if inside else None
        graph = graph.outer_graph
    return None
