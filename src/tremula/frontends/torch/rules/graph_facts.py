"""What has to be known of a whole graph before its ops are lowered one by one, found in two walks over it.

Constants (the compiler computes them), dropout masks (the device never stores them) and the shares of memory
that the user set on the results of products.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import fx

from tremula.frontends.torch.graphs.program import RECORD, Record
from tremula.frontends.torch.rules.call import GraphFacts, bare_name
from tremula.frontends.torch.rules.movement import is_constant
from tremula.frontends.torch.rules.products import source_of

#: ops for whose temporaries a share of memory can be set
_PLANNED = frozenset({
    "mm", "bmm", "mv", "dot", "addmm", "baddbmm", "addmv", "matmul", "linear", "convolution", "embedding", "gather",
    "index_select", "index", "scatter", "scatter_add", "scatter_reduce", "index_put", "mkldnn_rnn_layer",
})  # fmt: skip
_PLANNED_GRADIENTS = frozenset({
    "mm", "bmm", "baddbmm", "convolution_backward", "embedding_dense_backward", "index_put", "scatter_add",
    "mkldnn_rnn_layer_backward",
})  # fmt: skip


def facts_of(graph: fx.Graph) -> GraphFacts:
    """What lowering has to know about `graph`."""
    found = GraphFacts()
    hints: list[tuple[fx.Node, float]] = []
    for node in graph.nodes:
        if node.op != "call_function":
            if node.op == "get_attr":
                found.constants.add(node)
            continue
        name = _name(node)
        if is_constant(node, found.constants):
            found.constants.add(node)
        if name == "bernoulli" and node not in found.masks:
            _note_dropout(node, found)
        elif name == "alias":
            attributes = _record(node).annotation.attributes
            if attributes.get("kind") == "available_memory":
                hints.append((node, float(attributes["proportion"])))
    if hints:
        _note_proportions(graph, hints, found)
    return found


def _name(node: fx.Node) -> str:
    target: Any = node.target
    return bare_name(target._schema.name) if isinstance(target, torch._ops.OpOverload) else ""


def _record(node: fx.Node) -> Record:
    record: Record = node.meta[RECORD]
    return record


def _note_dropout(draw: fx.Node, found: GraphFacts) -> None:
    """A mask is drawn into an empty tensor, divided by the share that is kept, and multiplied with tensors."""
    empty = draw.args[0]
    if not isinstance(empty, fx.Node) or _name(empty) not in ("empty_like", "empty", "new_empty"):
        return
    if len(empty.users) != 1:
        return
    chain = [empty, draw]
    mask = draw
    if len(draw.users) == 1:
        (user,) = draw.users
        if _name(user) == "div" and user.args[0] is draw and not isinstance(user.args[1], fx.Node):
            chain.append(user)
            mask = user
    products = list(mask.users)
    if not products or not all(_multiplies(product, mask) for product in products):
        return
    found.masks.update(dict.fromkeys(chain, products[0]))
    found.dropouts.update(dict.fromkeys(products, mask))


def _multiplies(product: fx.Node, mask: fx.Node) -> bool:
    if _name(product) != "mul" or len(product.args) != 2:
        return False
    result, drawn = product.meta.get("val"), mask.meta.get("val")
    return (
        isinstance(result, torch.Tensor)
        and isinstance(drawn, torch.Tensor)
        and result.shape == drawn.shape
        and sum(argument is mask for argument in product.args) == 1
    )


def _note_proportions(graph: fx.Graph, hints: list[tuple[fx.Node, float]], found: GraphFacts) -> None:
    """The share that was set on a result holds for the op that made it and for its gradients."""
    of_operand: dict[tuple[fx.Node, Any, Any], float] = {}
    for hint, share in hints:
        maker = _maker(hint)
        if maker is None:
            continue
        found.proportions[maker] = share
        record = _record(maker)
        for operand in maker.all_input_nodes:
            of_operand[source_of(operand), record.source, record.annotation.scope] = share
    for node in graph.nodes:
        if node.op == "call_function" and node not in found.proportions and _name(node) in _PLANNED_GRADIENTS:
            record = _record(node)
            for operand in node.all_input_nodes:
                share_of = of_operand.get((source_of(operand), record.source, record.annotation.scope))
                if share_of is not None:
                    found.proportions[node] = share_of
                    break


def _maker(hint: fx.Node) -> fx.Node | None:
    """The product whose result a hint was put on, behind views and the addition of a bias."""
    node = hint
    for _ in range(16):
        argument = node.args[0] if node.args else None
        if not isinstance(argument, fx.Node) or argument.op != "call_function":
            return None
        node = argument
        if _name(node) in _PLANNED:
            return node
    return None
