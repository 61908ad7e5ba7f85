"""Scopes for devices, shards and attributes of ops."""

from tremula.frontends.tensorflow.scopes import (
    FRONTEND_ATTRIBUTES_NAME,
    OUTSIDE_COMPILATION_NAME,
    frontend_attribute,
    ipu_jit_scope,
    ipu_scope,
    ipu_shard,
    outside_compilation_scope,
    partials_type,
    stochastic_rounding,
)

__all__ = [
    "FRONTEND_ATTRIBUTES_NAME",
    "OUTSIDE_COMPILATION_NAME",
    "frontend_attribute",
    "ipu_jit_scope",
    "ipu_scope",
    "ipu_shard",
    "outside_compilation_scope",
    "partials_type",
    "stochastic_rounding",
]
