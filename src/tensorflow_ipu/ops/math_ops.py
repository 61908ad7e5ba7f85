"""Products and sums in steps."""

from tremula.frontends.tensorflow.ops.products import (
    segment_sum,
    serialized_matmul,
)

__all__ = ["segment_sum", "serialized_matmul"]
