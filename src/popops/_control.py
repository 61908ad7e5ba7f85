"""Loops with counters, and circular buffers."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from poplar import Graph, Interval, Tensor, Type
from poplar._tensor import as_tensor
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.libs.arguments import Arguments
from tremula.frontends.poplar.libs.errors import PoplibsError
from tremula.frontends.poplar.libs.popops import loops, slices
from tremula.frontends.poplar.libs.popops.expressions import Const, PlaceHolder
from tremula.frontends.poplar.libs.popops.mapping import map_views
from tremula.frontends.poplar.program.programs import Program
from tremula.frontends.poplar.types import UNSIGNED_INT


def countedLoop(graph: Graph, *arguments: Any, debug: Any = "", options: Any = None) -> Program:
    """`countedLoop(graph, begin, end, step, body)` or `countedLoop(graph, count, body)`: a program that runs
    `body(counter)` for each count; the counter is a tensor of one unsigned integer."""
    taken = Arguments("popops::countedLoop", arguments, debug, options)
    begin, end, step = 0, taken.integer("count or begin"), 1
    if taken.next_is_number():
        begin, end, step = end, taken.integer("end"), taken.integer("step")
    body = taken.any("body")
    return loops.counted_loop(graph, begin, end, step, body, taken.end()[0])


def countedForLoop(graph: Graph, *arguments: Any, debug: Any = "", options: Any = None) -> Program:
    """`countedForLoop(graph, [count,] initialCount, countLimit, countStep, body)`: the limit is a tensor."""
    taken = Arguments("popops::countedForLoop", arguments, debug, options)
    count = taken.maybe(View)
    begin, limit, step = taken.integer("initialCount"), taken.view("countLimit"), taken.integer("countStep")
    body = taken.take("body", Program)
    return loops.counted_for_loop(graph, count, begin, limit, step, body, taken.end()[0])


def addForLoopCounterVertex(
    graph: Graph,
    count: Tensor,
    countLimit: Tensor,
    countStep: Tensor,
    tile: int,
    prog: Program,
    debug: Any = "",
    options: Any = None,
) -> Tensor:
    """Add to a counter; returns a truth value: whether the limit is not reached."""
    taken = Arguments("popops::addForLoopCounterVertex", [countStep, tile, prog], debug, options)
    step, where, program = taken.integer("countStep"), taken.integer("tile"), taken.program()
    return as_tensor(loops.counter_step(graph, count, countLimit, step, where, program, taken.end()[0]))


class CircBuf:
    """A buffer of `size` tensors of one shape: `add` replaces the oldest, `prev(i)` reads what was added i adds ago."""

    def __init__(
        self,
        graph: Graph,
        dataType: Type,
        size: int,
        shape: Sequence[int],
        debug: Any = "",
        options: Any = None,
    ) -> None:
        self._graph, self._size, self._shape = graph, int(size), tuple(int(each) for each in shape)
        self._name = str(debug) or "CircBuf"
        self._history = slices.sliceable(
            graph, dataType, (self._size, prod(self._shape)), [0], 4, f"{self._name}/history"
        )
        self._index = as_tensor(graph.add_variable(UNSIGNED_INT, (1,), f"{self._name}/index"))
        graph.set_tile_mapping(self._index, 0)
        graph.set_initial_value(self._index, 0)

    def prev(self, i: int, seq: Program, debug: Any = "", options: Any = None) -> Tensor:
        """The tensor that was added `i` adds before the last one."""
        if not 0 <= i < self._size:
            raise PoplibsError(f"a CircBuf of {self._size} tensors keeps none that is {i} adds old")
        taken = Arguments("popops::CircBuf::prev", [seq], debug, options)
        program = taken.program()
        name = taken.end()[0] or self._name
        place = (PlaceHolder(1) + Const(self._size - int(i))) % Const(self._size)
        offset = map_views(self._graph, [place], [self._index], program, name, {})[0]
        found = slices.dynamic_slice(self._graph, self._history, offset, [0], [1], program, name, {})
        return as_tensor(found.reshape(self._shape))

    def add(self, t: Tensor, seq: Program, debug: Any = "", options: Any = None) -> None:
        """Replace the oldest tensor."""
        if tuple(t.shape) != self._shape:
            raise PoplibsError(f"a CircBuf of tensors of shape {list(self._shape)} was given {list(t.shape)}")
        taken = Arguments("popops::CircBuf::add", [seq], debug, options)
        program = taken.program()
        name = taken.end()[0] or self._name
        place = (PlaceHolder(1) + Const(1)) % Const(self._size)
        map_views(self._graph, [place], [self._index], program, name, {}, into=[self._index])
        row = t.reshape((1, prod(self._shape)))
        slices.dynamic_update(self._graph, self._history, row, self._index, [0], [1], program, name, {})

    def getIndex(self) -> Tensor:
        """The place of the tensor that was added last."""
        return as_tensor(self._index)

    def size(self) -> int:
        """The number of tensors that the buffer holds."""
        return self._size

    def getTileMapping(self) -> list[list[Interval]]:
        """The tile mapping of one tensor."""
        return self._graph.getTileMapping(as_tensor(self._history).slice_dimension(0, 1, 0))


__all__ = ["CircBuf", "addForLoopCounterVertex", "countedForLoop", "countedLoop"]
