"""Accumulation and update as passes over a parameter's tensors.

PopART updates a parameter with a few ops, each one generated vertex: one for every state tensor (Accumulate),
one for the step that they give (AdamUpdater, RMSPropUpdater) and one for the weight (VarUpdate). The captured
graph holds many small element-wise ops instead. They are put together so:

- ops that change the same stored tensor (weight, moment, accumulator), or its copy in fp32, are one pass;
- temporaries that depend on each other and have the same extents are one pass;
- casts and products of a gradient with a scalar belong to the first pass that uses them;
- a pass ends where another pass has read what it is to change next.

A pass is one `Elementwise` work, in the name of its last op; the others are `fused`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from operator import getitem

import torch
from torch import fx

from tremula.frontends.torch.graphs.listing import tensor_name
from tremula.frontends.torch.rules.call import Call
from tremula.frontends.torch.rules.elementwise import PASSES, passes_of
from tremula.frontends.torch.rules.operand import Operand
from tremula.program.lowered import Lowered
from tremula.program.op import Phase
from tremula.program.work import Cast, Elementwise, Work

_CASTS = frozenset({"_to_copy", "copy"})
_VIEWS = frozenset({
    torch.ops.aten.unbind.int, torch.ops.aten.view.default, torch.ops.aten.select.int, torch.ops.aten.alias.default,
    torch.ops.aten.detach.default, torch.ops.aten.expand.default,
})  # fmt: skip


@dataclass(eq=False)
class _Pass:
    """Ops that become one walk over the data. A closed pass takes no more of them."""

    elements: int
    calls: list[Call] = field(default_factory=list)
    closed: bool = False
    #: whether it writes to a tensor that outlives the step
    changes_stored: bool = False


class Passes:
    """The passes of one graph, found in one walk over its calls in order.

    A pass is done where its last op stands. It is closed when anything else reads what it made, or overwrites
    what it read: so all that it needs is done before it, and all that needs it comes after.
    """

    def __init__(self, calls: Iterable[Call]) -> None:
        self._passes: list[_Pass] = []
        self._pass_of: dict[fx.Node, _Pass] = {}
        self._position: dict[fx.Node, int] = {}
        #: the tensor that an op changes: a placeholder or the op that allocated it
        self._root: dict[fx.Node, fx.Node] = {}
        #: by root: the pass that changed it last, and the passes that read it since
        self._changed_by: dict[fx.Node, _Pass] = {}
        self._read_by: dict[fx.Node, list[_Pass]] = {}
        #: casts and scalings that wait for their first user
        self._waiting: dict[fx.Node, Call] = {}
        for position, call in enumerate(calls):
            self._position[call.node] = position
            if call.name in _CASTS or (call.name in PASSES and len(call.outputs) == 1):
                self._add(call)
            else:
                self._pass_by(call)
        for node in list(self._waiting):
            self._release(node)

    def lowered(self) -> dict[fx.Node, Lowered]:
        """What becomes of every op that is part of a pass."""
        found: dict[fx.Node, Lowered] = {}
        for one in self._passes:
            if one.calls:
                found.update(self._lower(one))
        return found

    def _root_of(self, node: fx.Node) -> fx.Node:
        return self._root.get(node, node)

    def _pass_by(self, call: Call) -> None:
        """An op that is in no pass."""
        node = call.node
        if node in call.facts.constants:
            return  # it takes at most a shape from others
        sources = node.all_input_nodes
        if call.node.target in _VIEWS and sources:
            self._root[node] = self._root_of(sources[0])
        for user in node.users:
            if user.target is getitem:
                self._root[user] = self._root_of(node)
        for source in sources:
            self._release(source)
            self._note_read(source, None)
            if call.in_place:
                self._note_change(source, None)

    def _add(self, call: Call) -> None:
        node = call.node
        first = node.args[0] if node.args else None
        if isinstance(first, fx.Node):
            # a cast of a stored tensor stands for it until it is copied back
            stand_in = call.name == "_to_copy" and first.op == "placeholder"
            if call.in_place or stand_in:
                self._root[node] = self._root_of(first)
        if self._may_wait(call):
            self._waiting[node] = call
            return
        one = self._pass_for(call)
        self._take_waiting(node, one)
        self._put(call, one)

    def _may_wait(self, call: Call) -> bool:
        """A cast, or a product of an input with a scalar: cheap enough to be done where it is used."""
        if call.in_place or call.name not in ("_to_copy", "mul"):
            return False
        large = [o.node for o in call.tensors() if o.elements > 1 or call.output.elements == 1]
        return (
            len(large) == 1
            and large[0] is not None
            and (large[0].op == "placeholder" or large[0] in self._waiting)
        )

    def _release(self, node: fx.Node) -> None:
        """A waiting op that something else than a pass needs becomes a pass of its own."""
        call = self._waiting.pop(node, None)
        if call is not None:
            for source in node.all_input_nodes:
                self._release(source)
            self._put(call, self._new(call))

    def _take_waiting(self, node: fx.Node, one: _Pass) -> None:
        for source in node.all_input_nodes:
            waiting = self._waiting.get(source)
            if waiting is None:
                continue
            if waiting.output.elements != one.elements:
                self._release(source)
                continue
            del self._waiting[source]
            self._take_waiting(source, one)
            self._put(waiting, one)

    def _pass_for(self, call: Call) -> _Pass:
        """The pass that `call` can still join, or a new one."""
        node, elements = call.node, call.output.elements
        candidates = [self._pass_of[source] for source in node.all_input_nodes if source in self._pass_of]
        if call.in_place:
            changed = self._changed_by.get(self._root_of(node))
            candidates = [] if changed is None else [changed]
        else:
            candidates = [one for one in candidates if not one.changes_stored]
        open_ones = [one for one in candidates if not one.closed and one.elements == elements]
        if not open_ones:
            return self._new(call)
        for other in open_ones[:-1]:
            self._merge(other, open_ones[-1])
        return open_ones[-1]

    def _merge(self, other: _Pass, one: _Pass) -> None:
        """Two passes that nobody has read from yet are as good as one."""
        if other is one:
            return
        for call in other.calls:
            self._pass_of[call.node] = one
            root = self._root_of(call.node)
            if self._changed_by.get(root) is other:
                self._changed_by[root] = one
            for source in call.node.all_input_nodes:
                self._read_by.setdefault(self._root_of(source), []).append(one)
        one.calls.extend(other.calls)
        other.calls.clear()

    def _new(self, call: Call) -> _Pass:
        one = _Pass(call.output.elements)
        self._passes.append(one)
        return one

    def _put(self, call: Call, one: _Pass) -> None:
        node = call.node
        one.calls.append(call)
        self._pass_of[node] = one
        one.changes_stored |= call.in_place and self._root_of(node).op == "placeholder"
        for source in node.all_input_nodes:
            self._note_read(source, one)
        if call.in_place or self._root_of(node) is node:
            self._note_change(node, one)

    def _note_read(self, source: fx.Node, reader: _Pass | None) -> None:
        """What another pass made can only be read once that pass is complete."""
        root = self._root_of(source)
        for maker in (self._pass_of.get(source), self._changed_by.get(root)):
            if maker is not None and maker is not reader:
                maker.closed = True
        if reader is not None:
            self._read_by.setdefault(root, []).append(reader)

    def _note_change(self, node: fx.Node, changer: _Pass | None) -> None:
        """What other passes have read can only be changed once they are complete."""
        root = self._root_of(node)
        for reader in self._read_by.pop(root, ()):
            if reader is not changer:
                reader.closed = True
        if changer is not None:
            self._changed_by[root] = changer

    def _lower(self, one: _Pass) -> dict[fx.Node, Lowered]:
        calls = sorted(one.calls, key=lambda call: self._position[call.node])
        nodes = {call.node for call in calls}
        last = calls[-1]
        outside: dict[str, None] = {}
        for call in calls:
            for source in call.node.all_input_nodes:
                if source not in nodes:
                    outside[tensor_name(source)] = None
        found: dict[fx.Node, Lowered] = {}
        for call in calls:
            if call is last:
                found[call.node] = call.lowered((self._work(one, calls),), reads=tuple(outside))
                continue
            only_here = all(user in nodes for user in call.node.users)
            stored = not only_here or self._root_of(call.node).op == "placeholder"
            found[call.node] = call.lowered(
                (), "fused", reads=(), stored=stored, fused_into=last.op.name
            )  # fmt: skip
        return found

    def _work(self, one: _Pass, calls: list[Call]) -> Work:
        nodes = {call.node for call in calls}
        large: set[fx.Node] = set()
        read: list[Operand] = []
        for call in calls:
            for o in call.tensors():
                if o.node is not None and o.node not in nodes and o.elements == one.elements:
                    large.add(self._root_of(o.node))
                    read.append(o)
        stored = calls[-1].output.dtype
        computing = [call for call in calls if call.name not in _CASTS]
        if not computing:
            return Cast(one.elements, read[0].dtype if read else stored, stored)
        dtypes = {call.output.dtype for call in computing} - {"bool"}
        dtype = "fp32" if "fp32" in dtypes else min(dtypes, default=stored)
        operation = "+".join(name for call in computing for name in passes_of(call))
        if calls[-1].op.phase is Phase.ACCUMULATE and operation == "add":
            operation = "scaled_add"
        return Elementwise(
            operation=operation,
            elements=one.elements,
            dtype=dtype,
            operands=max(1, len(large)),
            output_dtype=stored if stored != dtype else None,
            in_place=self._root_of(calls[-1].node).op == "placeholder",
        )
