"""Outfeed queues: what a loop on the device gives to the host.

In mode ALL, elements go into a named queue resource; in mode LAST, into named variables that the next element replaces.
Both are found by name, so that a program can be traced in one thread and read from another. With several replicas, an
element has one more axis in front (`replicas/lowering.py`).
"""

from __future__ import annotations

import collections
import itertools
import threading
import weakref
from collections.abc import Iterator
from enum import Enum
from typing import Any

import numpy as np
import tensorflow.compat.v2 as tf
from tensorflow.core.framework import attr_value_pb2
from tensorflow.python.framework import func_graph
from tensorflow.python.ops import gen_data_flow_ops, gen_resource_variable_ops

from tremula.frontends.tensorflow.config import active
from tremula.frontends.tensorflow.feeds import checks
from tremula.frontends.tensorflow.feeds.infeed import FEED_ATTRIBUTE
from tremula.frontends.tensorflow.replicas import context

_numbers = itertools.count()


class IPUOutfeedMode(Enum):
    """Which elements the host gets: all since it last asked, or the last one."""

    ALL = "all"
    LAST = "get_last"


class IPUOutfeedQueue:
    """Gives values from a device program to the host.

    Args:
        outfeed_mode: which elements `dequeue` gives; all by default.
        device_ordinal: the device; by default that of the strategy in scope.
        buffer_depth: recorded; how many elements the device may be ahead of the host.
        optimise_latency: recorded; transfers are not modelled packet by packet.
    """

    def __init__(
        self,
        outfeed_mode: IPUOutfeedMode | None = None,
        device_ordinal: int | None = None,
        buffer_depth: int = 3,
        optimise_latency: bool = False,
    ) -> None:
        mode = IPUOutfeedMode.ALL if outfeed_mode is None else outfeed_mode
        if not isinstance(mode, IPUOutfeedMode):
            raise ValueError(
                f"Expected `outfeed_mode` value to be of type `ipu_outfeed_queue.IPUOutfeedMode`, not {mode!r}."
            )
        if buffer_depth < 1:
            raise ValueError(f"Outfeed buffer depth cannot be less than 1, and it is {buffer_depth}.")
        self._outfeed_mode = mode
        self._device_ordinal = checks.device_ordinal(device_ordinal)
        self._buffer_depth = buffer_depth
        self._optimise_latency = optimise_latency
        self._feed_name = f"outfeed_{next(_numbers)}"
        self._structure: Any = None
        self._flat_types: list[Any] = []
        self._flat_shapes: list[Any] = []
        self._replicas: int | None = 1
        self._traced: context.Program | None = None
        self._operations: list[Any] = []
        self._enqueuing_thread: int | None = None
        self._enqueuing_default_graph: Any = None

    def enqueue(self, tensors: Any) -> Any:
        """The operation that gives `tensors` (one, a tuple, list or dictionary) to the host. Once in a program."""
        if self.enqueued:
            raise ValueError("An outfeed can only be enqueued once.")
        flat = [tf.convert_to_tensor(tensor) for tensor in tf.nest.flatten(tensors)]
        self._flat_types[:] = [tensor.dtype for tensor in flat]
        self._flat_shapes[:] = [tensor.shape for tensor in flat]
        self._traced = context.current()
        self._replicas = None if context.decided_late() else context.replica_count()
        checks.check_elements(self._flat_types, self._flat_shapes, "outfeed queue")
        self._structure = tf.nest.map_structure(lambda _: 0, tensors)
        with tf.device("/device:CPU:0"):
            if active.use_synthetic_data("outfeed"):
                operations = []  # nothing leaves the device
            else:
                operations = [self._put_all(flat)] if self._keeps_all else self._put_last(flat)
        for operation in operations:
            if operation is not None:
                operation._set_attr(FEED_ATTRIBUTE, attr_value_pb2.AttrValue(s=b"outfeed"))
        operation = tf.group(*operations)
        self._operations.append(operation)
        self._enqueuing_thread = threading.get_ident()
        self._enqueuing_default_graph = tf.compat.v1.get_default_graph()
        return operation

    def dequeue(self, wait_for_completion: bool = False) -> Any:
        """What the device has given since the last call (mode ALL: one axis more), or the last element (mode LAST)."""
        if not self.enqueued:
            if tf.executing_eagerly() and threading.get_ident() != self._enqueuing_thread:
                return []
            raise ValueError("Trying to dequeue an outfeed which has not been enqueued.")
        with tf.device("/device:CPU:0"):
            if self._keeps_all:
                flat = self._take_all_now() if tf.executing_eagerly() else self._take_all_in_graph()
            else:
                flat = self._take_last()
        return tf.nest.pack_sequence_as(self._structure, flat)

    @property
    def enqueued(self) -> bool:
        """Whether a program in the current graph gives values to this queue."""
        if self._enqueuing_thread is None:
            return False
        graphs = set()
        for operation in self._operations:
            graph = getattr(operation, "graph", self._enqueuing_default_graph)
            while graph is not None and id(graph) not in graphs:
                graphs.add(id(graph))
                graph = graph.outer_graph if isinstance(graph, func_graph.FuncGraph) else None
        same_thread = threading.get_ident() == self._enqueuing_thread
        current = tf.compat.v1.get_default_graph() if same_thread else self._enqueuing_default_graph
        return id(current) in graphs

    @property
    def deleter(self) -> Any:
        """The operation that deletes the queue with what is in it."""
        handles = (
            [self._queue()] if self._keeps_all else [self._last(i) for i in range(len(self._flat_types))]
        )
        destroy = gen_resource_variable_ops.destroy_resource_op
        return tf.group(*(destroy(handle, ignore_lookup_error=True) for handle in handles))

    def __iter__(self) -> Iterator[Any]:
        if not tf.executing_eagerly():
            raise RuntimeError("IPUOutfeedQueue can only be iterated over in eager mode.")
        if not self._keeps_all:
            raise RuntimeError("IPUOutfeedQueue can only be iterated over if its mode is IPUOutfeedMode.ALL.")
        return IPUOutfeedQueueIterator(self)

    @property
    def _keeps_all(self) -> bool:
        return self._outfeed_mode is IPUOutfeedMode.ALL

    def _queue(self) -> Any:
        return gen_data_flow_ops.fifo_queue_v2(
            component_types=self._flat_types,
            shapes=[],
            capacity=-1,
            shared_name=f"Outfeed with id={self._feed_name}",
        )

    def _last(self, index: int) -> Any:
        return gen_resource_variable_ops.var_handle_op(
            dtype=self._flat_types[index],
            shape=tf.TensorShape(None),
            shared_name=f"Outfeed with id={self._feed_name}, value {index}",
        )

    def _put_all(self, tensors: list[Any]) -> Any:
        return gen_data_flow_ops.queue_enqueue_v2(self._queue(), tensors)

    def _put_last(self, tensors: list[Any]) -> list[Any]:
        assign = gen_resource_variable_ops.assign_variable_op
        return [assign(self._last(index), tensor) for index, tensor in enumerate(tensors)]

    def _element_shape(self, index: int, replicas: int | None = None) -> Any:
        """The shape of an element, of unknown rank if the number of replicas is decided when the program runs."""
        replicas = replicas or self._replicas
        if replicas is None:
            return tf.TensorShape(None)
        return tf.TensorShape([replicas] if replicas > 1 else []).concatenate(self._flat_shapes[index])

    def _replicas_now(self) -> int:
        if self._replicas is None and self._traced is not None:
            return active.replica_count(self._traced.ipus, self._traced.ordinal)
        return self._replicas or 1

    def _take_all_now(self) -> list[Any]:
        queue = self._queue()
        count = int(gen_data_flow_ops.queue_size_v2(queue))
        taken = [gen_data_flow_ops.queue_dequeue_v2(queue, self._flat_types) for _ in range(count)]
        if not taken:
            return [
                tf.zeros([0, *self._element_shape(index).as_list()], dtype)
                for index, dtype in enumerate(self._flat_types)
            ]
        return [tf.stack(values) for values in zip(*taken, strict=True)]

    def _take_all_in_graph(self) -> list[Any]:
        queue = self._queue()
        count = gen_data_flow_ops.queue_size_v2(queue)

        def body(index: Any, *arrays: Any) -> tuple[Any, ...]:
            values = gen_data_flow_ops.queue_dequeue_v2(queue, self._flat_types)
            return index + 1, *(
                array.write(index, value) for array, value in zip(arrays, values, strict=True)
            )

        arrays = [
            tf.TensorArray(dtype, size=count, element_shape=self._element_shape(index))
            for index, dtype in enumerate(self._flat_types)
        ]
        _, *filled = tf.while_loop(
            lambda index, *_: index < count, body, [tf.constant(0), *arrays], parallel_iterations=1
        )
        if self._replicas is not None:
            return [array.stack() for array in filled]
        return [self._stacked(array, index, count) for index, array in enumerate(filled)]

    def _stacked(self, array: Any, index: int, count: Any) -> Any:
        """The elements of an array whose shape is known when it has one: without any, only the host knows it."""

        def empty() -> Any:
            shape = tf.numpy_function(
                lambda: np.array([0, *self._element_shape(index, self._replicas_now())], np.int32),
                [],
                tf.int32,
            )
            return tf.zeros(tf.ensure_shape(shape, [None]), self._flat_types[index])

        return tf.cond(tf.equal(count, 0), empty, array.stack)

    def _take_last(self) -> list[Any]:
        handles = [self._last(index) for index in range(len(self._flat_types))]
        if tf.executing_eagerly() and not all(
            gen_resource_variable_ops.var_is_initialized_op(handle) for handle in handles
        ):
            raise tf.errors.FailedPreconditionError(
                None,
                None,
                "Trying to get the last value from an outfeed queue that no program has given a value to since it was "
                "last read. Run the program first.",
            )
        read = gen_resource_variable_ops.read_variable_op
        values = [tf.identity(read(h, t)) for h, t in zip(handles, self._flat_types, strict=True)]
        with tf.control_dependencies(values):
            deleted = tf.group(
                *(gen_resource_variable_ops.destroy_resource_op(h, ignore_lookup_error=True) for h in handles)
            )
        with tf.control_dependencies([deleted] if deleted is not None else []):
            values = [tf.identity(value) for value in values]
        if not tf.executing_eagerly():
            for index, value in enumerate(values):
                value.set_shape(self._element_shape(index))
        return values


