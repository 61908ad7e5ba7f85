"""How many replicas the program that is being traced will have."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import tensorflow as tf

from tremula.frontends.tensorflow.config import active

_local = threading.local()


@dataclass
class Program:
    """A program that is being traced.

    Attributes:
        replicas: how many there are, as far as is known by now.
        ordinal: the number of the device.
        exact: whether the number of replicas was given and stays.
        ipus: how many IPUs one replica uses, as far as is known by now.
    """

    replicas: int
    ordinal: int
    exact: bool
    ipus: int = 1


@contextmanager
def program(replicas: int, ordinal: int = 0, *, exact: bool = False) -> Iterator[Program]:
    """While a program for so many replicas of a device is traced."""
    before = getattr(_local, "programs", ())
    traced = Program(replicas, ordinal, exact)
    _local.programs = (*before, traced)
    try:
        yield traced
    finally:
        _local.programs = before


def in_program() -> bool:
    """Whether a program of the device is being traced."""
    return bool(getattr(_local, "programs", ()))


def replica_count() -> int:
    """The replicas of the program that is being traced; outside of one, as many as the first device has room for."""
    programs = getattr(_local, "programs", ())
    return programs[-1].replicas if programs else active.replica_count()


def alone() -> bool:
    """Whether a program is being traced that has one replica and will have no more."""
    return in_program() and replica_count() == 1


def need_ipus(ipus: int) -> None:
    """Say that one replica of the program that is being traced uses so many IPUs; then there are fewer replicas.

    Call it before ops are made that depend on the number of replicas.

    Raises:
        DeviceError: the device has too few IPUs. Graphs of sessions may be built before IPUs are configured: there,
            nothing is raised.
    """
    programs = getattr(_local, "programs", ())
    if not programs or programs[-1].exact or ipus <= programs[-1].ipus:
        return
    traced = programs[-1]
    with tf.init_scope():
        now = tf.executing_eagerly()
    try:
        traced.replicas = active.replica_count(ipus, traced.ordinal)
    except tf.errors.OpError:
        if now:
            raise
        traced.replicas = 1
    traced.ipus = ipus
