"""Sessions of TensorFlow 1 style programs."""

from __future__ import annotations

import functools
from typing import Any

import tensorflow as tf
from tensorflow.core.protobuf import config_pb2
from tensorflow.python.client import session
from tensorflow.python.eager import context

from tremula.distributed import launch_environment

#: where several processes run a program: an op that waits for the others holds one of TensorFlow's threads
_WAITING_THREADS = 16


def install() -> None:
    """Ops whose device is an IPU are placed on the CPU, also in sessions."""
    _place_softly()
    stock = session.BaseSession.__init__

    @functools.wraps(stock)
    def with_soft_placement(self: Any, target: str = "", graph: Any = None, config: Any = None) -> None:
        options = config_pb2.ConfigProto()
        if isinstance(config, config_pb2.ConfigProto):
            options.CopyFrom(config)
        options.allow_soft_placement = True
        if launch_environment.instances() > 1 and not options.inter_op_parallelism_threads:
            options.inter_op_parallelism_threads = _WAITING_THREADS
        stock(self, target, graph, options)

    session.BaseSession.__init__ = with_soft_placement


def _place_softly() -> None:
    known = context.context_safe()
    if known is not None:
        tf.config.set_soft_device_placement(True)
        if known._context_handle is None:
            _add_threads(known)
        return
    # there is no context yet, and none is made now: a program may still turn eager execution off
    stock = context._create_context

    @functools.wraps(stock)
    def create() -> None:
        stock()
        context.context_safe()._soft_device_placement = True
        _add_threads(context.context_safe())

    context._create_context = create


def _add_threads(eager: Any) -> None:
    """Give a context that has not begun threads for ops that wait, unless the program chose a number."""
    if launch_environment.instances() > 1 and not eager._inter_op_parallelism_threads:
        eager._inter_op_parallelism_threads = _WAITING_THREADS
