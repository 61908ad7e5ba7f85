"""Loops on the device."""

from tremula.frontends.tensorflow.feeds.infeed import body_arguments as _body_arguments
from tremula.frontends.tensorflow.loops import repeat, while_loop

__all__ = ["repeat", "while_loop"]
