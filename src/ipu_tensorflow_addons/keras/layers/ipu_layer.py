"""The base of layers."""

from tremula.frontends.tensorflow.addons.layers.base import IPULayer

__all__ = ["IPULayer"]
