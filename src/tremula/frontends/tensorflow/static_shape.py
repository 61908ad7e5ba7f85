"""Static sizes of tensors as numbers, whether the program has turned off the behaviour of TensorFlow 2 or not.

Without that behaviour, `tensor.shape[0]` is a `Dimension`.
"""

from __future__ import annotations

from typing import Any


def static_size(tensor: Any, axis: int) -> Any:
    """The size of a tensor along an axis; None if it is not known."""
    return None if tensor.shape.rank is None else tensor.shape.as_list()[axis]


def static_sizes(tensor: Any) -> list[Any]:
    """The sizes of a tensor of known rank; None where one is not known."""
    return list(tensor.shape.as_list())
