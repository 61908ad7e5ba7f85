"""`gen_pop_datastream_ops`: outfeeds by name, without a queue object."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.feeds.outfeed import IPUOutfeedMode, IPUOutfeedQueue


class _NamedOutfeed(IPUOutfeedQueue):
    """An outfeed that has its name, types and shapes from the program."""

    def __init__(self, feed_id: str, mode: str, types: Sequence[Any], shapes: Sequence[Any]) -> None:
        super().__init__(IPUOutfeedMode(mode), device_ordinal=0)
        self._feed_name = f"named {feed_id}"
        self._flat_types[:] = [tf.as_dtype(dtype) for dtype in types]
        self._flat_shapes[:] = [tf.TensorShape(shape) for shape in shapes]
        self._structure = [0] * len(self._flat_types)

    @property
    def enqueued(self) -> bool:
        """A name may be used by several ops."""
        return False

    def take(self) -> list[Any]:
        """What was given, for each tensor."""
        with tf.device("/device:CPU:0"):
            if not self._keeps_all:
                return self._take_last()
            return self._take_all_now() if tf.executing_eagerly() else self._take_all_in_graph()


def pop_datastream_outfeed_enqueue(
    inputs: Sequence[Any],
    output_shapes: Sequence[Any],
    feed_id: str,
    outfeed_mode: str = "all",
    prefetch_depth: int = 1,
    optimise_latency: bool = False,
    name: str | None = None,
) -> Any:
    """The operation that gives tensors to the outfeed of a name."""
    tensors = [tf.convert_to_tensor(value) for value in inputs]
    with tf.name_scope(name or "outfeed_enqueue"):
        return _NamedOutfeed(feed_id, outfeed_mode, [t.dtype for t in tensors], output_shapes).enqueue(
            tensors
        )


def pop_datastream_outfeed_dequeue(
    output_types: Sequence[Any],
    output_shapes: Sequence[Any],
    feed_id: str,
    device_ordinal: int = 0,
    outfeed_mode: str = "all",
    prefetch_depth: int = 1,
    warn_when_unconnected: bool = True,
    optimise_latency: bool = False,
    name: str | None = None,
) -> list[Any]:
    """What the outfeed of a name was given: all elements since the last time, stacked, or the last one."""
    with tf.name_scope(name or "outfeed_dequeue"):
        return _NamedOutfeed(feed_id, outfeed_mode, output_types, output_shapes).take()


def ipu_delete_outfeed(
    feed_id: str,
    device_ordinal: int = 0,
    asynchronous: bool = False,
    name: str | None = None,
) -> Any:
    """The operation that deletes the outfeed of a name."""
    with tf.name_scope(name or "outfeed_delete"):
        return _NamedOutfeed(feed_id, "all", [tf.float32], [[]]).deleter
