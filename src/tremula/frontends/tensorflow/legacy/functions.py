"""Functions of TensorFlow 2.6 that later releases dropped."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v2 as tf
from tensorflow.python.eager.polymorphic_function import atomic_function
from tensorflow.python.ops import variables


def partitioned_call(
    args: Any,
    f: Any,
    tout: Any = None,
    executing_eagerly: bool | None = None,
    config: Any = None,
    executor_type: str | None = None,
) -> Any:
    """Call a function of the graph.

    Args:
        args: its arguments.
        f: the function: it has a `name`, and a `definition` unless `tout` is given.
        tout: the types of its results.
        executing_eagerly: ignored: calls in eager mode are made like those in graphs.
        config: serialized options of the optimizer of graphs.
        executor_type: the executor.

    Returns:
        the list of results; the operation, if there are none.
    """
    if tout is None:
        tout = [result.type for result in f.definition.signature.output_arg]
    add = getattr(f, "add_to_graph", None)
    if add is not None:
        add(tf.compat.v1.get_default_graph())
    types = [tf.dtypes.as_dtype(dtype).as_datatype_enum for dtype in tout]
    stateful = bool(getattr(f, "stateful_ops", None))
    op = atomic_function.partitioned_call_op(f.name, args, stateful, types, config, executor_type)
    return list(op.outputs) if op.outputs else op


def install_initialized_value() -> None:
    """Let `Variable.initialized_value()` give the value that a variable has after its initializer has run."""

    def initialized_value(self: Any) -> Any:
        if tf.executing_eagerly() or tf.inside_function():
            return self.read_value()
        return tf.cond(
            tf.compat.v1.is_variable_initialized(self), self.read_value, lambda: self.initial_value
        )

    variables.Variable.initialized_value = initialized_value
