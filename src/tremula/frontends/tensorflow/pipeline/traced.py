"""A Python function as a function of the graph that is being built, traced before it is known where it is called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v2 as tf
from tensorflow.python.framework import func_graph as func_graphs
from tensorflow.python.ops import control_flow_util_v2, gen_functional_ops


class Traced:
    """Traces `build` with arguments of these types.

    Unlike a `tf.function`, it may capture tensors of a function that is being traced too, and get other tensors for
    them when it is called (`call`).

    Args:
        name: of the function in the graph.
        build: gives a flat list of tensors.
        specs: of its arguments.
    """

    def __init__(self, name: str, build: Callable[..., Sequence[Any]], specs: Sequence[Any]) -> None:
        outer = tf.compat.v1.get_default_graph()
        self._arguments = len(specs)
        self._function_name: str | None = None
        self.graph = func_graphs.func_graph_from_py_func(
            control_flow_util_v2.unique_fn_name(outer.get_name_scope(), name),
            lambda *args: list(build(*args)),
            list(specs),
            {},
            add_control_dependencies=True,
        )

    @property
    def captures(self) -> list[Any]:
        """The tensors from outside that it uses."""
        return list(self.graph.external_captures)

    def move_to(self, graph: Any) -> None:
        """Make it callable in this graph and those inside it. Needed if it captures tensors that are not there."""
        self.graph.outer_graph = graph

    def add_output(self, tensor: Any) -> int:
        """Let a call also give this tensor of the function; the index among the outputs."""
        self.graph.outputs.append(tensor)
        return len(self.graph.outputs) - 1

    def call(self, args: Sequence[Any], captures: Sequence[Any] | None = None) -> tuple[list[Any], Any]:
        """The outputs for these arguments, and the operation that computes them.

        Args:
            args: the arguments.
            captures: what to use for each captured tensor; those tensors themselves by default.
        """
        if self._function_name is None:
            self._function_name = control_flow_util_v2.create_new_tf_function(self.graph)
        inputs = [*args, *(self.captures if captures is None else captures)]
        outputs = gen_functional_ops.stateful_partitioned_call(
            args=inputs, Tout=[tensor.dtype for tensor in self.graph.outputs], f=self._function_name
        )
        if isinstance(outputs, tf.Operation):
            return [], outputs
        for result, tensor in zip(outputs, self.graph.outputs, strict=True):
            result.set_shape(tensor.shape)
        return list(outputs), outputs[0].op
