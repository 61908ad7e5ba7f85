"""Operations that a program brings itself."""

from tremula.frontends.tensorflow.ops.custom import (
    codelet_expression_op,
    cpu_user_operation,
    precompiled_user_op,
)

__all__ = ["codelet_expression_op", "cpu_user_operation", "precompiled_user_op"]
