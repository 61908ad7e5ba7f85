"""Shapes of results of elementwise ops."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tremula.frontends.popxl.errors import graph_error
from tremula.frontends.popxl.info import TensorInfo
from tremula.frontends.popxl.model import Op

Infer = Callable[[Op], Mapping[int, TensorInfo]]


def _joined(op: Op) -> tuple[int, ...]:
    shapes = [tensor.type.shape for tensor in op.input_list]
    rank = max(len(shape) for shape in shapes)
    result = []
    for place in range(-rank, 0):
        extents = {shape[place] for shape in shapes if len(shape) >= -place} - {1}
        if len(extents) > 1:
            text = " and ".join(str(list(shape)) for shape in shapes)
            raise graph_error(
                f"{op.kind} cannot be applied to tensors of the shapes {text}: they do not broadcast."
            )
        result.append(extents.pop() if extents else 1)
    return tuple(result)


def broadcast(dtype: str = "", *, like: int = 0, into: int | None = None) -> Infer:
    """The inputs' common shape, with a type or that of the input `like`; the input `into` must have that shape."""

    def infer(op: Op) -> Mapping[int, TensorInfo]:
        shape = _joined(op)
        if into is not None and op.inputs[into].type.shape != shape:
            raise graph_error(
                f"{op.kind} writes to {op.inputs[into].identifier} of {list(op.inputs[into].type.shape)}, but "
                f"its result has {list(shape)}."
            )
        same = (tensor.type.meta_shape for tensor in op.input_list if tensor.type.shape == shape)
        meta_shape = next((each for each in same if each), ())
        return {0: TensorInfo(dtype or op.input_list[like].type.dtype, shape, meta_shape)}

    return infer


def as_first(op: Op) -> Mapping[int, TensorInfo]:
    """Shape and type of the first input."""
    return {0: op.inputs[0].type}