class IPUOutfeedQueueIterator(Iterator[Any]):
    """Gives the elements of an outfeed queue one by one, until there is none for now."""

    def __init__(self, outfeed_queue: IPUOutfeedQueue) -> None:
        self._outfeed_queue = outfeed_queue
        self._elements: collections.deque[Any] = collections.deque()

    def __iter__(self) -> IPUOutfeedQueueIterator:
        return self

    def __next__(self) -> Any:
        if not self._elements:
            with tf.init_scope():
                results = self._outfeed_queue.dequeue()
            flat = tf.nest.flatten(results)
            count = int(flat[0].shape[0]) if flat else 0
            self._elements.extend(
                tf.nest.pack_sequence_as(results, [value[index] for value in flat]) for index in range(count)
            )
        if not self._elements:
            raise StopIteration
        return self._elements.popleft()


class ScopedIPUOutfeedQueue(IPUOutfeedQueue):
    """An outfeed queue that is deleted with its object. In eager mode only."""

    def __init__(self, outfeed_mode: IPUOutfeedMode | None = None, device_ordinal: int | None = None) -> None:
        if not tf.executing_eagerly():
            raise RuntimeError("ScopedIPUOutfeedQueue can only be created in eager mode.")
        super().__init__(outfeed_mode=outfeed_mode, device_ordinal=device_ordinal)
        weakref.finalize(self, _delete_resources, self._feed_name, self._outfeed_mode, self._flat_types)


def _delete_resources(feed_name: str, mode: IPUOutfeedMode, types: list[Any]) -> None:
    queue = IPUOutfeedQueue(mode, 0)
    queue._feed_name, queue._flat_types = feed_name, types
    with tf.init_scope():
        if tf.executing_eagerly() and types:
            queue.deleter  # noqa: B018
