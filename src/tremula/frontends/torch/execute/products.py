"""Which of the host's kernels compute large matrix products. torch gives them to MKL, which keeps its widest vectors
for Intel's processors; oneDNN, which comes with torch as well, is about twice as fast on others that have AVX-512.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import torch
from torch import fx

from tremula.frontends.torch.execute.insertion import InGraph
from tremula.frontends.torch.graphs.program import tensors_of

_ATEN = torch.ops.aten
#: a call of oneDNN costs some microseconds more
LARGE_PRODUCT_FLOPS = 4_000_000
#: with fewer rows or columns a product is bound by memory, and no kernel is faster
_LEAST_EXTENT = 8
_INTEL = "GenuineIntel"


def pick_products(graph: fx.Graph) -> None:
    """Give the large float32 products of `graph` to oneDNN where that is the faster library."""
    if not prefers_onednn():
        return
    for node in list(graph.nodes):
        if node.op == "call_function" and node.target in _OPERANDS:
            operands = _OPERANDS[node.target](node)
            if operands is not None and _is_large(*operands[:2]):
                _rewrite(graph, node, *operands)


@functools.cache
def prefers_onednn() -> bool:
    """Whether this host computes products faster in oneDNN than in what torch takes."""
    if not (torch._C._has_mkldnn and torch._C.has_mkl and hasattr(torch.ops.mkldnn, "_linear_pointwise")):
        return False
    return torch.backends.cpu.get_cpu_capability().startswith("AVX512") and _vendor() not in ("", _INTEL)


def _vendor() -> str:
    """Who made the processor; empty if the system does not say."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("vendor_id"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return ""


def _of_mm(node: fx.Node) -> tuple[Any, Any, Any] | None:
    left, right = node.args
    return left, right, None


def _of_addmm(node: fx.Node) -> tuple[Any, Any, Any] | None:
    """Only with a bias that is one row, which oneDNN adds by itself."""
    bias, left, right = node.args
    if any(factor != 1 for factor in node.kwargs.values()):
        return None
    if not isinstance(bias, fx.Node) or tuple(tensors_of(bias)[0].shape) != (tensors_of(right)[0].shape[1],):  # type: ignore[arg-type]
        return None
    return left, right, bias


_OPERANDS = {_ATEN.mm.default: _of_mm, _ATEN.addmm.default: _of_addmm}


def _is_large(left: fx.Node, right: fx.Node) -> bool:
    (first,), (second,) = tensors_of(left), tensors_of(right)
    if first.dtype is not torch.float32 or second.dtype is not torch.float32:
        return False
    return _is_worth_it(first.shape[0], first.shape[1], second.shape[1])


def _is_worth_it(rows: int, inner: int, columns: int) -> bool:
    return min(rows, inner, columns) >= _LEAST_EXTENT and 2 * rows * inner * columns >= LARGE_PRODUCT_FLOPS


def quick_matmul(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """`torch.matmul`, by oneDNN where `pick_products` would choose that; not for tensors with gradients."""
    if (
        first.dim() == second.dim() == 2
        and first.shape[1] == second.shape[0]
        and type(first) is type(second) is torch.Tensor
        and first.dtype is second.dtype is torch.float32
        and not (first.requires_grad or second.requires_grad)
        and _is_worth_it(first.shape[0], first.shape[1], second.shape[1])
        and prefers_onednn()
    ):
        product: torch.Tensor = torch.ops.mkldnn._linear_pointwise(first, second.t(), None, "none", [], "")
        return product
    return torch.matmul(first, second)


def _rewrite(graph: fx.Graph, node: fx.Node, left: fx.Node, right: fx.Node, bias: fx.Node | None) -> None:
    with graph.inserting_before(node):
        inside = InGraph(graph, node)
        weight = _transposed(inside, right)
        product = inside.call(torch.ops.mkldnn._linear_pointwise.default, left, weight, bias, "none", [], "")
    node.replace_all_uses_with(product)
    graph.erase_node(node)


def _transposed(inside: InGraph, matrix: fx.Node) -> fx.Node:
    """The matrix whose transpose `matrix` is; made, where it is none yet."""
    source, transposed = plain_or_transposed(matrix)
    return source if transposed else inside.call(_ATEN.t.default, matrix)


def plain_or_transposed(matrix: fx.Node) -> tuple[fx.Node, bool]:
    """The matrix that `matrix` is, or is the transpose of; and whether it is the transpose."""
    swaps: dict[Any, tuple[Any, ...]] = {
        _ATEN.t.default: (), _ATEN.transpose.int: (0, 1), _ATEN.permute.default: ([1, 0],)
    }  # fmt: skip
    arguments = swaps.get(matrix.target)
    if arguments is not None and tuple(matrix.args[1:]) == arguments:
        return matrix.args[0], True  # type: ignore[return-value]
    return matrix, False
