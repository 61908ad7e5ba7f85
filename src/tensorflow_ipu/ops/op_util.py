"""Helpers of other ops."""

from tremula.frontends.tensorflow.ops.activations import name_of as get_activation_name
from tremula.frontends.tensorflow.ops.op_helpers import (
    accumulate_gradients,
    accumulate_tagged_gradients,
    bool_to_three_state,
    get_accumulator_dtype,
)
from tremula.frontends.tensorflow.ops.op_helpers import (
    set_ml_type as SetMlType,
)
from tremula.frontends.tensorflow.ops.op_helpers import (
    set_op_as_bwd as SetOpAsBwd,
)
from tremula.frontends.tensorflow.ops.op_helpers import (
    set_op_as_fwd as SetOpAsFwd,
)
from tremula.frontends.tensorflow.ops.op_helpers import (
    set_op_as_wu as SetOpAsWU,
)

__all__ = [
    "SetMlType",
    "SetOpAsBwd",
    "SetOpAsFwd",
    "SetOpAsWU",
    "accumulate_gradients",
    "accumulate_tagged_gradients",
    "bool_to_three_state",
    "get_accumulator_dtype",
    "get_activation_name",
]
