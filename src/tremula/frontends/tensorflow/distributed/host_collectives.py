"""Collectives between the processes of a run, on the host.

An exchange is found by its name, so processes may begin theirs in different orders. In a graph it is two ops. The first
sends and never waits; it is stateful, so it runs whenever the graph runs. The second waits for the others; it is not
stateful, so that TensorFlow does not order it after other waiting ops. An op that waits holds one of TensorFlow's
threads; `sessions.py` adds some. The sender of a broadcast in a graph does not wait at all, so that any number of
variables can be initialised at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow.compat.v2 as tf

from tremula.distributed import launch_environment
from tremula.errors import Error

_ONE_NAME = "Default"


def allgather(value: Any, tensor_name: str | None = None) -> Any:
    """The values of all processes, stacked.

    Args:
        value: of the same type and shape on all of them.
        tensor_name: the name of the exchange; by default from the name of the tensor in a graph.

    Raises:
        UnknownError: types or shapes differ, or a process is missing.
    """
    value = tf.convert_to_tensor(value)
    name = tensor_name or _name("PopDistAllGather", value)
    return exchange(value, name, "stack", [launch_environment.instances(), *value.shape])


def allreduce(value: Any, reduce_op: Any, tensor_name: str | None = None) -> Any:
    """The sum or mean of a value over all processes.

    Args:
        value: of the same type and shape on all of them.
        reduce_op: a `tf.distribute.ReduceOp`.
        tensor_name: the name of the exchange; by default from the name of the tensor in a graph.

    Raises:
        ValueError: another kind of reduction.
        UnknownError: types or shapes differ, or a process is missing.
    """
    if reduce_op not in (tf.distribute.ReduceOp.SUM, tf.distribute.ReduceOp.MEAN):
        raise ValueError(f"Unsupported reduce op: {reduce_op}. Processes reduce by SUM or MEAN.")
    value = tf.convert_to_tensor(value)
    total = exchange(value, tensor_name or _name("PopDistAllReduce", value), "sum", value.shape)
    if reduce_op == tf.distribute.ReduceOp.SUM:
        return total
    count = launch_environment.instances()
    return (
        total / tf.cast(count, total.dtype)
        if total.dtype.is_floating
        else total // tf.cast(count, total.dtype)
    )


def broadcast(value: Any, root_rank: int = 0, tensor_name: str | None = None) -> Any:
    """The value of one process, on all of them.

    Args:
        value: of the same type and shape on all of them.
        root_rank: the process whose value it is.
        tensor_name: the name of the exchange; by default from the name of the tensor in a graph.

    Raises:
        UnknownError: types or shapes differ, or a process is missing.
    """
    value = tf.convert_to_tensor(value)
    name = tensor_name or _name("PopDistBroadcast", value)
    return exchange(value, name, "broadcast", value.shape, root_rank)


def exchange(value: Any, name: str, kind: str, shape: Any, root: int = 0) -> Any:
    """An exchange of `named_exchange.py` as ops; with one process, what it gives there.

    Args:
        value: a tensor.
        name: of the exchange.
        kind: of the exchange.
        shape: of the result.
        root: the process that a broadcast comes from.
    """
    if launch_environment.instances() == 1:
        return value[tf.newaxis] if kind == "stack" else tf.identity(value)
    post, collect = _steps(name, kind, root, checked=tf.executing_eagerly())
    if tf.executing_eagerly():
        try:
            return tf.constant(collect(post(value.numpy())), value.dtype)
        except Error as problem:
            raise tf.errors.UnknownError(None, None, str(problem)) from problem
    with tf.device("/device:CPU:0"):
        ticket = tf.numpy_function(post, [value], tf.int64, name=f"{kind}_post")
        result = tf.numpy_function(collect, [ticket], value.dtype, stateful=False, name=f"{kind}_collect")
    result.set_shape(shape)
    return result


def _steps(
    name: str, kind: str, root: int, *, checked: bool
) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    def post(value: Any) -> Any:
        # here, because torch is imported with it
        from tremula.distributed import named_exchange

        return np.int64(named_exchange.exchange().post(name, value, kind, root, checked=checked))

    def collect(ticket: Any) -> Any:
        from tremula.distributed import named_exchange

        return named_exchange.exchange().collect(int(ticket))

    return post, collect


def _name(operation: str, value: Any) -> str:
    """The name of an exchange: that of a tensor in a graph; eager tensors have none."""
    return normalized(operation, value) if not tf.executing_eagerly() else _ONE_NAME


def normalized(operation: str, value: Any) -> str:
    """The name of a tensor of a graph, in letters, digits and underscores."""
    return f"{operation}_{re.sub('[^a-zA-Z0-9_]', '_', value.name)}"
