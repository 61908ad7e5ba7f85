"""Inference with weights in the order that oneDNN wants, and with activations computed by the product or convolution
before them. A library that gets plain weights reorders them in each call; here that is done once per set of weights.
Only the quick form does it: packed tensors have no strides, which a compiler needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import fx

from tremula.frontends.torch.execute.epilogues import absorb_epilogues
from tremula.frontends.torch.execute.folding import drop_detached, unwritten, written_operands
from tremula.frontends.torch.execute.insertion import InGraph
from tremula.frontends.torch.execute.memory import free_memory
from tremula.frontends.torch.execute.products import pick_products, plain_or_transposed
from tremula.frontends.torch.graphs.program import tensors_of

_ATEN = torch.ops.aten
_CONVOLUTION = _ATEN.convolution.default
#: with fewer operations the call of the packed kernel costs as much as reordering
_LEAST_FLOPS = 1_000_000


@dataclass(frozen=True)
class Packed:
    """`pack` turns what the step takes before the inputs into what `step` takes instead."""

    pack: fx.GraphModule
    step: fx.GraphModule


def packed(module: fx.GraphModule, held: int) -> Packed | None:
    """The two graphs for a step whose first `held` inputs change only between calls; None if nothing is packed."""
    if not (torch._C._has_mkldnn and torch.backends.mkldnn.enabled):
        return None
    graph = fx.Graph()
    graph.output(graph.graph_copy(module.graph, {}))
    if any(written_operands(node) for node in graph.nodes):
        return None  # what is moved might read another value
    drop_detached(graph)
    pick_products(graph)
    _pick_convolutions(graph)
    absorb_epilogues(graph)
    weights = [node for node in graph.nodes if node.op == "placeholder"][:held]
    if not _room_for(weights):
        return None
    pack = fx.Graph()
    given = [pack.placeholder(f"held_{index}") for index in range(held)]
    for place, weight in enumerate(weights):
        given[place].meta = dict(weight.meta)
    made: list[fx.Node] = list(given)
    count = 0
    for node in list(graph.nodes):
        how = _packing(node)
        if how is None or how.source not in weights:
            continue
        with graph.inserting_after(weights[-1]):
            taken = graph.placeholder(f"packed_{count}")
        weights.append(taken)
        made.append(how.add(pack, given[weights.index(how.source)]))
        taken.meta = dict(how.source.meta)
        node.args = tuple(taken if place == how.place else operand for place, operand in enumerate(node.args))
        count += 1
    if not count:
        return None
    pack.output(made)
    return Packed(unwritten(torch.nn.Module(), pack), unwritten(module, graph))


@dataclass(frozen=True)
class _Packing:
    """How a weight, argument `place` of a node, is packed: by `op`, after it was transposed or laid channels last."""

    place: int
    source: fx.Node
    op: Any
    arguments: tuple[Any, ...]
    transposed: bool = False
    channels_last: bool = False

    def add(self, graph: fx.Graph, weight: fx.Node) -> fx.Node:
        if self.transposed:
            weight = graph.call_function(_ATEN.t.default, (weight,))
        if self.channels_last:
            last: dict[str, Any] = {"memory_format": torch.channels_last}
            weight = graph.call_function(_ATEN.clone.default, (weight,), last)
        return graph.call_function(self.op, (weight, *self.arguments))


def _packing(node: fx.Node) -> _Packing | None:
    library = torch.ops.mkldnn
    if node.op != "call_function":
        return None
    if node.target is library._linear_pointwise.default:
        rows = tensors_of(node.args[0])[0].shape[0]  # type: ignore[arg-type]
        source, transposed = plain_or_transposed(node.args[1])  # type: ignore[arg-type]
        return _Packing(1, source, library._reorder_linear_weight.default, (rows,), transposed=transposed)
    if node.target in (library._convolution_pointwise.default, library._convolution_pointwise.binary):
        place = 1 if node.target is library._convolution_pointwise.default else 2
        padding, stride, dilation, groups = node.args[place + 2 : place + 6]
        size = list(tensors_of(node.args[0])[0].shape)  # type: ignore[arg-type]
        arguments = (padding, stride, dilation, groups, size)
        op = library._reorder_convolution_weight.default
        return _Packing(place, node.args[place], op, arguments, channels_last=True)  # type: ignore[arg-type]
    return None


def _room_for(weights: list[fx.Node]) -> bool:
    """Whether the host has room for another copy of the weights, and as much again."""
    needed = 2 * sum(t.numel() * t.element_size() for weight in weights for t in tensors_of(weight))
    free = free_memory()
    return free is None or needed < free


def _pick_convolutions(graph: fx.Graph) -> None:
    """Call oneDNN's convolution of two-dimensional images by its own name."""
    for node in list(graph.nodes):
        if node.op != "call_function" or node.target is not _CONVOLUTION or node.kwargs:
            continue
        arguments: tuple[Any, ...] = node.args
        x, weight, bias, stride, padding, dilation, transposed, _, groups = arguments
        tensors = [t for operand in (x, weight, bias) if operand is not None for t in tensors_of(operand)]
        if transposed or weight.op != "placeholder" or any(t.dtype is not torch.float32 for t in tensors):
            continue
        (result,) = tensors_of(node)
        taps = tensors[1][0].numel()
        if result.dim() != 4 or 2 * result.numel() * taps < _LEAST_FLOPS:
            continue
        with graph.inserting_before(node):
            called = InGraph(graph, node, lambda *_, like=result: like).call(
                torch.ops.mkldnn._convolution_pointwise.default,
                *(x, weight, bias, padding, stride, dilation, groups, "none", [], ""),
            )
        node.replace_all_uses_with(called)
        graph.erase_node(node)
