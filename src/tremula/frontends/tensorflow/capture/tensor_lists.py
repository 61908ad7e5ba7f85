"""Sizes of tensor lists, which loops fill and read: a list is a tensor of (length, *element)."""

from __future__ import annotations

from tremula.frontends.tensorflow.capture.nodes import Node, Value


def list_shape(node: Node) -> tuple[int, ...]:
    """The shape of the list that a node makes; () for other things of no type."""
    match node.type:
        case "TensorListReserve":
            return (_number(node.inputs[1]), *_extents(node.inputs[0]))
        case "EmptyTensorList":
            return (_number(node.inputs[1]), *_extents(node.inputs[0]))
        case "TensorListFromTensor" | "TensorListScatterV2":
            return node.inputs[0].shape
        case "TensorListSetItem":
            whole, item = node.inputs[0], node.inputs[2]
            return (_length(whole), *item.shape)
        case "TensorListPushBack":
            whole, item = node.inputs
            turns = node.block.trips if node.block is not None else 1
            return (max(_length(whole), turns), *item.shape)
        case "TensorListResize":
            return (_number(node.inputs[1]), *node.inputs[0].shape[1:])
        case "TensorListElementShape" | "TensorListLength":
            return ()
    return node.inputs[0].shape if node.inputs else ()


def _length(whole: Value) -> int:
    return whole.shape[0] if whole.shape else 1


def _number(value: Value) -> int:
    """A length that the program says; 1 if it is not known."""
    return max(1, int(value.constant.ravel()[0])) if value.constant is not None and value.constant.size else 1


def _extents(value: Value) -> tuple[int, ...]:
    if value.constant is None or value.constant.ndim == 0:
        return ()
    return tuple(max(1, int(size)) for size in value.constant)
