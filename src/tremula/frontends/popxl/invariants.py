"""What must hold of tensors by the time it is asked for."""

from __future__ import annotations

from typing import Any

import numpy as np

from tremula.frontends.popxl.errors import graph_error
from tremula.frontends.popxl.model import Tensor, VariableSettings


def present_data(tensor: Tensor) -> np.ndarray[Any, Any]:
    """The host's values of a constant or variable."""
    if tensor.data is None:
        raise graph_error(f"The tensor {tensor.identifier} has no value on the host.")
    return tensor.data


def variable_settings(tensor: Tensor) -> VariableSettings:
    """How a variable is spread over replicas."""
    if tensor.settings is None:
        raise graph_error(f"The tensor {tensor.identifier} is not a variable.")
    return tensor.settings
