"""Hooks of an estimator's sessions: they start the infeed, count the steps, and say when a device runs."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow import devices
from tremula.frontends.tensorflow.device_errors import device_error
from tremula.telemetry.run_record import Entry

_CPU = "/device:CPU:0"


class InfeedHook(tf.compat.v1.train.SessionRunHook):
    """Starts an infeed queue with the session, and deletes it at the end.

    A session that ends with an error deletes its queues by itself.
    """

    def __init__(self, infeed: Any) -> None:
        self._infeed = infeed
        self._start: Any = None

    def begin(self) -> None:
        self._start = self._infeed.initializer

    def after_create_session(self, session: Any, coord: Any) -> None:
        session.run(self._start)

    def end(self, session: Any) -> None:
        session.run(self._infeed.deleter)


class StepsHook(tf.compat.v1.train.SessionRunHook):
    """Stops when the global step says that there were enough.

    Args:
        steps: how many steps to do from here; or:
        last_step: the global step to stop at, rounded up to a whole loop.
        advance: how many steps to count after each run. 0: the run counts them by itself. When a training session saves
            a checkpoint, they have to be counted, and other hooks may come before this one.

    Raises:
        ValueError: neither of the first two is given, or both.
    """

    def __init__(self, steps: int | None, last_step: int | None, advance: int = 0) -> None:
        if (steps is None) == (last_step is None):
            raise ValueError(
                "Say how many steps to run, by one of `steps` and `max_steps`: the device takes its elements from the "
                "dataset in loops and cannot run until the data end."
            )
        self._steps = steps
        self._last_step = last_step
        self._advance = advance
        self._before: Any = None
        self._after: Any = None

    def begin(self) -> None:
        self._before = self._after = tf.compat.v1.train.get_global_step()
        if self._advance:
            with tf.device(_CPU):
                self._after = self._before.assign_add(self._advance)

    def after_create_session(self, session: Any, coord: Any) -> None:
        if self._last_step is None:
            self._last_step = int(session.run(self._before)) + (self._steps or 0)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        step = run_context.session.run(self._after)
        if self._last_step is not None and step >= self._last_step:
            run_context.request_stop()


class DeviceHook(tf.compat.v1.train.SessionRunHook):
    """Takes the device before each run, and counts the run.

    Args:
        kind: which estimator this is.
        name: of its model.
        ordinal: the device.
        samples: how many each run takes.
    """

    def __init__(self, kind: str, name: str, ordinal: int, samples: int) -> None:
        self._kind = kind
        self._name = name
        self._ordinal = ordinal
        self._samples = samples
        self._entry: Entry | None = None
        self._started = 0.0

    def before_run(self, run_context: Any) -> None:
        if not devices.require_device(self._ordinal):
            raise device_error(
                "Devices are configured for compilation only (PRE_COMPILE), and an estimator needs results to "
                "continue. Choose another device_connection.type."
            )
        devices.name_program(self._name, self._ordinal)
        self._started = perf_counter()

    def after_run(self, run_context: Any, run_values: Any) -> None:
        if self._entry is None:
            self._entry = devices.wrapped(self._name, self._kind)
        devices.ran(self._entry, self._ordinal, perf_counter() - self._started, self._samples)
