"""The ops of a backward pass: for each op of the forward pass those that the graph compiler would add for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tremula.frontends.onnx.ir.listing import Listing
from tremula.frontends.onnx.model import Node

GRADIENT = "Gradient___"
#: ops whose gradient is another op of the forward kind: type -> type of the gradient
_SAME = {
    "Identity": "Identity", "Transpose": "Transpose", "Reshape": "Reshape", "Squeeze": "Reshape",
    "Unsqueeze": "Reshape", "Flatten": "Reshape", "Neg": "Neg", "Cast": "Cast", "Scale": "Scale", "Sum": "Identity",
    "Exp": "Mul", "Reciprocal": "Mul", "Sin": "Mul", "Cos": "Mul", "Log": "Div", "Sqrt": "Div",
}  # fmt: skip
#: ops of two operands: type -> types of the gradients
_BINARY = {
    "Sub": ("Identity", "Neg"), "Mul": ("Mul", "Mul"), "Div": ("Div", "Mul"), "Pow": ("Mul", "Mul"),
    "MatMul": ("MatMul", "MatMul"), "Gemm": ("MatMul", "MatMul"),
}  # fmt: skip
_ADD = ("AddLhsGrad", "AddRhsGrad")
#: operands that have no gradient
_WITHOUT = {"Nll": {1}, "Gather": {1}, "Reshape": {1}, "Where": {0}, "Slice": {1, 2, 3, 4}, "Ctc": {1, 2, 3}}


def backward(
    listing: Listing,
    nodes: Iterable[Node],
    loss: str,
    wanted: Iterable[str],
    differentiable: frozenset[str],
    attributes: Mapping[Node, Mapping[str, str]],
) -> None:
    """Append the backward pass from `loss` to the tensors `wanted`."""
    nodes = list(nodes)
    needed = _needed(nodes, loss, set(wanted), differentiable)
    parts: dict[str, list[str]] = {}
    for node in reversed(nodes):
        made = [name for name in node.outputs if name == loss or name in parts]
        targets = [
            (place, name)
            for place, name in enumerate(node.inputs)
            if name in needed and place not in _WITHOUT.get(node.type, ())
        ]
        if not made or not targets:
            continue
        for name in made:
            _sum(listing, name, parts.get(name, []), attributes[node])
        _gradient(listing, node, made, targets, parts, attributes[node])
    producers = {name for node in nodes for name in node.outputs}
    for name in needed - producers:
        _sum(listing, name, parts.get(name, []), {})


def _needed(nodes: list[Node], loss: str, wanted: set[str], differentiable: frozenset[str]) -> set[str]:
    """The tensors on the ways from what is wanted to the loss."""
    ahead = set(wanted)
    for node in nodes:
        if ahead.intersection(node.inputs):
            ahead.update(name for name in node.outputs if name in differentiable or name == loss)
    behind = {loss}
    for node in reversed(nodes):
        if behind.intersection(node.outputs):
            behind.update(node.inputs)
    return ahead & behind


def _sum(listing: Listing, name: str, parts: list[str], attributes: Mapping[str, str]) -> None:
    """A tensor with several consumers has the sum of their gradients."""
    if len(parts) > 1:
        kind = "Add" if len(parts) == 2 else "Sum"
        listing.add(kind, parts, [GRADIENT + name], attributes, like=name)


def _gradient(
    listing: Listing,
    node: Node,
    made: list[str],
    targets: list[tuple[int, str]],
    parts: dict[str, list[str]],
    attributes: Mapping[str, str],
) -> None:
    incoming = [GRADIENT + name for name in made]
    names = []
    for _place, name in targets:
        own = parts.setdefault(name, [])
        names.append(f"{GRADIENT}{name}" if not own else f"{GRADIENT}{name}/{len(own)}")
        own.append(names[-1])
    if node.type == "Conv":
        for (place, name), output in zip(targets, names, strict=True):
            other = [node.inputs[1 - place]] if place < 2 else []
            kind = ("Conv", "ConvWeightsGrad", "ReduceSum")[min(place, 2)]
            listing.add(kind, [*incoming, *other], [output], attributes, like=name)
    elif node.type in _BINARY or node.type == "Add":
        for (place, name), output in zip(targets, names, strict=True):
            kinds = _ADD if node.type == "Add" else _BINARY[node.type]
            kind = kinds[min(place, 1)]
            if node.type == "Add" and _same_shape(listing, name, node.outputs[0]):
                kind = "Identity"
            others = [] if kind in ("Identity", *_ADD, "Neg") else [node.inputs[1 - min(place, 1)]]
            listing.add(kind, [*incoming, *others], [output], attributes, like=name)
    else:
        kind = _SAME.get(node.type, f"{node.type}Grad")
        others = [] if node.type in _SAME else [name for _place, name in targets]
        listing.add(kind, [*incoming, *others], names, attributes, like=targets[0][1])


def _same_shape(listing: Listing, one: str, other: str) -> bool:
    first, second = listing.types.get(one), listing.types.get(other)
    return first is not None and second is not None and first.shape == second.shape
