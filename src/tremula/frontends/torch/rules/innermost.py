"""Which dimension of a tensor lies together on the device, behind views and copies.

torch makes a view contiguous by a copy where a kernel wants it so. The device reads a view as it is: of an
operand of a product, the dimension that lies together is that of the op that made it, wherever views put it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import fx

_SAME = frozenset({"alias", "detach", "clone", "_to_copy", "contiguous", "slice", "expand"})
_SHAPED = frozenset({"view", "_unsafe_view", "reshape", "unsqueeze", "squeeze"})
_TURNED = frozenset({"t", "transpose", "permute"})
_VIEWS = _SAME | _SHAPED | _TURNED | {"select"}


def innermost_dimension(node: fx.Node | None) -> int:
    """The dimension of what `node` makes that lies together, counted from the end; -1 where views do not say."""
    views: list[fx.Node] = []
    while node is not None and op_name(node) in _VIEWS and isinstance(node.args[0], fx.Node):
        views.append(node)
        node = node.args[0]
    place = -1
    for view in reversed(views):
        before, after = _shape(view.args[0]), _shape(view)
        if before is None or after is None:
            return -1
        moved = _moved(view, place, before, after)
        if moved is None:
            return -1
        place = moved
    return place


def _moved(view: fx.Node, place: int, before: Sequence[int], after: Sequence[int]) -> int | None:
    """Where `view` puts the dimension at `place`."""
    name, rank = op_name(view), len(before)
    if name in _SHAPED:
        return _reshaped(place, before, after)
    if name == "t":
        return -3 - place if rank == 2 else place
    if name == "transpose":
        first, second = (_from_end(view.args[i], rank) for i in (1, 2))
        return {first: second, second: first}.get(place, place)
    if name == "permute":
        order = [_from_end(d, rank) for d in view.args[1]]  # type: ignore[union-attr]
        return order.index(place) - rank
    if name == "select":
        chosen = _from_end(view.args[1], rank)
        return None if chosen == place else place + 1 if chosen > place else place
    return place


def _reshaped(place: int, before: Sequence[int], after: Sequence[int]) -> int | None:
    """The dimension with as many elements after it; of a dimension that is cut, its innermost part."""
    behind = math.prod(before[len(before) + place + 1 :])
    for d in range(-1, -len(after) - 1, -1):
        if after[d] > 1 and math.prod(after[len(after) + d + 1 :]) == behind:
            return d
    return None


def _from_end(dimension: object, rank: int) -> int:
    number: int = dimension  # type: ignore[assignment]
    return number if number < 0 else number - rank


def _shape(node: object) -> Sequence[int] | None:
    value = node.meta.get("val") if isinstance(node, fx.Node) else None
    return tuple(value.shape) if isinstance(value, torch.Tensor) else None


def op_name(node: fx.Node) -> str:
    """The name of a node's op without its overload, and without the mark of those that work in place."""
    return getattr(node.target, "__name__", "").partition(".")[0].rstrip("_")
