"""Barriers."""

from tremula.frontends.tensorflow.ops.internal import barrier

__all__ = ["barrier"]
