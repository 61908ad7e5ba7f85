"""Conversion of 8 bit floats."""

from tremula.frontends.tensorflow.addons.layers.f8 import ConvertFromF8, ConvertToF8

__all__ = ["ConvertFromF8", "ConvertToF8"]
