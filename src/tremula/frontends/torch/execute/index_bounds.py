"""Which indices a graph selects with, which values they may have, and which they can have by their making.

Kernels compare indices with sizes. Code of the compiler does so in the middle of its loops, and with several threads a
comparison that fails there ends the process. So it is known before what can fail (`index_checks`).
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx

from tremula.frontends.torch.graphs.program import tensors_of

#: the same values, perhaps in another order or more than once
KEEPING = frozenset(
    ["_unsafe_view", "alias", "clone", "contiguous", "detach", "expand", "flatten", "flip", "lift_fresh_copy",
     "permute", "repeat", "reshape", "roll", "squeeze", "t", "transpose", "unsqueeze", "view"]
)  # fmt: skip
#: some of the values
_CHOOSING = frozenset(
    ["chunk", "diagonal", "narrow", "select", "slice", "split", "split_with_sizes", "unbind", "unfold"]
)
#: positions along a dimension, and which of the results they are
_POSITIONS = {
    "argmax": 0,
    "argmin": 0,
    "argsort": 0,
    "max": 1,
    "min": 1,
    "sort": 1,
    "topk": 1,
    "kthvalue": 1,
    "mode": 1,
}


@dataclass(frozen=True)
class Range:
    """Whole numbers from `low` to `high`, and perhaps one more."""

    low: int
    high: int
    also: int | None = None

    def holds(self, other: Range) -> bool:
        """Whether all numbers of `other` are in this one."""
        return self.low <= other.low and other.high <= self.high

    def both(self, other: Range) -> Range:
        """What is in both."""
        also = self.also if self.also == other.also else None
        return Range(max(self.low, other.low), min(self.high, other.high), also)


@dataclass(frozen=True)
class Selection:
    """An operand that holds indices, and the values that its op takes."""

    index: fx.Node
    allowed: Range


def selections(graph: fx.Graph) -> Iterator[Selection]:
    """The index operands of all ops whose compiled code compares indices while it runs."""
    for node in graph.nodes:
        if node.op != "call_function" or not isinstance(node.target, torch._ops.OpOverload):
            continue
        for index, allowed in _operands(node):
            if isinstance(index, fx.Node) and not is_mask(index):
                yield Selection(index, allowed)


def packet(node: fx.Node) -> str:
    """The name of an op without overload and without the sign of one that writes in place; "" for anything else."""
    if not isinstance(node.target, torch._ops.OpOverload):
        return ""
    namespace, _, name = node.target._schema.name.partition("::")
    return name.removesuffix("_") if namespace == "aten" else ""


def shape_of(node: fx.Node) -> torch.Size | None:
    """The shape of what a node gives, if it is one tensor."""
    found = list(tensors_of(node))
    return found[0].shape if len(found) == 1 else None


def is_mask(node: fx.Node) -> bool:
    """Whether a node gives truth values."""
    return any(tensor.dtype is torch.bool for tensor in tensors_of(node))


def _operands(node: fx.Node) -> Iterator[tuple[Any, Range]]:
    """Index operands of an op with what it allows."""
    args: Any = node.args
    name = packet(node)
    if name in ("index", "index_put", "_index_put_impl", "_unsafe_index", "_unsafe_index_put"):
        at = 0
        shape = _shape(args[0])
        for index in args[1]:
            if isinstance(index, fx.Node) and is_mask(index):
                at += len(shape_of(index) or ())
                continue
            yield index, Range(-shape[at], shape[at] - 1)
            at += 1
    elif name == "embedding":
        yield args[1], Range(0, _shape(args[0])[0] - 1)
    elif name == "embedding_dense_backward":
        yield args[1], Range(0, int(args[2]) - 1)
    elif name in ("gather", "index_select") or name.startswith(("scatter", "index_")):
        shape = _shape(args[0])
        size = shape[int(args[1])] if shape else 1
        yield args[2], Range(-size if name == "index_fill" else 0, size - 1)
    elif name in ("take", "put"):
        size = _shape(args[0]).numel()
        yield args[1], Range(-size, size - 1)
    elif name.startswith("nll_loss"):
        backward = name.endswith("backward")
        scores, ignored = (args[1], args[5]) if backward else (args[0], args[4])
        shape = _shape(scores)
        classes = shape[1 if len(shape) > 1 else 0]
        yield args[2 if backward else 1], Range(0, classes - 1, int(ignored))


def _shape(node: Any) -> torch.Size:
    return shape_of(node) or torch.Size(())


def range_of(node: fx.Node, constants: Mapping[str, torch.Tensor]) -> Range | None:
    """The values that a node can have by its making; None if they are not known."""
    if is_mask(node):
        return Range(0, 1)
    if node.op == "get_attr":
        values = constants[str(node.target)]
        return Range(int(values.min()), int(values.max())) if _whole(values) and values.numel() else None
    if node.op != "call_function":
        return None
    args: Any = node.args
    name = packet(node)
    if node.target is operator.getitem:
        return _part(args[0], args[1], constants)
    if name in KEEPING or name in _CHOOSING or name == "_to_copy":
        whole = isinstance(args[0], fx.Node) and any(_whole(tensor) for tensor in tensors_of(args[0]))
        return range_of(args[0], constants) if whole else None
    if _POSITIONS.get(name) == 0:
        return _positions(node)
    if name == "randint":
        low, high = (args[0], args[1]) if isinstance(args[1], int) else (0, args[0])
        return Range(int(low), int(high) - 1)
    if name == "randperm":
        return Range(0, int(args[0]) - 1)
    if name == "remainder" and isinstance(args[1], int) and args[1] > 0:
        return Range(0, args[1] - 1)
    if name == "clamp":
        return _clamped(node, constants)
    if name in ("where", "cat"):
        parts = args[1:] if name == "where" else args[0]
        found = [range_of(part, constants) if isinstance(part, fx.Node) else None for part in parts]
        known = [each for each in found if each is not None]
        if len(known) < len(found):
            return None
        return Range(min(each.low for each in known), max(each.high for each in known))
    return None


def _part(source: Any, number: Any, constants: Mapping[str, torch.Tensor]) -> Range | None:
    """One of several results."""
    if _POSITIONS.get(packet(source)) == number and number == 1:
        return _positions(source)
    return range_of(source.args[0], constants) if packet(source) in _CHOOSING else None


def _positions(node: fx.Node) -> Range | None:
    """Positions along the dimension of an op, or in all of its operand."""
    target: Any = node.target
    shape = _shape(node.args[0])
    at = [argument.name for argument in target._schema.arguments].index("dim")
    default = None if packet(node) in ("argmax", "argmin") else -1
    dimension: Any = node.args[at] if len(node.args) > at else node.kwargs.get("dim", default)
    if dimension is None:
        return Range(0, shape.numel() - 1)
    return Range(0, (shape[int(dimension)] if shape else 1) - 1)


def _clamped(node: fx.Node, constants: Mapping[str, torch.Tensor]) -> Range | None:
    low, high = ([*node.args[1:], None, None])[:2]
    low, high = node.kwargs.get("min", low), node.kwargs.get("max", high)
    source = node.args[0]
    known = range_of(source, constants) if isinstance(source, fx.Node) else None
    bottom = low if isinstance(low, int) else None if known is None else known.low
    top = high if isinstance(high, int) else None if known is None else known.high
    return None if bottom is None or top is None else Range(bottom, top)


def _whole(tensor: torch.Tensor) -> bool:
    return not tensor.is_floating_point() and not tensor.is_complex()
