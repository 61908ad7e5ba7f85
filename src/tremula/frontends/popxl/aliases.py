"""Which tensors of a graph share memory, and where copies are needed so that only what is in place shows as such."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tremula.frontends.popxl.model import Graph, Op, Tensor
from tremula.frontends.popxl.ops.table import Alias, find

CALLS = ("Call", "Loop", "If")


@dataclass
class Summary:
    """What callers have to know of a graph.

    Attributes:
        modified: indices of the inputs that it writes to.
        aliases: per output, the inputs that it may share memory with.
    """

    modified: frozenset[int] = frozenset()
    aliases: tuple[frozenset[int], ...] = ()


@dataclass
class Sharing:
    """The result for one graph: ops' outputs that are to be copied, inputs of calls as well, and constants."""

    copied_outputs: set[Tensor] = field(default_factory=set)
    #: per call, indices of inputs to copy
    copied_inputs: dict[Op, set[int]] = field(default_factory=dict)
    copied_constants: set[Tensor] = field(default_factory=set)
    summary: Summary = field(default_factory=Summary)


class _Groups:
    """Tensors that share memory, joined step by step."""

    def __init__(self) -> None:
        self._parent: dict[Tensor, Tensor] = {}
        self.written: set[Tensor] = set()
        #: which tensor is written to, and by the op at which place of the schedule
        self._writes: list[tuple[int, Tensor]] = []

    def root(self, tensor: Tensor) -> Tensor:
        parent = self._parent.setdefault(tensor, tensor)
        while parent is not self._parent[parent]:
            parent = self._parent[parent]
        self._parent[tensor] = parent
        return parent

    def join(self, first: Tensor, second: Tensor) -> None:
        first, second = self.root(first), self.root(second)
        if first is second:
            return
        self._parent[second] = first
        if second in self.written:
            self.written.add(first)

    def write(self, tensor: Tensor, place: int) -> None:
        self.written.add(self.root(tensor))
        self._writes.append((place, tensor))

    def is_written_between(self, tensor: Tensor, first: int, last: int) -> bool:
        """Whether an op after `first`, up to `last`, writes to the tensor's memory."""
        root = self.root(tensor)
        return any(first < place <= last and self.root(each) is root for place, each in self._writes)

    def is_written(self, tensor: Tensor) -> bool:
        return self.root(tensor) in self.written


def inner_inputs(op: Op) -> dict[int, tuple[tuple[int, int], ...]]:
    """Of a call: by input index, the graphs called and their input indices that it goes to."""
    if op.kind == "Call":
        return {index: ((0, index),) for index in op.inputs}
    if op.kind == "Loop":
        return {index: ((0, index),) for index in op.inputs if index >= 2}
    found: dict[int, tuple[tuple[int, int], ...]] = {}
    for place, mapping in enumerate(op.attributes["inputs"]):
        for outer, inner in mapping.items():
            found[outer] = (*found.get(outer, ()), (place, inner))
    return found


def sharing_of(graph: Graph, ops: list[Op], summary_of: Callable[[Graph], Summary]) -> Sharing:
    """Decide for the ops of `graph`; `summary_of` knows the graphs that they call."""
    groups = _Groups()
    result = Sharing()
    places = {op: place for place, op in enumerate(ops)}
    for op, place in places.items():
        _in_place(op, place, groups, result, summary_of)
    for op in ops:
        if op.kind in CALLS:
            _calls(op, groups, result, summary_of)
        elif find(op.kind).alias is Alias.MAYBE:
            _perhaps_shared(op, groups, result, places)
    constants = [tensor for tensor in graph.tensors.values() if tensor.kind.value == "Const"]
    result.copied_constants = {tensor for tensor in constants if groups.is_written(tensor)}
    roots = {groups.root(tensor): index for index, tensor in enumerate(graph.inputs)}
    inputs: dict[Tensor, set[int]] = {}
    for index, tensor in enumerate(graph.inputs):
        inputs.setdefault(groups.root(tensor), set()).add(index)
    result.summary = Summary(
        frozenset(index for root, index in roots.items() if root in groups.written),
        tuple(frozenset(inputs.get(groups.root(tensor), ())) for tensor in graph.outputs),
    )
    return result


