"""Dropout."""

from tremula.frontends.tensorflow.ops.dropout import dropout

__all__ = ["dropout"]
