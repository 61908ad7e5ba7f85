"""Dropout."""

from tremula.frontends.tensorflow.addons.layers.dropout import Dropout

__all__ = ["Dropout"]
