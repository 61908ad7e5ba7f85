"""Inference with what depends on the weights alone done once per set of weights: ops on weights have a graph of their
own, and normalisations with fixed statistics are folded into the convolution before them (results round differently).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import fx
from torch.fx._lazy_graph_module import _LazyGraphModule

from tremula.frontends.torch.execute.products import LARGE_PRODUCT_FLOPS
from tremula.frontends.torch.graphs.effects import updates_statistics
from tremula.frontends.torch.graphs.program import TorchProgram, tensors_of

_ATEN = torch.ops.aten
_NORM = _ATEN.native_batch_norm.default
_CONVOLUTION = _ATEN.convolution.default
_DETACH = _ATEN.detach.default
_TRANSPOSED = (_ATEN.t.default, _ATEN.transpose.int, _ATEN.permute.default)


@dataclass(frozen=True)
class Folded:
    """`prepare` turns parameters and buffers into what `step` takes before the inputs."""

    prepare: fx.GraphModule
    step: fx.GraphModule
    #: how many tensors `prepare` gives
    held: int


def folded(program: TorchProgram) -> Folded | None:
    """The two graphs, or None where weights change as the program runs."""
    if program.training or program.mutated_buffers:
        return None
    graph = fx.Graph()
    graph.output(graph.graph_copy(program.step.graph, {}))
    for node in list(graph.nodes):
        if node.target is _NORM:
            _fold_norm(graph, node)
    drop_unused(graph)
    held = len(program.interface.parameters) + len(program.interface.buffers)
    early = _early(graph, held)
    if any(memory_root(operand) in early for node in graph.nodes for operand in written_operands(node)):
        return None
    return _split(program.step, graph, early)


def unwritten(root: torch.nn.Module, graph: fx.Graph) -> fx.GraphModule:
    """A module whose Python code is written when it is run: not every op has a name that can be written down."""
    return _LazyGraphModule(root, graph)


def drop_unused(graph: fx.Graph) -> None:
    """Remove ops whose results nobody takes and that do nothing else."""
    for node in reversed(list(graph.nodes)):
        if node.op == "get_attr" and not node.users:
            graph.erase_node(node)
        if node.op != "call_function" or node.users:
            continue
        target: Any = node.target
        if not isinstance(target, torch._ops.OpOverload):
            if getattr(target, "__name__", "") == "getitem":
                graph.erase_node(node)
            continue
        if _is_pure(target) and not updates_statistics(node):
            graph.erase_node(node)


def drop_detached(graph: fx.Graph) -> None:
    """Remove detach ops: they matter to autograd, which has already run."""
    for node in list(graph.nodes):
        if node.op == "call_function" and node.target is _DETACH:
            source = node.args[0]
            node.replace_all_uses_with(source)
            graph.erase_node(node)


def _is_pure(op: torch._ops.OpOverload) -> bool:
    """Whether an op only computes: it writes nothing and draws no random numbers."""
    seeded = torch.Tag.nondeterministic_seeded in op.tags
    return op.namespace == "aten" and not op._schema.is_mutable and not seeded


def _fold_norm(graph: fx.Graph, norm: fx.Node) -> None:
    source, gamma, beta, mean, variance, training, _momentum, eps = norm.args
    results = [user for user in norm.users if user.args[1] == 0]
    others = [user for user in norm.users if user.args[1] != 0 and user.users]
    if training or others or mean is None or not isinstance(source, fx.Node):
        return
    # Half precision rounds between the two: folding would change more than the order of operations.
    half = any(tensor.dtype is not torch.float32 for tensor in (*tensors_of(source), *tensors_of(norm)))
    if source.target is not _CONVOLUTION or len(source.users) != 1 or half:
        return
    weight, bias, transposed, groups = source.args[1], source.args[2], source.args[6], source.args[8]
    if transposed and groups != 1:
        return
    shape = [1] * tensors_of(weight)[0].dim()  # type: ignore[arg-type]
    shape[1 if transposed else 0] = -1

    def call(op: Any, *args: Any) -> fx.Node:
        node = graph.call_function(op, args)
        values = fx.node.map_arg(args, lambda operand: operand.meta["val"])
        node.meta["val"] = op(*values)
        return node

    with graph.inserting_before(source):
        scale = call(_ATEN.rsqrt.default, call(_ATEN.add.Scalar, variance, eps))
        if gamma is not None:
            scale = call(_ATEN.mul.Tensor, scale, gamma)
        shift = call(_ATEN.neg.default, mean) if bias is None else call(_ATEN.sub.Tensor, bias, mean)
        shift = call(_ATEN.mul.Tensor, shift, scale)
        if beta is not None:
            shift = call(_ATEN.add.Tensor, shift, beta)
        scaled = call(_ATEN.mul.Tensor, weight, call(_ATEN.view.default, scale, shape))
    source.args = (source.args[0], scaled, shift, *source.args[3:])
    for result in results:
        result.replace_all_uses_with(source)


def _early(graph: fx.Graph, held: int) -> set[fx.Node]:
    """What depends on the first `held` inputs alone, and is not handed out: the user may write to a result."""
    returned = {memory_root(node) for node in graph.output_node().all_input_nodes}
    early = set([node for node in graph.nodes if node.op == "placeholder"][:held])
    for node in graph.nodes:
        movable = node.op == "get_attr" or (node.op == "call_function" and _hoistable(node, early))
        if movable and node not in returned:
            early.add(node)
    return early


def memory_root(node: fx.Node) -> fx.Node:
    """The op that made the memory which a node's value lies in."""
    while node.op == "call_function":
        target: Any = node.target
        if isinstance(target, torch._ops.OpOverload):
            aliased = [
                node.args[position]
                for position, argument in enumerate(target._schema.arguments)
                if argument.alias_info is not None and position < len(node.args)
            ]
            if not aliased or not isinstance(aliased[0], fx.Node):
                return node
            node = aliased[0]
        else:
            node = node.all_input_nodes[0]
    return node


