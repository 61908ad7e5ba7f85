"""Sizes of results, as far as they are known before a program runs."""

from __future__ import annotations

from typing import Any

from tremula.frontends.tensorflow.capture.nodes import Node


def known_shape(tensor: Any) -> tuple[int, ...]:
    """The shape of a tensor; 1 for a size that is not known."""
    if tensor.shape.rank is None:
        return ()
    return tuple(1 if size is None else size for size in tensor.shape.as_list())


def shape_like_input(node: Node, tensor: Any) -> tuple[int, ...] | None:
    """The shape of an input that agrees with what is known of a result; None if there is none."""
    if tensor.shape.rank is None:
        return node.inputs[0].shape if len(node.inputs) == 1 else None
    sizes = tensor.shape.as_list()
    for value in node.inputs:
        if len(value.shape) == len(sizes) and all(
            size in (None, known) for size, known in zip(sizes, value.shape, strict=True)
        ):
            return value.shape
    return None
