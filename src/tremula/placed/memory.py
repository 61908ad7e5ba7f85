"""Bytes on every tile of a replica, by what they are for.

Exact are the variables (where the program has put them), the members of vertices and the pointers to their edges, and
the buffers that follow from the exchanges. Code is modelled: no vertex is compiled for the chip. A tile has the
compiled code of each vertex type once, so many bytes for each leaf that it takes part in, and the instructions of its
exchanges. Variables that are not always live share their place, as far as their lifetimes allow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

import numpy as np

from tremula.memory.categories import STACK_BYTES_PER_TILE
from tremula.memory.code import CALL_BYTES
from tremula.placed.copy_vertices import MEMCPY, SCATTER
from tremula.placed.hardware import PlacedHardware
from tremula.placed.lifetimes import Lifetimes, Order, lifetimes_of, order_of
from tremula.placed.phases import Leaf, ModelledSet
from tremula.plan.cost import Bytes
from tremula.program.placed import FieldRuns, Ints, PlacedProgram, Variables
from tremula.program.placed_steps import RunLibrary, walk

#: code of a vertex type whose size is not known: popliner counts 7,876,760 bytes of vertex code on 1,472 tiles for a
#: layer of BERT, in which about twenty types are used
VERTEX_CODE_BYTES = 270
#: control code of a tile: 851,272 bytes on 1,216 tiles for a program that adds two tensors, of about 20 leaves
CONTROL_CODE_BYTES, CONTROL_CODE_PER_LEAF = 380, 16
#: code for exchanges with the host, in the same profile: 351,328 bytes on 1,216 tiles
HOST_CODE_BYTES = 288
#: of a vertex beside its members: where its code is
VERTEX_BYTES = 4
#: variables begin at multiples of this
ALIGNMENT = 8


class Use(Enum):
    """What bytes on a tile are for."""

    VARIABLES = "variables"
    CONSTANTS = "constants"
    TEMPORARY_VARIABLES = "temporary variables"
    BUFFERS = "message buffers"
    VERTEX_STATE = "vertex state"
    EDGE_POINTERS = "edge pointers"
    VERTEX_CODE = "vertex code"
    EXCHANGE_CODE = "exchange code"
    HOST_CODE = "host exchange code"
    CONTROL_CODE = "control code"
    STACKS = "stacks"
    GAPS = "gaps"

    __hash__ = object.__hash__

    @property
    def always_live(self) -> bool:
        """Whether the bytes are there for the whole run."""
        return self not in (Use.TEMPORARY_VARIABLES, Use.BUFFERS)


@dataclass(frozen=True, eq=False)
class VariableBytes:
    """The parts of variables on tiles: one entry for each variable and tile that has some of it."""

    variable: Ints
    tile: Ints
    bytes: Ints


@dataclass(frozen=True, eq=False)
class PlacedMemory:
    """The memory of a replica."""

    #: bytes on each tile by use; those that come and go at the moment at which the tile's IPU is fullest
    tiles: Mapping[Use, Ints]
    #: most bytes that each tile has at any moment
    most: Ints
    parts: VariableBytes
    lifetimes: Lifetimes
    order: Order
    #: bytes of temporary variables and of buffers on each IPU at each position
    live: Ints
    buffers: Ints
    #: position at which each IPU is fullest
    peaks: tuple[int, ...]
    #: bytes of code and state of each vertex type on all tiles
    vertex_types: Mapping[str, tuple[int, int]]

    @property
    def total(self) -> Ints:
        """Bytes on each tile at the fullest moment of its IPU, gaps included."""
        return np.asarray(sum(self.tiles.values(), np.zeros(1, dtype=np.int64)))


class MemoryModel:
    """Finds the memory of a program."""

    def __init__(
        self,
        program: PlacedProgram,
        hardware: PlacedHardware,
        leaves: Mapping[int, Leaf],
        sets: list[ModelledSet],
        library_bytes: Mapping[int, Bytes],
    ) -> None:
        self._program = program
        self._hardware = hardware
        self._leaves = leaves
        self._sets = sets
        self._library = library_bytes
        self._tiles = hardware.tiles
        self._types: dict[str, list[int]] = {}

    def find(self) -> PlacedMemory:
        """All of it."""
        program = self._program
        order = order_of(program)
        lifetimes = lifetimes_of(program, order)
        parts = variable_bytes(program.variables)
        uses = {use: np.zeros(self._tiles, dtype=np.int64) for use in Use}
        always = np.zeros(program.variables.count, dtype=np.bool_)
        always[lifetimes.always] = True
        constant = program.variables.constant
        for use, which in (
            (Use.CONSTANTS, constant),
            (Use.VARIABLES, always & ~constant),
        ):
            mine = which[parts.variable]
            np.add.at(uses[use], parts.tile[mine], parts.bytes[mine])
        self._vertices(uses)
        self._code(uses)
        lasting = always[parts.variable]
        padded = -(-parts.bytes // ALIGNMENT) * ALIGNMENT - parts.bytes
        np.add.at(uses[Use.GAPS], parts.tile[lasting], padded[lasting])
        base = sum(uses.values(), np.zeros(self._tiles, dtype=np.int64))
        moments = _Moments(order, lifetimes, parts, self._leaves, ~lasting, self._hardware)
        moments.walk(base)
        uses[Use.TEMPORARY_VARIABLES], uses[Use.BUFFERS] = moments.at_peaks
        return PlacedMemory(
            uses, moments.most, parts, lifetimes, order, moments.live, moments.buffers, moments.peaks,
            {name: (code, state) for name, (code, state) in self._types.items()},
        )  # fmt: skip

    def _vertices(self, uses: dict[Use, Ints]) -> None:
        sized = self._hardware.sized_code
        coded: dict[str, np.ndarray[tuple[int], np.dtype[np.bool_]]] = {}
        sizes: dict[str, int] = {}
        for compute_set in self._program.compute_sets:
            for batch in compute_set.batches:
                if not batch.count:
                    continue
                state = np.full(batch.count, VERTEX_BYTES, dtype=np.int64)
                if batch.state_bytes is not None:
                    state += batch.state_bytes
                pointers = np.zeros(batch.count, dtype=np.int64)
                for field in batch.fields:
                    pointers += _pointer_bytes(field, batch.count)
                np.add.at(uses[Use.VERTEX_STATE], batch.tile, state)
                np.add.at(uses[Use.EDGE_POINTERS], batch.tile, pointers)
                known = self._types.setdefault(batch.type, [0, 0])
                known[1] += int(state.sum() + pointers.sum())
                used = coded.setdefault(batch.type, np.zeros(self._tiles, dtype=np.bool_))
                used[batch.tile] = True
                sizes[batch.type] = VERTEX_CODE_BYTES if batch.code_bytes is None else batch.code_bytes
        for made in self._sets[len(self._program.compute_sets) :]:
            for name in made.vertices:
                if name in (MEMCPY, SCATTER):
                    coded.setdefault(name, np.zeros(self._tiles, dtype=np.bool_))[made.tiles] = True
                    sizes[name] = VERTEX_CODE_BYTES
                    self._types.setdefault(name, [0, 0])
        for name, used in coded.items() if sized else ():
            uses[Use.VERTEX_CODE] += used * sizes[name]
            self._types[name][0] += int(used.sum()) * sizes[name]

    def _code(self, uses: dict[Use, Ints]) -> None:
        uses[Use.STACKS] += STACK_BYTES_PER_TILE
        self._libraries(uses)
        if not self._hardware.sized_code:
            return
        for leaf in self._leaves.values():
            if len(leaf.exchange_code):
                uses[Use.EXCHANGE_CODE] += leaf.exchange_code
        working = sum(1 for leaf in self._leaves.values() if leaf.phases)
        uses[Use.CONTROL_CODE] += CONTROL_CODE_BYTES + CONTROL_CODE_PER_LEAF * working
        if self._program.transfers:
            uses[Use.HOST_CODE] += HOST_CODE_BYTES

    def _libraries(self, uses: dict[Use, Ints]) -> None:
        """Code and state of library functions; those that do the same work share theirs."""
        types, sized = self._types_of_libraries(), int(self._hardware.sized_code)
        known: set[object] = set()
        for number, given in enumerate(self._program.libraries):
            more = self._library.get(number)
            if more is None:
                continue
            used = np.zeros(self._tiles, dtype=np.int64)
            used[: given.tiles or self._hardware.chip.tiles] = 1
            if (given.works, given.tiles) in known:
                uses[Use.CONTROL_CODE] += used * CALL_BYTES * sized
                continue
            known.add((given.works, given.tiles))
            uses[Use.VERTEX_CODE] += used * more.vertex_code * sized
            uses[Use.VERTEX_STATE] += used * more.vertex_state
            uses[Use.CONTROL_CODE] += used * more.control_code * sized
            names = types.get(number, [])
            for name in names:
                mine = self._types.setdefault(name, [0, 0])
                mine[0] += sized * int(used.sum()) * more.vertex_code // len(names)
                mine[1] += int(used.sum()) * more.vertex_state // len(names)

    def _types_of_libraries(self) -> dict[int, list[str]]:
        """The vertex types of each library function."""
        found: dict[int, list[str]] = {}
        program = self._program
        for root in (*program.programs, *program.functions.values()):
            for step in walk(root):
                if isinstance(step, RunLibrary) and step.library not in found:
                    phases = self._leaves[step.id].phases
                    sets = [self._sets[phase.compute_set] for phase in phases if phase.compute_set >= 0]
                    found[step.library] = sorted({name for each in sets for name in each.vertices})
        return found


def variable_bytes(variables: Variables) -> VariableBytes:
    """The bytes of each variable on each tile that has some of it."""
    if not len(variables.begin):
        nothing = np.zeros(0, dtype=np.int64)
        return VariableBytes(nothing, nothing, nothing)
    owner = variables.interval_variable
    filled = np.flatnonzero(variables.elements)
    owner = filled[np.searchsorted(variables.first[filled], variables.begin, side="right") - 1]
    size = (variables.end - variables.begin) * variables.element_bytes[owner]
    key = owner * (int(variables.tile.max()) + 1) + variables.tile
    keys, place = np.unique(key, return_inverse=True)
    total = np.zeros(len(keys), dtype=np.int64)
    np.add.at(total, place, size)
    tiles = int(variables.tile.max()) + 1
    return VariableBytes(keys // tiles, keys % tiles, total)


def _pointer_bytes(field: FieldRuns, vertices: int) -> Ints:
    """Bytes of the pointers to the edges of each vertex."""
    if not len(field.vertex):
        return np.zeros(vertices, dtype=np.int64)
    if field.edge is None:
        return np.bincount(field.vertex, minlength=vertices).astype(np.int64) * field.pointer_bytes
    new = np.ones(len(field.edge), dtype=np.bool_)
    new[1:] = field.edge[1:] != field.edge[:-1]
    return np.bincount(field.vertex[new], minlength=vertices).astype(np.int64) * field.pointer_bytes


class _Moments:
    """Walks over the program and finds what is alive where."""

    def __init__(
        self,
        order: Order,
        lifetimes: Lifetimes,
        parts: VariableBytes,
        leaves: Mapping[int, Leaf],
        temporary: np.ndarray[tuple[int], np.dtype[np.bool_]],
        hardware: PlacedHardware,
    ) -> None:
        self._order = order
        self._leaves = leaves
        self._hardware = hardware
        rows = np.flatnonzero(temporary)
        self._tile, self._bytes = parts.tile[rows], -(-parts.bytes[rows] // ALIGNMENT) * ALIGNMENT
        first, last = lifetimes.first[parts.variable[rows]], lifetimes.last[parts.variable[rows]]
        self._born, self._dead = np.argsort(first, kind="stable"), np.argsort(last, kind="stable")
        count = len(order.nodes)
        self._born_at = np.searchsorted(first[self._born], np.arange(count + 1))
        self._dead_at = np.searchsorted(last[self._dead], np.arange(count + 1))

    def walk(self, base: Ints) -> None:
        """Visit all positions; `base` is what is on each tile in any case."""
        tiles, ipus, count = self._hardware.tiles, self._hardware.ipus, len(self._order.nodes)
        alive = np.zeros(tiles, dtype=np.int64)
        self.most = base.copy()
        self.live = np.zeros((ipus, count), dtype=np.int64)
        self.buffers = np.zeros((ipus, count), dtype=np.int64)
        best = np.full(ipus, -1, dtype=np.int64)
        peaks = [0] * ipus
        shape = (ipus, self._hardware.chip.tiles)
        variables, buffered = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        for place, node in enumerate(self._order.nodes):
            rows = self._born[self._born_at[place] : self._born_at[place + 1]]
            np.add.at(alive, self._tile[rows], self._bytes[rows])
            leaf = self._leaves.get(node)
            mine = leaf.buffers if leaf is not None and len(leaf.buffers) else np.zeros_like(alive)
            self.most = np.maximum(self.most, base + alive + mine)
            self.live[:, place] = alive.reshape(shape).sum(axis=1)
            self.buffers[:, place] = mine.reshape(shape).sum(axis=1)
            total = self.live[:, place] + self.buffers[:, place]
            for ipu in np.flatnonzero(total > best).tolist():
                best[ipu], peaks[ipu] = total[ipu], place
                variables[ipu], buffered[ipu] = alive.reshape(shape)[ipu], mine.reshape(shape)[ipu]
            rows = self._dead[self._dead_at[place] : self._dead_at[place + 1]]
            np.subtract.at(alive, self._tile[rows], self._bytes[rows])
        self.at_peaks = variables.reshape(-1), buffered.reshape(-1)
        self.peaks = tuple(peaks)
