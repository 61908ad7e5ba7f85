"""Functions of the device."""

from tremula.frontends.tensorflow.ops.native.functional import recomputation_checkpoint

__all__ = ["recomputation_checkpoint"]
