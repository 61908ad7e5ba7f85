"""Errors of devices as TensorFlow programs catch them: of the classes in `tf.errors`, with the machine's text."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import tensorflow.compat.v2 as tf

from tremula.errors import Error, RecoverableError, UnrecoverableError


class DeviceError(tf.errors.InternalError):
    """An IPU is not there, not free, or has failed."""


class BadData(tf.errors.InvalidArgumentError, ValueError):
    """Data do not fit. A ValueError too, so that TensorFlow passes it on from a graph as the first."""

    def __init__(self, message: str) -> None:
        super().__init__(None, None, message)


def device_error(message: str) -> DeviceError:
    """The error to raise."""
    return DeviceError(None, None, message)


@contextlib.contextmanager
def as_tensorflow(stage: str = "") -> Iterator[None]:
    """Pass errors of the machine on as TensorFlow's; faults name the `stage` in which they came."""
    try:
        yield
    except (RecoverableError, UnrecoverableError) as problem:
        kind = problem.type.removeprefix("poplar_")
        raise device_error(f"[Poplar][{stage or 'Execute'}] {kind}: {problem.message}") from problem
    except Error as problem:
        raise device_error(problem.message) from problem
