"""Which tensors have gradients: those on a way from the loss on which every operator has a backward pass."""

from __future__ import annotations

from collections.abc import Mapping

from tremula.frontends.onnx.interpreter import reads
from tremula.frontends.onnx.model import Graph, Node
from tremula.frontends.onnx.shapes import TensorType

#: operators whose results do not depend on their inputs smoothly, or that stop gradients
_NO_WAY_BACK = frozenset(
    [
        "And",
        "ArgMax",
        "ArgMin",
        "Bucketize",
        "BitwiseAnd",
        "BitwiseNot",
        "BitwiseOr",
        "BitwiseXnor",
        "BitwiseXor",
        "Constant",
        "ConstantOfShape",
        "Detach",
        "Equal",
        "EyeLike",
        "Greater",
        "GreaterOrEqual",
        "IsInf",
        "IsNaN",
        "Less",
        "LessOrEqual",
        "NonZero",
        "Not",
        "Or",
        "RandomNormal",
        "RandomNormalLike",
        "RandomUniform",
        "RandomUniformLike",
        "Range",
        "Shape",
        "Size",
        "Xor",
    ]
)
#: operators of which some inputs only say where: the others have gradients
_PLACES: Mapping[str, frozenset[int]] = {
    "Gather": frozenset({1}),
    "GatherElements": frozenset({1}),
    "GatherND": frozenset({1}),
    "GroupedGather": frozenset({1}),
    "Scatter": frozenset({1}),
    "ScatterElements": frozenset({1}),
    "ScatterReduce": frozenset({1}),
    "DynamicSlice": frozenset({1, 2}),
    "DynamicUpdate": frozenset({1}),
    "DynamicAdd": frozenset({1}),
    "DynamicZero": frozenset({1}),
    "Nll": frozenset({1}),
    "Ctc": frozenset({1, 2, 3}),
    "OneHot": frozenset({0, 1}),
    "Reshape": frozenset({1}),
    "Expand": frozenset({1}),
    "Tile": frozenset({1}),
    "TopK": frozenset({1}),
    "Where": frozenset({0}),
    "CumSum": frozenset({1}),
    "BatchNormalization": frozenset({3, 4}),
}


def differentiable(graph: Graph, types: Mapping[str, TensorType], loss: str) -> frozenset[str]:
    """The tensors that the loss has a gradient for, itself included."""
    found = {loss}
    for node in reversed(graph.nodes):
        if found.intersection(node.outputs) and node.type not in _NO_WAY_BACK:
            found.update(_ways_back(node, types))
    return frozenset(found)


def _ways_back(node: Node, types: Mapping[str, TensorType]) -> set[str]:
    if node.type == "Cast":
        kind = types.get(node.inputs[0])
        if kind is not None and not kind.dtype.is_floating_point:
            return set()
    if any(True for _ in node.graphs):
        return set(reads(node))
    places = _PLACES.get(node.type, frozenset())
    return {name for place, name in enumerate(node.inputs) if name and place not in places}
