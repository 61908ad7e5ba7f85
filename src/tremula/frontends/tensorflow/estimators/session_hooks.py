"""A hook that writes values of a program to the log."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow.compat.v2 as tf
from tensorflow.python.platform import tf_logging
from tensorflow.python.training import basic_session_run_hooks

from tremula.frontends.tensorflow.feeds.outfeed import IPUOutfeedMode, IPUOutfeedQueue

_CPU = "/device:CPU:0"


class IPULoggingTensorHook(tf.compat.v1.train.SessionRunHook):
    """Writes tensors of a program to the log, at INFO. The program gives them to `log`.

    Args:
        every_n_iter: write them in the first of every N runs of the session; or:
        every_n_secs: every N seconds.
        at_end: write them when the session ends.
        formatter: makes the line of a dictionary of names and values.
        logging_mode: whether the last values are written, or all since the last time.

    Raises:
        ValueError: both numbers are given; or none, and the end is not wanted either.
    """

    LoggingMode = IPUOutfeedMode

    def __init__(
        self,
        every_n_iter: int | None = None,
        every_n_secs: float | None = None,
        at_end: bool = False,
        formatter: Callable[[dict[str, Any]], str] | None = None,
        logging_mode: IPUOutfeedMode = IPUOutfeedMode.LAST,
    ) -> None:
        if every_n_iter is not None and every_n_secs is not None:
            raise ValueError("Cannot provide both every_n_iter and every_n_secs: choose one of them.")
        if every_n_iter is None and every_n_secs is None and not at_end:
            raise ValueError("Either every_n_iter, every_n_secs or at_end should be provided.")
        self._timer = (
            basic_session_run_hooks.NeverTriggerTimer()
            if every_n_iter is None and every_n_secs is None
            else basic_session_run_hooks.SecondOrStepTimer(every_secs=every_n_secs, every_steps=every_n_iter)
        )
        self._at_end = at_end
        self._formatter = formatter
        self._outfeed = IPUOutfeedQueue(logging_mode)
        self._values: Any = None
        self._delete: Any = None
        self._runs = 0
        #: whether the program has given values that are not written yet
        self._waiting = False

    def log(self, tensors: Any) -> Any:
        """The operation that gives tensors to the hook. Make it a dependency of what the program computes.

        Args:
            tensors: one tensor, a list, or a dictionary by name.

        Raises:
            RuntimeError: this hook was given tensors in the same graph before.
            TypeError: something else than a tensor.
        """
        if self._outfeed.enqueued:
            raise RuntimeError(
                "Cannot use this hook object's log function more than once. Give it all tensors in one list or "
                "dictionary, or create another hook."
            )
        if isinstance(tensors, dict):
            return self._outfeed.enqueue(tensors)
        listed = tensors if isinstance(tensors, (list, tuple)) else [tensors]
        for tensor in listed:
            if not tf.is_tensor(tensor):
                raise TypeError(f"Expected `tf.Tensor`, got {type(tensor)}.")
        return self._outfeed.enqueue({tensor.name: tensor for tensor in listed})

    def begin(self) -> None:
        if not self._outfeed.enqueued:
            raise RuntimeError(
                "This logging hook receives no values from the program. Did you forget to call the log function?"
            )
        with tf.device(_CPU):
            self._values = self._outfeed.dequeue()
            self._delete = self._outfeed.deleter
        self._runs = 0
        self._waiting = False

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self._waiting = True
        if self._timer.should_trigger_for_step(self._runs):
            self._write(run_context.session)
        self._runs += 1

    def end(self, session: Any) -> None:
        if self._at_end and self._waiting:
            self._write(session)
        session.run(self._delete)
        self._values = self._delete = None
        self._timer.reset()

    def _write(self, session: Any) -> None:
        values = session.run(self._values)
        self._waiting = False
        seconds, _ = self._timer.update_last_triggered_step(self._runs)
        with np.printoptions(suppress=True):
            if self._formatter is not None:
                tf_logging.info(self._formatter(values))
                return
            text = ", ".join(f"{name} = {value}" for name, value in values.items())
        if seconds is None:
            tf_logging.info("%s", text)
        else:
            tf_logging.info("%s (%.3f sec)", text, seconds)
