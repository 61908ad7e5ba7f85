"""Dropout with its seed."""

from tremula.frontends.tensorflow.ops.native.poprand import (
    ipu_dropout,
    ipu_dropout_no_ref,
    ipu_dropout_with_seed,
    ipu_dropout_with_seed_and_reference,
    ipu_dropout_with_seed_no_ref,
)

__all__ = [
    "ipu_dropout",
    "ipu_dropout_no_ref",
    "ipu_dropout_with_seed",
    "ipu_dropout_with_seed_and_reference",
    "ipu_dropout_with_seed_no_ref",
]
