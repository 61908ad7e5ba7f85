"""Arrays as the data of a device program: each step takes its samples from them.

All samples are arguments of the program, and so is the order in which an epoch takes them. This costs a gather for each
step and neither a queue nor a thread, which is the fastest on a host.
"""

from __future__ import annotations

import copy
from typing import Any

import tensorflow.compat.v2 as tf
from tensorflow.python.framework import composite_tensor, type_spec

from tremula.frontends.tensorflow.feeds import checks
from tremula.frontends.tensorflow.keras.user_errors import at_line
from tremula.frontends.tensorflow.ops import facts
from tremula.frontends.tensorflow.replicas import collectives, context


class ArrayFeed(composite_tensor.CompositeTensor):  # type: ignore[misc]
    """The samples of one epoch after the other; an argument of programs.

    Args:
        samples: a structure of tensors with one sample per row.
        batch_size: the samples of a batch.
        batches: the batches of an epoch.
        shuffle: whether each epoch has an order of its own; then `next_epoch` comes before the first one, too.
    """

    def __init__(self, samples: Any, batch_size: int, batches: int, shuffle: bool) -> None:
        flat = [tf.convert_to_tensor(tensor) for tensor in tf.nest.flatten(samples)]
        _check_types(flat)
        self._structure = tf.nest.map_structure(lambda _: 0, samples)
        self._flat = flat
        self._batch_size, self._shuffle = batch_size, shuffle
        self._unshuffled = tf.range(batches * batch_size if shuffle else 0)
        self._order = self._unshuffled
        self._first = tf.constant(0)
        shapes = tuple(tf.TensorSpec([None, *tensor.shape[1:]], tensor.dtype) for tensor in flat)
        self._spec = ArrayFeedSpec(self._structure, shapes, batch_size, shuffle)

    @property
    def batch_spec(self) -> Any:
        """The types of a batch."""
        specs = [tf.TensorSpec([self._batch_size, *tensor.shape[1:]], tensor.dtype) for tensor in self._flat]
        return tf.nest.pack_sequence_as(self._structure, specs)

    def next_epoch(self) -> None:
        """Start again from the first batch; with `shuffle`, in another order."""
        self._first = tf.constant(0)
        if self._shuffle:
            self._order = tf.random.shuffle(self._unshuffled)

    def at(self, step: int) -> ArrayFeed:
        """The feed for an execution that begins with this step of the epoch."""
        feed = copy.copy(self)
        feed._first = tf.constant(step, tf.int32)
        return feed

    def batch(self, step: Any) -> Any:
        """The batch of this replica in a step of the execution, inside a program."""
        number = (self._first + step) * context.replica_count()
        if context.replica_count() > 1:
            number += collectives.local_replication_index()
        taken = (
            self._gathered(number) if self._shuffle else [self._slice(part, number) for part in self._flat]
        )
        facts.record(taken, feed="infeed")
        return tf.nest.pack_sequence_as(self._structure, taken)

    def _gathered(self, number: Any) -> list[Any]:
        rows = tf.slice(self._order, [number * self._batch_size], [self._batch_size])
        return [tf.gather(tensor, rows) for tensor in self._flat]

    def _slice(self, tensor: Any, number: Any) -> Any:
        begin = tf.concat([[number * self._batch_size], tf.zeros([tensor.shape.rank - 1], tf.int32)], 0)
        return tf.slice(tensor, begin, [self._batch_size, *tensor.shape[1:]])

    @property
    def _type_spec(self) -> ArrayFeedSpec:
        return self._spec

    def _shape_invariant_to_type_spec(self, shape: Any) -> Any:
        raise NotImplementedError("The data of a model is not a variable of a loop.")


class ArrayFeedSpec(type_spec.TypeSpec):  # type: ignore[misc]
    """The type of an `ArrayFeed`: a program for it takes any number of samples."""

    __slots__ = ("_batch_size", "_shapes", "_shuffle", "_structure")

    def __init__(self, structure: Any, shapes: tuple[Any, ...], batch_size: int, shuffle: bool) -> None:
        self._structure, self._shapes = structure, shapes
        self._batch_size, self._shuffle = batch_size, shuffle

    @property
    def value_type(self) -> type:
        return ArrayFeed

    def _serialize(self) -> tuple[Any, ...]:
        return self._structure, self._shapes, self._batch_size, self._shuffle

    @property
    def _component_specs(self) -> tuple[Any, ...]:
        order = tf.TensorSpec([None], tf.int32)
        return order, tf.TensorSpec([], tf.int32), *self._shapes

    def _to_components(self, value: ArrayFeed) -> tuple[Any, ...]:
        return value._order, value._first, *value._flat

    def _from_components(self, components: Any) -> ArrayFeed:
        feed = ArrayFeed.__new__(ArrayFeed)
        feed._order, feed._first, *feed._flat = components
        feed._structure, feed._batch_size, feed._shuffle = self._structure, self._batch_size, self._shuffle
        feed._spec = self
        return feed


def _check_types(tensors: list[Any]) -> None:
    for index, tensor in enumerate(tensors):
        if tensor.dtype in checks.NOT_STREAMED:
            narrow = {tf.int64: "int32", tf.float64: "float32"}.get(tensor.dtype, "a numeric type of 32 bits")
            raise tf.errors.FailedPreconditionError(
                None,
                None,
                at_line(
                    f"Unsupported datatype {tensor.dtype.name} on index {index} of the model's data (shape "
                    f"{tensor.shape}): the device computes with at most 32 bits. Cast it before: "
                    f"`array.astype('{narrow}')`."
                ),
            )
