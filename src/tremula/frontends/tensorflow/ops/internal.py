"""Small operations of the device: printing, remapping, first-in-first-out queues, barriers, the iteration counter."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import tensorflow.compat.v2 as tf
from tensorflow.python.ops import gen_data_flow_ops

from tremula import log
from tremula.frontends.tensorflow.ops import facts
from tremula.frontends.tensorflow.replicas.analysis import OWN_STATE_ATTRIBUTE

_queues = itertools.count()
_local = threading.local()


def remap(x: Any, name: str | None = None) -> Any:
    """A copy of `x` that the device spreads evenly over its tiles: a fact for the chip model."""
    return facts.record(tf.identity(x, name=name or "remap"), mapping="linear")


def remap_deduce(x: Any, name: str | None = None) -> Any:
    """A copy of `x` whose place the device decides anew: a fact for the chip model."""
    return facts.record(tf.identity(x, name=name or "remap_deduce"), mapping="deduced")


def print_tensor(input: Any, name: str = "") -> Any:
    """An operation that prints a tensor to standard error when it is executed.

    Args:
        input: the tensor.
        name: printed in front of it.
    """
    tensor = tf.convert_to_tensor(input)
    label = name or ("" if hasattr(tensor, "numpy") else tensor.op.name)

    def write(value: Any) -> None:
        stream = log.stderr()
        if stream is not None:
            text = np.array2string(
                np.asarray(value), precision=4, threshold=1000, edgeitems=3, max_line_width=80
            )
            stream.write(f"{label}: {text}\n")
            stream.flush()

    with tf.device("/device:CPU:0"):
        return tf.numpy_function(write, [tensor], [], name="print_tensor")


def fifo(x: Any, depth: int, offload: bool = False, name: str | None = None) -> Any:
    """A queue on the device: gives what `x` was `depth` executions ago, and zeros before that.

    Args:
        x: the tensor that goes in.
        depth: how many executions it stays. With less than 1, `x` itself is given.
        offload: whether the queue lies in streaming memory: a fact for the chip model.
        name: of the op.
    """
    if depth < 1:
        return x
    x = tf.stop_gradient(tf.convert_to_tensor(x))
    with tf.name_scope(name or "fifo"), tf.device("/device:CPU:0"):
        result = _pass_through(x, int(depth), bool(offload), f"fifo {next(_queues)}")
    result.set_shape(x.shape)
    return result


def _pass_through(x: Any, depth: int, offload: bool, queue_name: str) -> Any:
    """Put `x` into a queue, and take the oldest element out once there are more than `depth`."""
    queue = gen_data_flow_ops.fifo_queue_v2(
        component_types=[x.dtype], shapes=[], capacity=-1, shared_name=queue_name
    )
    facts.record(queue, fifo_depth=depth, offload=offload)
    facts.record(queue, **{OWN_STATE_ATTRIBUTE.removeprefix(facts.PREFIX): True})
    held = gen_data_flow_ops.queue_size_v2(queue)
    with tf.control_dependencies([held]):
        put = gen_data_flow_ops.queue_enqueue_v2(queue, [x])
    after = [] if put is None else [put]

    def take() -> Any:
        with tf.control_dependencies(after):
            (oldest,) = gen_data_flow_ops.queue_dequeue_v2(queue, component_types=[x.dtype])
        return tf.reshape(oldest, tf.shape(x))

    with tf.control_dependencies(after):
        return tf.cond(held >= depth, take, lambda: tf.zeros_like(x))


def barrier(tensors: Any, insert_barrier_for_gradients: bool = False, name: str | None = None) -> Any:
    """The same tensors, usable only when all of them have been computed.

    Args:
        tensors: a tensor or a structure of them.
        insert_barrier_for_gradients: put a barrier between their gradients too.
        name: of the op.
    """
    flat = [tf.convert_to_tensor(tensor) for tensor in tf.nest.flatten(tensors)]
    label = name or "barrier"
    if not insert_barrier_for_gradients:
        passed = tf.tuple(flat, name=label)
    else:

        @tf.custom_gradient
        def both_ways(*values: Any) -> Any:
            return tf.tuple(list(values), name=label), lambda *grads: tf.tuple(
                list(grads), name=f"{label}_grad"
            )

        passed = both_ways(*flat)
    return tf.nest.pack_sequence_as(tensors, passed)


@contextmanager
def counting(counter: Any) -> Iterator[None]:
    """While the body of a loop is traced whose micro-batches `counter` numbers from 0 in each weight update."""
    before = getattr(_local, "counter", None)
    _local.counter = counter
    try:
        yield
    finally:
        _local.counter = before


def get_current_iteration_counter(name: str | None = None, **kwargs: Any) -> Any:
    """Which micro-batch of the weight update the pipeline is at, a scalar in int32. Outside of a pipeline it is 0.

    Args:
        name: of the op.
        kwargs: `lower_into_pipeline_stage`, a fact for the chip model.
    """
    lower = bool(kwargs.get("lower_into_pipeline_stage", False))
    counter = getattr(_local, "counter", None)
    value = tf.identity(
        tf.cast(0 if counter is None else counter, tf.int32), name=name or "execution_counter"
    )
    return facts.record(value, lower_into_pipeline_stage=lower)