def _in_place(
    op: Op, place: int, groups: _Groups, result: Sharing, summary_of: Callable[[Graph], Summary]
) -> None:
    if op.kind in CALLS:
        for index, targets in inner_inputs(op).items():
            written = any(inner in summary_of(op.called[called]).modified for called, inner in targets)
            if written and op.modified.get(index):
                groups.write(op.inputs[index], place)
        return
    kernel = find(op.kind)
    for index in kernel.modifies:
        if index in op.inputs:
            groups.write(op.inputs[index], place)
    if kernel.modifies and kernel.returns_modified:
        groups.join(op.inputs[kernel.modifies[0]], op.outputs[0])
    elif kernel.alias is Alias.VIEW:
        groups.join(op.inputs[0], op.outputs[0])


def _perhaps_shared(op: Op, groups: _Groups, result: Sharing, places: Mapping[Op, int]) -> None:
    inputs = op.input_list
    changing = any(groups.is_written(tensor) for tensor in inputs)
    for tensor in op.outputs.values():
        if changing and not groups.is_written(tensor) and _is_read_before(tensor, op, groups, places):
            continue
        if changing or groups.is_written(tensor):
            result.copied_outputs.add(tensor)
        else:
            for each in inputs:
                groups.join(each, tensor)


def _is_read_before(tensor: Tensor, op: Op, groups: _Groups, places: Mapping[Op, int]) -> bool:
    """Whether all that reads the result of `op` makes something of its own of it, before the inputs of `op` change."""
    if tensor in op.graph.outputs or any(each not in places for each in tensor.consumers):
        return False
    for each in tensor.consumers:
        if each.kind in CALLS or find(each.kind).alias is not Alias.FRESH:
            return False
        if each.settings.fragment is not op.settings.fragment:
            return False
    last = max((places[each] for each in tensor.consumers), default=places[op])
    return not any(groups.is_written_between(each, places[op], last) for each in op.input_list)


def _calls(op: Op, groups: _Groups, result: Sharing, summary_of: Callable[[Graph], Summary]) -> None:
    summaries = [summary_of(graph) for graph in op.called]
    targets = inner_inputs(op)
    by_reference = {
        groups.root(op.inputs[index])
        for index, inner in targets.items()
        if op.modified.get(index) and _written(summaries, inner)
    }
    copied = result.copied_inputs.setdefault(op, set())
    for index, inner in targets.items():
        written = _written(summaries, inner)
        if (written and not op.modified.get(index)) or (
            not written and groups.root(op.inputs[index]) in by_reference
        ):
            copied.add(index)
    _outputs_of_call(op, summaries, targets, groups, result, copied)


def _written(summaries: list[Summary], inner: tuple[tuple[int, int], ...]) -> bool:
    return any(index in summaries[place].modified for place, index in inner)


def _outputs_of_call(
    op: Op,
    summaries: list[Summary],
    targets: Mapping[int, tuple[tuple[int, int], ...]],
    groups: _Groups,
    result: Sharing,
    copied: set[int],
) -> None:
    shift = 1 if op.kind == "Loop" else 0
    for index, tensor in op.outputs.items():
        shared = set()
        for outer, inner in targets.items():
            for place, number in inner:
                aliases = summaries[place].aliases
                if index + shift < len(aliases) and number in aliases[index + shift] and outer not in copied:
                    shared.add(outer)
        if op.kind == "Loop":
            # a value that is carried may leave as it came
            shared |= {outer for outer in targets if outer - 2 == index and outer not in copied}
        if groups.is_written(tensor) or any(groups.is_written(op.inputs[each]) for each in shared):
            result.copied_outputs.add(tensor)
        else:
            for each in shared:
                groups.join(op.inputs[each], tensor)
