"""Half precision as a graph of float32 ops and roundings, made of operators that the compiler takes as well.

An op on halves takes float32 copies of its operands, computes in float32, and its results are rounded. A copy serves
all ops that read the same value; where roundings are at random, the rounded float32 tensor itself does.
"""

from __future__ import annotations

import operator
from collections import defaultdict
from typing import Any

import torch
from torch import fx
from torch.utils import _pytree as pytree

from tremula.frontends.torch.execute import half_ops, rounding
from tremula.frontends.torch.execute.computed_in_float import ComputedInFloat, widened
from tremula.frontends.torch.execute.folding import memory_root, written_operands
from tremula.frontends.torch.execute.half_ops import concerns_half, in_half, name_of
from tremula.frontends.torch.execute.half_products import PRODUCTS, float_is_faster, in_pieces
from tremula.frontends.torch.execute.insertion import InGraph
from tremula.frontends.torch.graphs.effects import WRITES_STATISTICS, updates_statistics
from tremula.frontends.torch.graphs.program import tensors_of

_ATEN = torch.ops.aten
_HALF = torch.float16
_CAST, _COPY = _ATEN._to_copy.default, _ATEN.copy_.default


class Widening:
    """Rewrites one graph."""

    def __init__(self, graph: fx.Graph, *, stochastic: bool, half_partials: bool) -> None:
        self._graph = graph
        self._stochastic = stochastic
        self._half_partials = half_partials
        #: float32 copies of float16 nodes, with the version of the memory that they are of
        self._copies: dict[fx.Node, tuple[fx.Node, int]] = {}
        self._versions: dict[fx.Node, int] = defaultdict(int)

    def rewrite(self) -> None:
        """Rewrite all ops on halves."""
        for node in list(self._graph.nodes):
            if node.op != "call_function" or not isinstance(node.target, torch._ops.OpOverload):
                continue
            written = {memory_root(operand) for operand in self._written(node)}
            if concerns_half(node):
                self._follow(node)
            for root in written:
                self._versions[root] += 1
        if self._stochastic:
            _add_draws(self._graph)

    def _written(self, node: fx.Node) -> list[fx.Node]:
        statistics = [node.args[i] for i in WRITES_STATISTICS.get(node.target, ())]  # type: ignore[call-overload]
        return written_operands(node) + [each for each in statistics if isinstance(each, fx.Node)]

    def _follow(self, node: fx.Node) -> None:
        op: Any = node.target
        if op.namespace != "aten":
            if self._stochastic and in_half(node):
                node.target = ComputedInFloat(node, stochastic=True)
        elif op in (_CAST, _COPY):
            self._cast(node)
        elif half_ops.draws(op):
            pass
        elif half_ops.is_move(node):
            if self._stochastic and self._is_worth_moving_wide(node):
                self._widen(node, exact=True)
        elif self._stochastic or not (self._is_fast_product(node) or half_ops.stays_in_half(node)):
            self._widen(node)

    def _is_fast_product(self, node: fx.Node) -> bool:
        return node.target in PRODUCTS and not self._half_partials and not float_is_faster()

    def _cast(self, node: fx.Node) -> None:
        """Casts and copies into float16: they round."""
        position = 1 if node.target is _COPY else 0
        source = node.args[position]
        if not self._stochastic or not in_half(node) or not isinstance(source, fx.Node):
            return
        if tensors_of(source)[0].dtype is not torch.float32:
            return
        with self._graph.inserting_before(node):
            rounded = InGraph(self._graph, node).like(rounding.round_stochastically, source)
        node.update_arg(position, rounded)
        if node.target is _CAST:
            self._copies[node] = rounded, 0

    def _is_worth_moving_wide(self, node: fx.Node) -> bool:
        """Whether an op that rounds nothing can take operands that are there in float32, and give float32."""
        op: Any = node.target
        if op._schema.is_mutable or any(a.alias_info is not None for a in op._schema.arguments):
            return False
        return half_ops.constants_fit(node) and any(
            self._current(operand) is not None for operand in node.all_input_nodes
        )

    def _widen(self, node: fx.Node, *, exact: bool = False) -> None:
        """Compute a node in float32; `exact`: its results need no rounding."""
        op: Any = node.target
        if op._schema.is_mutable:
            self._widen_writing(node)
            return
        emit = InGraph(self._graph, node)
        with self._graph.inserting_before(node):
            args, kwargs = self._wide_arguments(node)
            statistics = self._private_statistics(node)
            written = [(node.args[position], copy) for position, copy in statistics.items()]
            args = tuple(statistics.get(position, arg) for position, arg in enumerate(args))
            pieces = None
            if self._half_partials and op in PRODUCTS:
                pieces = in_pieces(emit, op, args, kwargs, self._rounded_between)
        if pieces is not None:
            node.replace_all_uses_with(pieces)
            self._graph.erase_node(node)
            self._round(pieces, exact=exact)
            return
        node.args, node.kwargs = args, kwargs
        halves = [item for item in node.users if item.target is operator.getitem and in_half(item)]
        if isinstance(node.meta["val"], torch.Tensor) and in_half(node):
            halves = [node]
        for each in {node, *halves}:
            each.meta = {**each.meta, "val": pytree.tree_map_only(torch.Tensor, widened, each.meta["val"])}
        for each in halves:
            self._round(each, exact=exact)
        with self._graph.inserting_before(node.next):
            for operand, copy in written:
                value = emit.like(rounding.round_stochastically, copy) if self._stochastic else copy
                emit.call(_COPY, operand, value)

    def _widen_writing(self, node: fx.Node) -> None:
        """An op that writes its first operand."""
        op: Any = node.target
        target = node.args[0]
        form = half_ops.functional_form(op)
        if form is None or not isinstance(target, fx.Node):
            node.target = ComputedInFloat(node, stochastic=self._stochastic)
            return
        with self._graph.inserting_before(node):
            args, kwargs = self._wide_arguments(node)
            if not in_half(target):
                node.args, node.kwargs = args, kwargs
                return
            emit = InGraph(self._graph, node)
            result = emit.call(form, *args, **kwargs)
            if self._stochastic:
                result = emit.like(rounding.round_stochastically, result)
            copy = emit.call(_COPY, target, result)
        node.replace_all_uses_with(copy)
        self._graph.erase_node(node)

    def _wide_arguments(self, node: fx.Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
        args, kwargs = fx.node.map_arg((node.args, node.kwargs), self._wide)
        args, kwargs = fx.node.map_aggregate(
            (args, kwargs), lambda value: widened(value) if isinstance(value, torch.dtype) else value
        )
        return tuple(args), dict(kwargs)

    def _private_statistics(self, node: fx.Node) -> dict[int, fx.Node]:
        """Float32 copies of the running statistics that a normalisation writes, by position."""
        if not updates_statistics(node):
            return {}
        positions = WRITES_STATISTICS[node.target]  # type: ignore[index]
        operands = [(position, node.args[position]) for position in positions]
        return {
            position: self._cast_to(operand, torch.float32)
            for position, operand in operands
            if isinstance(operand, fx.Node) and in_half(operand)
        }

    def _round(self, node: fx.Node, *, exact: bool) -> None:
        """Let the users of a float32 node take its value rounded."""
        users = list(node.users)
        rounded = node
        if self._stochastic and not exact:
            with self._graph.inserting_after(node):
                rounded = InGraph(self._graph, node).like(rounding.round_stochastically, node)
        with self._graph.inserting_after(rounded):
            half = self._cast_to(rounded, _HALF)
        for user in users:
            user.replace_input_with(node, half)
        if self._stochastic:
            self._copies[half] = rounded, 0

    def _rounded_between(self, total: fx.Node) -> fx.Node:
        """A partial sum, rounded."""
        if self._stochastic:
            return InGraph(self._graph, total).like(rounding.round_stochastically, total)
        return self._cast_to(self._cast_to(total, _HALF), torch.float32)

    def _cast_to(self, node: fx.Node, dtype: torch.dtype) -> fx.Node:
        copy = self._graph.call_function(_CAST, (node,), {"dtype": dtype})
        copy.meta = {**node.meta, "val": node.meta["val"].to(dtype)}
        return copy

    def _version(self, node: fx.Node) -> int:
        return self._versions[memory_root(node)]

    def _current(self, node: fx.Node) -> fx.Node | None:
        """A float32 copy of a float16 node as it is now, if there is one."""
        copy, version = self._copies.get(node, (None, -1))
        return copy if version == self._version(node) else None

    def _wide(self, node: fx.Node) -> fx.Node:
        """A node's value in float32: itself if it is not a half."""
        value = node.meta.get("val")
        if not isinstance(value, torch.Tensor) or value.dtype is not _HALF:
            return node
        copy = self._current(node) or self._view_of_copy(node) or self._cast_to(node, torch.float32)
        self._copies[node] = copy, self._version(node)
        return copy

    def _view_of_copy(self, node: fx.Node) -> fx.Node | None:
        """The view of a float32 copy instead of a float32 copy of a view."""
        op: Any = node.target
        if not isinstance(op, torch._ops.OpOverload) or not isinstance(node.args[0], fx.Node):
            return None
        source, name = node.args[0], name_of(op)
        if op is _ATEN.view.dtype or not in_half(source):
            return None
        if name in half_ops.WHOLE_VIEWS or (name in half_ops.PART_VIEWS and self._current(source)):
            return InGraph(self._graph, node).call(op, self._wide(source), *node.args[1:], **node.kwargs)
        return None


def _add_draws(graph: fx.Graph) -> None:
    """Give the roundings their random numbers, drawn at once where the graph begins."""
    nodes = [node for node in graph.nodes if node.target is rounding.round_stochastically]
    if not nodes:
        return
    sizes = [rounding.factor_sizes(node.meta["val"].shape) for node in nodes]
    flat = [size for each in sizes for size in each]
    first = next(node for node in graph.nodes if node.op != "placeholder")
    emit = InGraph(graph, nodes[0])
    with graph.inserting_before(first):
        args, kwargs = rounding.draw_arguments(sum(flat))
        numbers = graph.call_function(_ATEN.randint.low, args, kwargs)
        numbers.meta = {**nodes[0].meta, "val": nodes[0].meta["val"].new_empty([sum(flat)])}
        parts = emit.call(_ATEN.split_with_sizes.default, emit.call(_CAST, numbers, dtype=torch.int32), flat)
        items = iter([emit.item(parts, index) for index in range(len(flat))])
    for node, each in zip(nodes, sizes, strict=True):
        node.args = (node.args[0], *(next(items) for _ in each))


def expand_roundings(graph: fx.Graph) -> None:
    """Take roundings at random apart into elementwise ops."""
    for node in list(graph.nodes):
        if node.target is not rounding.round_stochastically:
            continue
        value, *factors = node.args
        whole = factors[0].args[0].args[0]
        if whole.target is _CAST:  # whole numbers in float32 from here on
            with graph.inserting_before(whole):
                whole.replace_all_uses_with(whole.args[0])
            graph.erase_node(whole)
        with graph.inserting_before(node):
            emit = _Unchecked(graph, node)
            shape = node.meta["val"].shape
            node.replace_all_uses_with(rounding.rounded_by_element(emit, value, shape, factors))
        graph.erase_node(node)


class _Unchecked(InGraph):
    """Elementwise ops whose results are like the node that they are for; the compiler finds out by itself."""

    def call(self, op: torch._ops.OpOverload, *args: Any, **kwargs: Any) -> fx.Node:
        node = self._graph.call_function(op, args, kwargs)
        node.meta = self._meta
        return node
