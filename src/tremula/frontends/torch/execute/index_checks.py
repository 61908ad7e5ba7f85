"""Compares indices with sizes before a call of compiled code, so that a wrong one is an error and not the end of the
process.

Indices that are inputs of the program, or computed of whole numbers alone, are looked at in each call, in a few
microseconds. A program whose indices are computed of anything else gets code with one thread (`settled`), which raises.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import fx

from tremula.frontends.torch.execute.index_bounds import (
    KEEPING,
    Range,
    Selection,
    packet,
    range_of,
    selections,
)
from tremula.frontends.torch.graphs.program import tensors_of

_UNSIGNED = {torch.int64: np.uint64, torch.int32: np.uint32, torch.int16: np.uint16, torch.uint8: np.uint8}


@dataclass(frozen=True)
class IndexChecks:
    """What is to be looked at before a call.

    Attributes:
        held: positions in the device's state, with the values allowed.
        inputs: positions among the inputs, likewise.
        computed: gives further indices of the state and the inputs of one turn, or None if there are none.
        allowed: the values allowed for each of these.
        settled: whether all indices of the program are covered.
    """

    held: Mapping[int, Range]
    inputs: Mapping[int, Range]
    computed: Callable[..., Any] | None
    allowed: Sequence[Range]
    settled: bool

    def sound(self, held: Sequence[torch.Tensor], chunks: Sequence[Sequence[torch.Tensor]]) -> bool:
        """Whether all indices that can be looked at are in range, for the state of one replica."""
        for position, allowed in self.held.items():
            if not within(held[position], allowed):
                return False
        for position, allowed in self.inputs.items():
            if not all(within(part, allowed) for part in _joined(chunks[position])):
                return False
        if self.computed is not None:
            for micro_batch in zip(*chunks, strict=True):
                found = self.computed(*held, *micro_batch)
                if not all(within(index, each) for index, each in zip(found, self.allowed, strict=True)):
                    return False
        return True


def within(index: torch.Tensor, allowed: Range) -> bool:
    """Whether all values are allowed."""
    kind = _UNSIGNED.get(index.dtype)
    if kind is None or not index.numel():
        return not index.numel()
    values = index.numpy()
    # negative numbers are large ones without their sign: one look at the values is enough as a rule
    if int(values.view(kind).max()) <= allowed.high:
        return True
    outside = (values < allowed.low) | (values > allowed.high)
    if allowed.also is not None:
        outside &= values != allowed.also
    return not bool(outside.any())


def _joined(parts: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
    """Parts that follow each other in memory as one tensor, which takes less time to look at."""
    first, last = parts[0], parts[-1]
    size = first.numel()
    distance = (len(parts) - 1) * size * first.element_size()
    if len(parts) == 1 or not first.is_contiguous() or last.data_ptr() - first.data_ptr() != distance:
        return parts
    return (first.as_strided((len(parts) * size,), (1,)),)


def index_checks(step: fx.GraphModule, held: int, inputs: int) -> IndexChecks | None:
    """The checks of a step that takes `held` tensors of the device's state and then `inputs`; None if it needs none."""
    constants = dict(step.named_buffers())
    placeholders = [node for node in step.graph.nodes if node.op == "placeholder"]
    positions = {node: number for number, node in enumerate(placeholders)}
    direct: dict[fx.Node, Range] = {}
    computed: dict[fx.Node, Range] = {}
    known: dict[fx.Node, bool] = {}
    settled = True
    for each in selections(step.graph):
        values = range_of(each.index, constants)
        if values is not None and each.allowed.holds(values):
            continue
        source = _source(each.index)
        if source in positions and not _written(source):
            target, key = direct, source
        elif _of_whole_numbers(each.index, known):
            if _always_within(step, each):
                continue
            target, key = computed, each.index
        else:
            settled = False
            continue
        target[key] = each.allowed if key not in target else target[key].both(each.allowed)
    if not direct and not computed and settled:
        return None
    numbered = {positions[node]: allowed for node, allowed in direct.items()}
    return IndexChecks(
        {number: allowed for number, allowed in numbered.items() if number < held},
        {number - held: allowed for number, allowed in numbered.items() if held <= number < held + inputs},
        _extracted(step, placeholders[: held + inputs], list(computed)) if computed else None,
        list(computed.values()),
        settled,
    )


def _source(node: fx.Node) -> fx.Node:
    """Where the same values come from."""
    while packet(node) in KEEPING or packet(node) == "_to_copy":
        source = node.args[0]
        if not isinstance(source, fx.Node) or not _whole(source):
            break
        node = source
    return node


def _of_whole_numbers(node: fx.Node, known: dict[fx.Node, bool]) -> bool:
    """Whether a node is computed of nothing but whole numbers, without chance, from what no op writes to."""
    if node not in known:
        target = node.target
        if isinstance(target, torch._ops.OpOverload):
            repeats = torch.Tag.nondeterministic_seeded not in target.tags and not target._schema.is_mutable
        else:
            repeats = node.op in ("placeholder", "get_attr") or target is operator.getitem
        fixed = repeats and _whole(node) and not _written(node)
        known[node] = fixed and all(_of_whole_numbers(each, known) for each in node.all_input_nodes)
    return known[node]


def _whole(node: fx.Node) -> bool:
    return all(not tensor.is_floating_point() and not tensor.is_complex() for tensor in tensors_of(node))


def _written(node: fx.Node) -> bool:
    """Whether an op writes to what a node gives."""
    return any(
        isinstance(user.target, torch._ops.OpOverload) and user.target._schema.is_mutable
        for user in node.users
    )


def _always_within(step: fx.GraphModule, selection: Selection) -> bool:
    """Whether indices depend on no input and are in range: known once and for all."""
    if any(node.op == "placeholder" for node in _needed([selection.index])):
        return False
    (values,) = _extracted(step, [], [selection.index])()
    return within(values, selection.allowed)


def _needed(wanted: Sequence[fx.Node]) -> set[fx.Node]:
    """Some nodes with all that they are computed of."""
    needed: set[fx.Node] = set()
    stack = list(wanted)
    while stack:
        node = stack.pop()
        if node not in needed:
            needed.add(node)
            stack += node.all_input_nodes
    return needed


def _extracted(
    step: fx.GraphModule, placeholders: Sequence[fx.Node], wanted: Sequence[fx.Node]
) -> Callable[..., Any]:
    """A function of the state and the inputs that gives the values of some nodes."""
    needed = _needed(wanted)
    graph = fx.Graph()
    copies = {node: graph.placeholder(f"input_{number}") for number, node in enumerate(placeholders)}
    for node in step.graph.nodes:
        if node in needed and node not in copies:
            copies[node] = graph.node_copy(node, lambda operand: copies[operand])
    graph.output(tuple(copies[node] for node in wanted))
    return fx.GraphModule(step, graph)
