"""Creation of ops in the current graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import popart._internal.ir as _ir

from ..context import get_current_context
from ..tensor import Tensor
from .utils import check_in_graph, check_tensor_ipu_and_tile_set


def create_op(
    kind: str,
    tensors: Mapping[str, Tensor],
    outputs: Sequence[str],
    attributes: Mapping[str, Any] | None = None,
    *,
    places: Sequence[int] | None = None,
    together: bool = True,
    settings: Any = None,
) -> _ir.Op:
    """An op that reads `tensors`, by the names of the arguments, at indices from 0 or at `places`.

    With `together` they have to be on one IPU.
    """
    context = get_current_context()
    graph = context.graph
    check_in_graph(graph, **tensors)
    if together:
        check_tensor_ipu_and_tile_set(**tensors)
    indices = range(len(tensors)) if places is None else places
    inputs = {index: each._pb_tensor for index, each in zip(indices, tensors.values(), strict=True)}
    names = {index: "/".join((*context.name_scopes, name)) for index, name in enumerate(outputs)}
    op = graph._pb_graph.add_op(
        kind, inputs, names, attributes or {}, settings or context._get_op_settings(kind.lower())
    )
    context._op_created(op)
    return op


def create(
    kind: str,
    tensors: Mapping[str, Tensor],
    output: str,
    attributes: Mapping[str, Any] | None = None,
    **options: Any,
) -> Tensor:
    """The same for an op with one output, which is returned."""
    return Tensor._from_pb_tensor(create_op(kind, tensors, [output], attributes, **options).outTensor(0))


def outputs_of(op: _ir.Op) -> tuple[Tensor, ...]:
    """The outputs of an op."""
    return tuple(Tensor._from_pb_tensor(each) for each in op.getOutputTensors())
