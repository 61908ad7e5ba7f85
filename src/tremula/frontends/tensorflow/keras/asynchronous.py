"""Asynchronous callbacks: a thread gives callbacks the results of each step while an execution runs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.stock_keras import keras

#: seconds between two looks at the queue
_PAUSE = 0.001


class AsynchronousCallbacks(keras.callbacks.CallbackList):  # type: ignore[misc]
    """Callbacks that hear of steps from `Deliveries` and not from Keras, which calls once per execution."""

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Nothing."""

    on_train_batch_end = on_test_batch_begin = on_test_batch_end = on_train_batch_begin
    on_predict_batch_begin = on_predict_batch_end = on_train_batch_begin

    def deliver(self, mode: str, step: int, logs: Any) -> None:
        """Tell the callbacks of one step: `mode` is train, test or predict."""
        stock = keras.callbacks.CallbackList
        getattr(stock, f"on_{mode}_batch_begin")(self, step)
        getattr(stock, f"on_{mode}_batch_end")(self, step, logs)


class Deliveries:
    """Gives the results of one execution to callbacks, step by step and replica by replica.

    Args:
        outfeed: the queue that the program gives results to.
        deliver: gets the number of a step and its results.
        first: the number of the first step.
        steps: how many steps there are.
        replicas: how many replicas give results for each.
    """

    def __init__(
        self, outfeed: Any, deliver: Callable[[int, Any], None], first: int, steps: int, replicas: int
    ) -> None:
        self._outfeed, self._deliver = outfeed, deliver
        self._next, self._end = first, first + steps
        self._replicas = replicas
        self._cancelled = threading.Event()
        self._problem: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="tremula-callbacks", daemon=True)

    def __enter__(self) -> Deliveries:
        self._thread.start()
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        if kind is not None:
            self._cancelled.set()
        self._thread.join()
        if kind is None and self._problem is not None:
            raise self._problem

    def _run(self) -> None:
        try:
            while self._next < self._end and not self._cancelled.is_set():
                if not self._take():
                    self._cancelled.wait(_PAUSE)
        except BaseException as problem:
            # it is raised again in the thread that runs the program
            self._problem = problem

    def _take(self) -> int:
        elements = self._outfeed.dequeue()
        flat = [tensor.numpy() for tensor in tf.nest.flatten(elements)]
        count = len(flat[0]) if flat else 0
        for index in range(count):
            rows = [array[index] for array in flat]
            for replica in range(self._replicas):
                values = rows if self._replicas == 1 else [row[replica] for row in rows]
                self._deliver(self._next, tf.nest.pack_sequence_as(elements, values))
            self._next += 1
        return count
