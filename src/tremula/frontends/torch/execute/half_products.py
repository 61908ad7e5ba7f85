"""Half-precision products computed in float32, where hosts are up to eighty times slower in half. One rounding at the
end is what the device does with float32 partial sums.
"""

from __future__ import annotations

import functools
import time
from typing import Any

import torch
from torch import fx

from tremula.frontends.torch.graphs.program import tensors_of

_ATEN = torch.ops.aten
_PRODUCTS = frozenset(
    [
        _ATEN.mm.default,
        _ATEN.bmm.default,
        _ATEN.addmm.default,
        _ATEN.baddbmm.default,
        _ATEN.convolution.default,
        _ATEN.convolution_backward.default,
    ]
)
_ROUNDS = 3
_SIZE = 96


def widen(graph: fx.Graph) -> None:
    """Make float16 products of `graph` compute in float32, if that is faster on this host."""
    products = [
        node
        for node in graph.nodes
        if node.op == "call_function" and node.target in _PRODUCTS and _in_half(node)
    ]
    if not products or not _float_is_faster():
        return
    for node in products:
        _widen(graph, node)


def _in_half(node: fx.Node) -> bool:
    return any(tensor.dtype is torch.float16 for tensor in tensors_of(node))


def _widen(graph: fx.Graph, node: fx.Node) -> None:
    def widened(operand: fx.Node) -> fx.Node:
        if not _in_half(operand):
            return operand
        # an operand that is written meanwhile must be read anew, so a copy serves one op only
        return _converted(graph, operand, torch.float32)

    with graph.inserting_before(node):
        node.args, node.kwargs = fx.node.map_arg((node.args, node.kwargs), widened)
    values = node.meta["val"]
    if isinstance(values, torch.Tensor):
        _round_result(graph, node)
        return
    node.meta = {**node.meta, "val": type(values)(_as_float(value) for value in values)}
    for item in list(node.users):
        value = item.meta.get("val")
        if isinstance(value, torch.Tensor) and value.dtype is torch.float16:
            _round_result(graph, item)


def _round_result(graph: fx.Graph, node: fx.Node) -> None:
    """Let `node` give a float32 tensor, and its users take that rounded."""
    node.meta = {**node.meta, "val": _as_float(node.meta["val"])}
    with graph.inserting_after(node):
        narrow = _converted(graph, node, torch.float16)
    node.replace_all_uses_with(narrow, delete_user_cb=lambda user: user is not narrow)


def _converted(graph: fx.Graph, node: fx.Node, dtype: torch.dtype) -> fx.Node:
    copy = graph.call_function(_ATEN._to_copy.default, (node,), {"dtype": dtype})
    copy.meta = {**node.meta, "val": node.meta["val"].to(dtype)}
    return copy


def _as_float(value: Any) -> Any:
    if isinstance(value, torch.Tensor) and value.dtype is torch.float16:
        return value.float()
    return value


@functools.cache
def _float_is_faster() -> bool:
    """Measured once: a small product, as it is and by way of float32."""
    left = torch.ones(_SIZE, _SIZE, dtype=torch.float16)

    def seconds(product: Any) -> float:
        product()
        times = []
        for _ in range(_ROUNDS):
            started = time.perf_counter()
            product()
            times.append(time.perf_counter() - started)
        return min(times)

    native = seconds(lambda: left.mm(left))
    return seconds(lambda: left.float().mm(left.float()).half()) < native
