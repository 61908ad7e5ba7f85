"""Floating point formats of any width."""

from tremula.frontends.tensorflow.ops.generic_float_casts import (
    GenericFloat,
    calc_gfloat_params,
    cast_gfloat_to_native,
    cast_native_to_gfloat,
)

__all__ = ["GenericFloat", "calc_gfloat_params", "cast_gfloat_to_native", "cast_native_to_gfloat"]
