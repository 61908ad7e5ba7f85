"""Programs as control trees of the chip model, with their copies, transfers and library calls in lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.libs.gcl.links import between_ipus
from tremula.frontends.poplar.program import programs as p
from tremula.frontends.poplar.program.numbering import Node
from tremula.frontends.poplar.rules.elements import ElementNumbers
from tremula.program import placed
from tremula.program import placed_steps as s
from tremula.program.placed import Peer, Runs


@dataclass(eq=False)
class Leaves:
    """What the leaves of the control trees name by position."""

    numbers: ElementNumbers
    copies: list[placed.Copy] = field(default_factory=list)
    transfers: list[placed.Transfer] = field(default_factory=list)
    libraries: list[placed.Library] = field(default_factory=list)
    #: elements that each library call reads and writes
    operands: list[tuple[Runs, Runs]] = field(default_factory=list)

    def copy(self, node: Node, source: View, target: View, *, across_replicas: bool = False) -> s.Step:
        """A copy between elements of the device."""
        runs = self.numbers.of_view(source), self.numbers.of_view(target)
        self.copies.append(placed.Copy(node.program.name, *runs, across_replicas))
        return s.RunCopy(node.id, len(self.copies) - 1)

    def transfer(self, node: Node, handle: str, peer: Peer, to_device: bool, view: View) -> s.Step:
        """A transfer with the host or a remote buffer."""
        elements = self.numbers.of_view(view)
        self.transfers.append(placed.Transfer(node.program.name, handle, peer, to_device, elements))
        return s.RunTransfer(node.id, len(self.transfers) - 1)

    def library(self, node: Node, program: p.RunLibrary, tiles: int) -> s.Step:
        """A library call."""
        call = program.call
        operands = self._together(call.inputs), self._together(call.outputs)
        self.libraries.append(
            placed.Library(program.name, call.works, tiles, call.bytes_per_tile, operands, between_ipus(call))
        )
        self.operands.append(operands)
        return s.RunLibrary(node.id, len(self.libraries) - 1)

    def _together(self, views: Sequence[View]) -> Runs:
        return joined([self.numbers.of_view(view) for view in views])


def joined(runs: Sequence[Runs]) -> Runs:
    """Runs one after the other."""
    none = np.zeros(0, dtype=np.int64)
    return Runs(
        np.concatenate([none, *(each.start for each in runs)]),
        np.concatenate([none, *(each.count for each in runs)]),
        np.concatenate([none, *(each.stride for each in runs)]),
    )


def tree(node: Node, leaves: Leaves, tiles: int) -> s.Step:
    """The control tree below a node."""
    program = node.program
    below = tuple(tree(child, leaves, tiles) for child in node.children)
    match program:
        case p.Sequence_():
            return s.Steps(node.id, below)
        case p.Block():
            return s.Steps(node.id, below, program.name or "block")
        case p.Repeat():
            return s.Repeat(node.id, program.count, below[0])
        case p.RepeatWhile():
            return s.While(node.id, below[0], below[1], _element(leaves, program.predicate))
        case p.If():
            return s.Branch(node.id, below, _element(leaves, program.predicate))
        case p.Switch():
            return s.Branch(node.id, below, _element(leaves, program.control))
        case p.Call():
            return s.Call(node.id, str(program.function.number))
        case p.CountCycles():
            return s.Steps(node.id, below, program.name)
    return _leaf(node, leaves, tiles)


def _element(leaves: Leaves, view: View) -> int:
    return int(leaves.numbers.of(view.addresses().reshape(-1)[:1])[0])


def _leaf(node: Node, leaves: Leaves, tiles: int) -> s.Step:
    program = node.program
    match program:
        case p.Execute():
            return s.Execute(node.id, program.compute_set.number)
        case p.TensorCopy():
            return leaves.copy(node, program.source_view, program.target_view)
        case p.CrossReplicaCopy():
            return leaves.copy(node, program.source_view, program.target_view, across_replicas=True)
        case p.StreamRead() | p.StreamWrite():
            to_device = isinstance(program, p.StreamRead)
            return leaves.transfer(node, program.stream.handle, Peer.HOST, to_device, program.view)
        case p.RemoteRead() | p.RemoteWrite():
            to_device = isinstance(program, p.RemoteRead)
            return leaves.transfer(node, program.buffer.handle, Peer.REMOTE_BUFFER, to_device, program.view)
        case p.RunLibrary():
            return leaves.library(node, program, tiles)
        case p.PrintTensor():
            return leaves.transfer(node, program.title, Peer.HOST, False, program.view)
        case p.CallHost():
            moves = [leaves.transfer(node, program.name, Peer.HOST, False, view) for view in program.inputs]
            moves += [leaves.transfer(node, program.name, Peer.HOST, True, view) for view in program.outputs]
            return s.Steps(node.id, tuple(moves), program.name)
        case p.Sync():
            return s.Sync(node.id, program.kind != "INTERNAL", program.name)
    return s.Free(node.id, program.name or type(program).__name__)
