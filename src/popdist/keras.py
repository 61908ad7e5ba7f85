"""Distributed runs of Keras programs: the same as for other TensorFlow programs."""

from __future__ import annotations

from popdist.tensorflow import set_ipu_config

__all__ = ["set_ipu_config"]