def written_operands(node: fx.Node) -> list[fx.Node]:
    """What an op writes in place."""
    target: Any = node.target
    if node.op != "call_function" or not isinstance(target, torch._ops.OpOverload):
        return []
    found: list[fx.Node] = []
    for position, argument in enumerate(target._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            value = node.args[position] if position < len(node.args) else node.kwargs.get(argument.name)
            values = value if isinstance(value, list | tuple) else (value,)
            found += [operand for operand in values if isinstance(operand, fx.Node)]
    return found


def _split(origin: fx.GraphModule, graph: fx.Graph, early: set[fx.Node]) -> Folded:
    """Cut a graph into the ops of `early` and the rest."""
    output = graph.output_node()
    rest = [node for node in graph.nodes if node not in early and node is not output]
    taken = [node for node in early if any(user not in early for user in node.users)]
    order = {node: index for index, node in enumerate(graph.nodes)}
    taken.sort(key=order.__getitem__)

    prepare = fx.Graph()
    first: dict[fx.Node, fx.Node] = {}
    for node in sorted(early, key=order.__getitem__):
        first[node] = prepare.node_copy(node, first.__getitem__)
    laid = {node for node in taken if _is_better_laid_out(node, early)}
    whole: dict[str, Any] = {"memory_format": torch.contiguous_format}
    for node in laid:
        first[node] = prepare.call_function(_ATEN.clone.default, (first[node],), whole)
    prepare.output([first[node] for node in taken])

    step = fx.Graph()
    second: dict[fx.Node, fx.Node] = {}
    for node in taken:
        second[node] = step.placeholder(f"prepared_{len(second)}")
        second[node].meta = dict(node.meta)
        if node in laid:
            second[node].meta["val"] = node.meta["val"].clone(**whole)
    for node in rest:
        second[node] = step.node_copy(node, second.__getitem__)
    step.output(fx.node.map_arg(output.args[0], second.__getitem__))
    return Folded(unwritten(origin, prepare), unwritten(origin, step), len(taken))


def _is_better_laid_out(node: fx.Node, early: set[fx.Node]) -> bool:
    """Whether a transposed weight is only the right matrix of small products: these read its rows. (Large ones have it
    packed, see `packing`.)
    """
    if node.target not in _TRANSPOSED:
        return False
    (matrix,) = tensors_of(node)
    if matrix.dim() != 2 or matrix.dtype is not torch.float32 or matrix.is_contiguous():
        return False
    later = [user for user in node.users if user not in early]
    return bool(later) and all(_small_product(user, node) for user in later)


def _small_product(node: fx.Node, right: fx.Node) -> bool:
    place = {_ATEN.mm.default: 1, _ATEN.addmm.default: 2}.get(node.target)  # type: ignore[call-overload]
    if place is None or node.args[place] is not right or node.args.count(right) > 1:
        return False
    rows, columns = tensors_of(node)[0].shape
    return bool(2 * rows * columns * tensors_of(right)[0].shape[0] < LARGE_PRODUCT_FLOPS)


def _hoistable(node: fx.Node, early: set[fx.Node]) -> bool:
    target: Any = node.target
    is_op = isinstance(target, torch._ops.OpOverload)
    if not (_is_pure(target) if is_op else getattr(target, "__name__", "") == "getitem"):
        return False
    sources = node.all_input_nodes
    return bool(sources) and all(source in early for source in sources)
