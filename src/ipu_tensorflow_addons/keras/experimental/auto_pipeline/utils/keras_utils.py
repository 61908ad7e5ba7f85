"""What layers of Keras models exchange."""

from tremula.frontends.tensorflow.addons.auto_pipeline.model_tensors import (
    get_assignment_layer_type,
    parse_model_intermediate,
    prepend_batchsize,
    tf_nested_map_structure_all_tensor,
    tf_nested_map_structure_tensor,
    tf_tensor_size,
)

__all__ = [
    "get_assignment_layer_type",
    "parse_model_intermediate",
    "prepend_batchsize",
    "tf_nested_map_structure_all_tensor",
    "tf_nested_map_structure_tensor",
    "tf_tensor_size",
]
