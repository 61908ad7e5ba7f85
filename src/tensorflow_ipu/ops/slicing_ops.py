"""Runs of rows."""

from tremula.frontends.tensorflow.ops.sequences import (
    sequence_slice,
    sequence_slice_pack,
    sequence_slice_unpack,
)

__all__ = ["sequence_slice", "sequence_slice_pack", "sequence_slice_unpack"]
