"""Arithmetic on what is known about layers."""

from tremula.frontends.tensorflow.addons.auto_pipeline.estimates import (
    aggregate_info_inplace,
    compare_pipelined_model_profile,
    copy_layer_info,
    get_empty_layer_info,
    get_empty_range_info,
    transfer_cycle,
)

__all__ = [
    "aggregate_info_inplace",
    "compare_pipelined_model_profile",
    "copy_layer_info",
    "get_empty_layer_info",
    "get_empty_range_info",
    "transfer_cycle",
]
