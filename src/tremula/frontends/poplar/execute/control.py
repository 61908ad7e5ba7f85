"""The control tree of programs as calls.

All steps of a block run as often as the block, so runs are counted by block: a program, a body of a loop, a case of a
branch, a function. Where replicas take different ways, a block runs for some of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any

from tremula.frontends.poplar.errors import ApplicationRuntimeError
from tremula.frontends.poplar.execute import cycles, leaves, transfers, values
from tremula.frontends.poplar.execute.compute import PreparedBatch
from tremula.frontends.poplar.execute.loaded import Loaded
from tremula.frontends.poplar.execute.moves import Call
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.program import programs as p
from tremula.frontends.poplar.program.numbering import Node, Numbering


@dataclass(eq=False)
class Lowered:
    """All programs of an engine as calls."""

    programs: list[Call]
    #: the block of each node
    blocks: dict[int, int]
    roots: list[int] = field(default_factory=list)


class Lowering:
    """Turns nodes into calls."""

    def __init__(
        self, loaded: Loaded, compute_sets: Mapping[int, Sequence[PreparedBatch]], numbering: Numbering
    ) -> None:
        self._loaded = loaded
        self._sets = compute_sets
        self._numbering = numbering
        self._functions: dict[int, Call] = {}
        self.blocks: dict[int, int] = {}
        #: whether cycles so far are read in the middle of a run: then loops are counted turn by turn
        self._stamped = cycles.are_stamped(numbering)

    def all(self) -> Lowered:
        """Lower all programs, and the functions that they call."""
        programs, roots = [], []
        for root in self._numbering.roots:
            call, block = self._block(root)
            programs.append(_counted(self._loaded.counts, block, call))
            roots.append(block)
        return Lowered(programs, self.blocks, roots)

    # -- blocks -------------------------------------------------------------------------------------------------

    def _block(self, node: Node) -> tuple[Call, int]:
        """What runs as often as a node, which begins a block."""
        block = self._loaded.new_block()
        return _in_order(self._steps(node, block)), block

    def _steps(self, node: Node, block: int) -> list[Call]:
        """The calls of a node and of all below it that run as often, in order."""
        found: list[Call] = []
        copies: list[p.TensorCopy] = []
        waiting = [node]
        while waiting:
            current = waiting.pop()
            self.blocks[current.id] = block
            if isinstance(current.program, p.Sequence_ | p.Block):
                waiting.extend(reversed(current.children))
                continue
            if isinstance(current.program, p.TensorCopy):
                copies.append(current.program)
                continue
            found += leaves.tensor_copies(copies, self._loaded)
            copies = []
            call = self._control(current)
            if call is not leaves.nothing:
                found.append(call)
            if self._stamped and not isinstance(current.program, p.Execute):
                # what comes after a reading of the cycles has not run yet
                block = self._loaded.new_block()
                found.append(cycles.count_block(self._loaded.counts, block))
        return found + leaves.tensor_copies(copies, self._loaded)

    def _control(self, node: Node) -> Call:
        program, loaded = node.program, self._loaded
        match program:
            case p.Repeat():
                return self._repeat(node, program.count)
            case p.RepeatWhile():
                return self._while(node, program)
            case p.If():
                return self._branch(node, program.predicate, lambda value: 0 if value else 1)
            case p.Switch():
                return self._switch(node, program)
            case p.Call():
                return self._call(program)
            case p.CountCycles():
                body = self._block(node.children[0]) if node.children else None
                return cycles.count(program, body, loaded, self.blocks)
        return self._leaf(program)

    def _leaf(self, program: p.Program) -> Call:
        loaded = self._loaded
        match program:
            case p.Execute():
                return leaves.execute(program, self._sets[program.compute_set.number], loaded)
            case p.RunLibrary():
                return leaves.library_call(program, loaded)
            case p.StreamRead():
                return transfers.stream_read(program, loaded)
            case p.StreamWrite():
                return transfers.stream_write(program, loaded)
            case p.RemoteRead():
                return transfers.remote_read(program, loaded)
            case p.RemoteWrite():
                return transfers.remote_write(program, loaded)
            case p.CrossReplicaCopy():
                return leaves.cross_replica_copy(program, loaded)
            case p.AssumeEqualAcrossReplicas():
                return leaves.assume_equal(program, loaded)
            case p.PrintTensor():
                return leaves.print_tensor(program, loaded)
            case p.Abort():
                return leaves.abort(program.message, program.source)
            case p.AbortOnCondition():
                return leaves.abort_on_condition(program, loaded)
            case p.ErrorProgram():
                return leaves.error(program, loaded)
            case p.CallHost():
                return leaves.call_host(program, loaded)
        return leaves.nothing  # WriteUndef, Sync and the empty program change no value

    # -- control ------------------------------------------------------------------------------------------------

    def _repeat(self, node: Node, count: int) -> Call:
        block = self._loaded.new_block()
        steps = self._steps(node.children[0], block)
        counts = self._loaded.counts
        if self._stamped:

            def run_counted() -> None:
                for _ in repeat(None, count):
                    counts[block] += 1
                    for step in steps:
                        step()

            return run_counted
        if len(steps) == 1:
            step = steps[0]

            def run_one() -> None:
                counts[block] += count
                for _ in repeat(None, count):
                    step()

            return run_one

        def run() -> None:
            counts[block] += count
            for _ in repeat(None, count):
                for step in steps:
                    step()

        return run

    def _while(self, node: Node, program: p.RepeatWhile) -> Call:
        condition, before = self._block(node.children[0])
        body, block = self._block(node.children[1])
        loaded, counts, expected = self._loaded, self._loaded.counts, program.expected
        reads = self._scalars(program.predicate)
        if len(reads) == 1:
            read = reads[0]

            def run() -> None:
                while True:
                    counts[before] += 1
                    condition()
                    if bool(read()) is not expected:
                        return
                    counts[block] += 1
                    body()

            return run

        def run_apart() -> None:
            everyone = loaded.active
            try:
                while loaded.active:
                    counts[before] += 1
                    condition()
                    loaded.active = tuple(each for each in loaded.active if bool(reads[each]()) is expected)
                    if loaded.active:
                        counts[block] += 1
                        body()
            finally:
                loaded.active = everyone

        return run_apart

    def _branch(self, node: Node, control: View, choose: Callable[[Any], int]) -> Call:
        """Run the case that `choose` gives for the value of a scalar."""
        cases = [self._block(child) for child in node.children]
        loaded, counts = self._loaded, self._loaded.counts
        reads = self._scalars(control)
        if len(reads) == 1:
            read = reads[0]

            def run() -> None:
                call, block = cases[choose(read())]
                counts[block] += 1
                call()

            return run

        def run_apart() -> None:
            everyone = loaded.active
            chosen = {each: choose(reads[each]()) for each in everyone}
            try:
                for number in sorted(set(chosen.values())):
                    loaded.active = tuple(each for each in everyone if chosen[each] == number)
                    call, block = cases[number]
                    counts[block] += 1
                    call()
            finally:
                loaded.active = everyone

        return run_apart

    def _switch(self, node: Node, program: p.Switch) -> Call:
        places = {value: number for number, (value, _) in enumerate(program.cases)}
        default = len(program.cases)

        def choose(value: int) -> int:
            place = places.get(int(value))
            if place is not None:
                return place
            if program.unreachable is not None:
                known = ", ".join(str(each) for each in places) or "none"
                raise ApplicationRuntimeError(
                    f"a switch got {int(value)}: {program.unreachable}; it has {known}"
                )
            return default

        return self._branch(node, program.control, choose)

    def _call(self, program: p.Call) -> Call:
        number = program.function.number
        if number not in self._functions:
            call, block = self._block(self._numbering.functions[number])
            self._functions[number] = _counted(self._loaded.counts, block, call)
        return self._functions[number]

    def _scalars(self, view: View) -> list[Callable[[], Any]]:
        return [values.scalar(view, arena) for arena in self._loaded.arenas]


def _in_order(steps: Sequence[Call]) -> Call:
    if not steps:
        return leaves.nothing
    if len(steps) == 1:
        return steps[0]

    def run() -> None:
        for step in steps:
            step()

    return run


def _counted(counts: list[int], block: int, call: Call) -> Call:
    def run() -> None:
        counts[block] += 1
        call()

    return run
