"""Compiled computations in graphs."""

from tremula.frontends.tensorflow.compiler import compile

__all__ = ["compile"]
