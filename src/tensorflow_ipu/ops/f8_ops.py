"""Eight-bit floating point operations."""

from tremula.frontends.tensorflow.ops.quarter import Format, create_metadata
from tremula.frontends.tensorflow.ops.quarter_tensors import (
    QuarterTensor,
    convert_from_f8,
    convert_to_f8,
    f8_conv_1d,
    f8_conv_2d,
    f8_conv_3d,
    f8_matmul,
)

__all__ = [
    "Format",
    "QuarterTensor",
    "convert_from_f8",
    "convert_to_f8",
    "create_metadata",
    "f8_conv_1d",
    "f8_conv_2d",
    "f8_conv_3d",
    "f8_matmul",
]
