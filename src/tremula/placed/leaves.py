"""The leaves of a placed program with their phases."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import numpy as np

from tremula.placed.compute_sets import around, modelled_set, read_exchange, write_exchange
from tremula.placed.copies import copy_set, copy_work, matched
from tremula.placed.copy_steps import copy_steps
from tremula.placed.copy_vertices import CopyVertices
from tremula.placed.exchange import Exchange
from tremula.placed.hardware import PlacedHardware
from tremula.placed.libraries import library_cost, library_phases
from tremula.placed.outside import replica_phases, transfer_phases
from tremula.placed.phases import Leaf, ModelledSet, Phase, PhaseKind
from tremula.placed.rearranging import Rearranging
from tremula.plan.cost import Bytes
from tremula.plan.planner import Planner
from tremula.program.placed import Ints, PlacedProgram
from tremula.program.placed_steps import Execute, Free, RunCopy, RunLibrary, RunTransfer, Step, Sync, walk

_Found = tuple[tuple[Phase, ...], Ints, Ints]


class Leaves:
    """Makes the leaves of a program; the same compute set, transfer or library function is modelled once."""

    def __init__(self, program: PlacedProgram, hardware: PlacedHardware) -> None:
        self.program = program
        self.hardware = hardware
        #: compute sets: those of the program first, then those of copies and library functions
        self.sets: list[ModelledSet] = [modelled_set(each, hardware) for each in program.compute_sets]
        #: bytes of code and state that library functions have on a tile, by their number
        self.library_bytes: dict[int, Bytes] = {}
        self._known: dict[tuple[str | int, ...], _Found] = {}
        self._planners: dict[int, Planner] = {}
        self._nothing = np.zeros(0, dtype=np.int64)
        self._rearranging = Rearranging(program.compute_sets, program.variables, hardware)

    def all(self) -> dict[int, Leaf]:
        """All leaves by the number of their node."""
        found: dict[int, Leaf] = {}
        for exchanges in copy_steps(self.program):
            phases, buffers, code = self._copies(exchanges)
            group = list(chain.from_iterable(exchanges))
            first = group[0].id
            found[first] = Leaf(first, self._copy_name(group), phases, buffers, code)
            for each in group[1:]:
                name = self.program.copies[each.copy].name or "copy"
                found[each.id] = Leaf(each.id, name, done_by=first)
        for step in self._steps():
            leaf = self._leaf(step)
            if leaf is not None:
                found[step.id] = leaf
        return found

    def _steps(self) -> Iterator[Step]:
        for root in (*self.program.programs, *self.program.functions.values()):
            yield from walk(root)

    def _leaf(self, step: Step) -> Leaf | None:
        program = self.program
        match step:
            case Execute(id, number):
                return Leaf(
                    id, program.compute_sets[number].name or f"compute set {number}", *self._execute(number)
                )
            case RunTransfer(id, number):
                given = program.transfers[number]
                return Leaf(id, given.name or given.handle, *self._transfer(number))
            case RunLibrary(id, number):
                return Leaf(id, program.libraries[number].name, *self._library(number))
            case Sync(id, external, name):
                cycles = self.hardware.global_sync_cycles if external else self.hardware.sync_cycles
                kind = PhaseKind.GLOBAL_SYNC if external else PhaseKind.SYNC
                return Leaf(id, name or "Sync", (Phase(kind, name or "Sync", cycles),))
            case Free(id, name):
                return Leaf(id, name)
        return None

    def _execute(self, number: int) -> _Found:
        key = ("execute", number)
        if key not in self._known:
            given, made = self.program.compute_sets[number], self.sets[number]
            name = made.name or f"compute set {number}"
            before = read_exchange(given, self.program.variables, self.hardware)
            after = write_exchange(given, self.program.variables, self.hardware)
            phases = around(name, before, self.hardware)
            buffers = self._on_tiles(before, "received") + self._sent(after)
            phases += self._rearranged(number, "PreCopy", buffers)
            if made.count:
                phases.append(self._compute(name, made, number))
            phases += self._rearranged(number, "PostCopy", buffers)
            phases += around(name, after, self.hardware, "ExchangePost")
            code = self._code(before) + self._code(after)
            self._known[key] = (tuple(phases), _some(buffers), _some(code))
        return self._known[key]

    def _rearranged(self, number: int, suffix: str, buffers: Ints) -> list[Phase]:
        """The copies of edges before or after a compute set; `buffers` get what they take."""
        given = self.program.compute_sets[number]
        found = self._rearranging.around(given, reads=suffix == "PreCopy")
        if not found.vertices:
            return []
        buffers += found.buffers
        name = f"{given.name or f'compute set {number}'}/{suffix}"
        made = copy_set(name, found.vertices, self.hardware)
        return [self._compute(name, made, self._add(made))]

    def _compute(self, name: str, made: ModelledSet, number: int) -> Phase:
        return Phase(
            PhaseKind.COMPUTE, name, made.slowest, made.tiles, made.cycles, made.busy, compute_set=number,
            flops=made.flops,
        )  # fmt: skip

    def _copies(self, exchanges: list[list[RunCopy]]) -> _Found:
        group = list(chain.from_iterable(exchanges))
        numbers = ((*(step.copy for step in each), -1) for each in exchanges)
        key: tuple[str | int, ...] = ("copies", *chain.from_iterable(numbers))
        if key in self._known:  # the same copies stand in another place
            return self._known[key]
        copies, variables, hardware = self.program.copies, self.program.variables, self.hardware
        if copies[group[0].copy].across_replicas:
            across = replica_phases(copies[group[0].copy], variables, hardware)
            return tuple(across), self._nothing, self._nothing
        phases: list[Phase] = []
        vertices: list[CopyVertices] = []
        buffers, code = (np.zeros(hardware.tiles, dtype=np.int64) for _ in range(2))
        for each in exchanges:
            work = copy_work(matched([copies[step.copy] for step in each], variables), variables, hardware)
            phases += around(self._copy_name(each), work.exchange, hardware)
            vertices += work.vertices
            buffers += work.buffers
            code += self._code(work.exchange)
        if vertices:
            made = copy_set(self._copy_name(group), vertices, hardware)
            if made.count:
                phases.append(self._compute(made.name, made, self._add(made)))
        found = tuple(phases), _some(buffers), _some(code)
        self._known[key] = found
        return found

    def _copy_name(self, group: list[RunCopy]) -> str:
        name = self.program.copies[group[0].copy].name or "copy"
        return name if len(group) == 1 else f"{name} and {len(group) - 1} more"

    def _transfer(self, number: int) -> _Found:
        key = ("transfer", number)
        if key not in self._known:
            phases, exchange = transfer_phases(
                self.program.transfers[number], self.program.variables, self.hardware
            )
            # an even share arrives at each tile, and goes on from there
            self._known[key] = (tuple(phases), _some(self._sent(exchange)), _some(self._code(exchange)))
        return self._known[key]

    def _library(self, number: int) -> _Found:
        key = ("library", number)
        if key not in self._known:
            given = self.program.libraries[number]
            costs = library_cost(given, self._planner)
            total = Bytes()
            for cost in costs:
                total += cost.bytes
            self.library_bytes[number] = total
            phases = library_phases(given, costs, self.hardware, self._add)
            used = np.zeros(self.hardware.tiles, dtype=np.int64)
            used[: given.tiles or self.hardware.chip.tiles] = 1
            code = used * total.exchange_code if self.hardware.sized_code else self._nothing
            buffers = used * (total.temporary + given.bytes_per_tile)
            self._known[key] = (tuple(phases), _some(buffers), _some(code))
        return self._known[key]

    def _planner(self, tiles: int) -> Planner:
        tiles = min(tiles or self.hardware.chip.tiles, self.hardware.chip.tiles)
        if tiles not in self._planners:
            self._planners[tiles] = Planner(self.hardware.chip.with_tiles(tiles))
        return self._planners[tiles]

    def _add(self, made: ModelledSet) -> int:
        self.sets.append(made)
        return len(self.sets) - 1

    def _on_tiles(self, exchange: Exchange, column: str) -> Ints:
        found = np.zeros(self.hardware.tiles, dtype=np.int64)
        found[exchange.tiles] = getattr(exchange, column)
        return found

    def _sent(self, exchange: Exchange) -> Ints:
        """Buffers of what vertices write for other tiles: as large on the tiles that send as what they send."""
        found = np.zeros(self.hardware.tiles, dtype=np.int64)
        np.add.at(found, exchange.senders, exchange.sent)
        return found

    def _code(self, exchange: Exchange) -> Ints:
        if not self.hardware.sized_code:
            return np.zeros(self.hardware.tiles, dtype=np.int64)
        return self._on_tiles(exchange, "code_bytes")


def _some(on_tiles: Ints) -> Ints:
    """Bytes on each tile; nothing at all where every tile has none."""
    return on_tiles if on_tiles.any() else on_tiles[:0]
