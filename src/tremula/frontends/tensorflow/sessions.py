"""Sessions of TensorFlow 1 style programs."""

from __future__ import annotations

import functools
from typing import Any

import tensorflow as tf
from tensorflow.core.protobuf import config_pb2
from tensorflow.python.client import session
from tensorflow.python.eager import context


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
        stock(self, target, graph, options)

    session.BaseSession.__init__ = with_soft_placement


def _place_softly() -> None:
    if context.context_safe() is not None:
        tf.config.set_soft_device_placement(True)
        return
    # there is no context yet, and none is made now: a program may still turn eager execution off
    stock = context._create_context

    @functools.wraps(stock)
    def create() -> None:
        stock()
        context.context_safe()._soft_device_placement = True

    context._create_context = create
