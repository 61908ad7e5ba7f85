"""Dense layers."""

from tremula.frontends.tensorflow.addons.layers.dense import Dense, SerialDense

__all__ = ["Dense", "SerialDense"]
