"""Small results whose content is known before a program runs: axes, shapes, permutations, counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from tensorflow.python.framework import tensor_util

from tremula.frontends.tensorflow.capture.nodes import Value

#: elements up to which the content of a value is kept
_SMALL = 64
#: ops whose content may be known before the program runs
_FOLDED = frozenset({"Const", "Shape", "ShapeN", "Size", "Rank", "Range", "Pack", "ConcatV2", "Cast", "Fill"})
#: arithmetic on sizes and exponents
_ARITHMETIC = {"Sub": np.subtract, "AddV2": np.add, "Mul": np.multiply}


def known_content(op: Any, tensor: Any, given: list[Value]) -> Any:
    """The content of a small result, if it does not depend on data."""
    if op.type == "Identity" and given[0].constant is not None:
        return given[0].constant
    if op.type == "InvertPermutation" and given[0].constant is not None:
        return np.argsort(given[0].constant)  # the gradient of a transpose turns back with it
    if op.type == "StridedSlice":
        return _sliced(op, [value.constant for value in given])
    if op.type in _ARITHMETIC:
        one, other = given[0].constant, given[1].constant
        return None if one is None or other is None else np.asarray(_ARITHMETIC[op.type](one, other))
    if op.type not in _FOLDED or not (tensor.dtype.is_integer or op.type == "Const"):
        return None
    size = tensor.shape.num_elements()
    if size is None or size > _SMALL or not tensor.dtype.is_numpy_compatible:
        return None
    value = tensor_util.constant_value(tensor)
    return None if value is None else np.asarray(value)


def _sliced(op: Any, known: Sequence[Any]) -> Any:
    """A slice of a known list, such as one size of a shape."""
    values, begin, end, strides = known
    if any(each is None for each in known) or values.ndim != 1 or begin.size != 1:
        return None
    if op.get_attr("ellipsis_mask") or op.get_attr("new_axis_mask"):
        return None
    first = None if op.get_attr("begin_mask") & 1 else int(begin.item())
    if op.get_attr("shrink_axis_mask") & 1:
        return np.asarray(values[first or 0])
    last = None if op.get_attr("end_mask") & 1 else int(end.item())
    return values[first : last : int(strides.item())]
