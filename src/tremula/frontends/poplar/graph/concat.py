"""Views made of several views."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from tremula.frontends.poplar.errors import TensorCreationError, TypeMismatch
from tremula.frontends.poplar.graph.view import View

AnyView = TypeVar("AnyView", bound=View)


def concat(views: Sequence[AnyView], dimension: int = 0) -> AnyView:
    """Join views along a dimension. Neighbours in memory stay a strided view; others become a list of addresses."""
    if not views:
        raise TensorCreationError("there is no tensor to join")
    first = views[0]
    if len(views) == 1:
        return first
    _check(views, dimension)
    if all(view.address_list is None and view.strides == first.strides for view in views):
        stride = first.strides[dimension]
        end = first.offset
        for view in views:
            if view.offset != end:
                break
            end += view.shape[dimension] * stride
        else:
            length = sum(view.shape[dimension] for view in views)
            shape = (*first.shape[:dimension], length, *first.shape[dimension + 1 :])
            return first.__class__(first.graph, first.type, shape, first.offset, first.strides)
    index = np.concatenate([view.addresses() for view in views], axis=dimension)
    return first.__class__(first.graph, first.type, index.shape, 0, (), index)


def _check(views: Sequence[View], dimension: int) -> None:
    first = views[0]
    if not 0 <= dimension < first.rank:
        raise TensorCreationError(
            f"tensors of rank {first.rank} cannot be joined along dimension {dimension}"
        )
    for number, view in enumerate(views):
        if view.graph.memory is not first.graph.memory:
            raise TensorCreationError(f"tensor {number} belongs to another graph than the first one")
        if view.type is not first.type:
            raise TypeMismatch(f"tensor {number} is of type {view.type}, the first one of type {first.type}")
        shape = view.shape
        if len(shape) != first.rank or any(
            a != b for place, (a, b) in enumerate(zip(shape, first.shape, strict=True)) if place != dimension
        ):
            raise TensorCreationError(
                f"tensor {number} of shape {list(shape)} cannot be joined with one of shape {list(first.shape)} "
                f"along dimension {dimension}: all other dimensions have to be equal"
            )
