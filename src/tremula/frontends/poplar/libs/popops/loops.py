"""Loops with a counter that their body may use."""

from __future__ import annotations

from collections.abc import Callable

from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.libs.errors import PoplibsError
from tremula.frontends.poplar.libs.popops import fills
from tremula.frontends.poplar.libs.popops.expressions import Const, PlaceHolder
from tremula.frontends.poplar.libs.popops.mapping import map_views
from tremula.frontends.poplar.lines import user_line
from tremula.frontends.poplar.program.programs import Program, Repeat, RepeatWhile, Sequence_
from tremula.frontends.poplar.types import BOOL, INT, UNSIGNED_INT


def counted_loop(
    graph: Graph, begin: int, end: int, step: int, body: Callable[[View], Program], name: str
) -> Sequence_:
    """Run what `body` gives for the counter, for the counts from `begin` to `end`, which is left out."""
    if step < 1 or end < begin:
        raise PoplibsError(
            f"popops::countedLoop: a loop from {begin} to {end} in steps of {step} ({user_line()})"
        )
    counter = graph.add_variable(UNSIGNED_INT, (1,), f"{name or 'countedLoop'}/counter")
    graph.set_tile_mapping(counter, 0)
    made = body(counter)
    turn = Sequence_(made)
    map_views(graph, [PlaceHolder(1) + Const(step)], [counter], turn, name, {}, into=[counter])
    loop = Sequence_()
    fills.fill(graph, counter, begin, loop, name or "popops::countedLoop")
    loop.add(Repeat(-(-(end - begin) // step), turn, name))
    return loop


def counter_step(
    graph: Graph, count: View, limit: View, step: int, tile: int, program: Sequence_, name: str
) -> View:
    """Add the step to a counter; returns a truth value: whether the limit is not reached."""
    goes_on = graph.add_variable(BOOL, (), f"{name or 'loop'}/predicate")
    graph.set_tile_mapping(goes_on, tile)
    map_views(graph, [PlaceHolder(1) + Const(step)], [count], program, name, {}, into=[count])
    one = [PlaceHolder(1) != PlaceHolder(2)]
    map_views(graph, one, [count.reshape(()), limit.reshape(())], program, name, {}, into=[goes_on])
    return goes_on


def counted_for_loop(
    graph: Graph, count: View | None, begin: int, limit: View, step: int, body: Program, name: str
) -> Sequence_:
    """Run the body while the counter is not the limit, which is known when the loop begins."""
    function = "popops::countedForLoop"
    if count is None:
        count = graph.add_variable(limit.type, tuple(limit.shape), f"{name or 'countedForLoop'}/counter")
        graph.set_tile_mapping(count, 0)
    if count.elements != 1 or limit.elements != 1 or count.type is not limit.type or count.type not in (
        INT, UNSIGNED_INT,
    ):  # fmt: skip
        raise PoplibsError(
            f"{function}: counter and limit are one integer each of one type, not of types {count.type} and "
            f"{limit.type} and shapes {list(count.shape)} and {list(limit.shape)} ({user_line()})"
        )
    goes_on = graph.add_variable(BOOL, (), f"{name or 'countedForLoop'}/predicate")
    graph.set_tile_mapping(goes_on, 0)
    test = Sequence_()
    different = [PlaceHolder(1) != PlaceHolder(2)]
    map_views(graph, different, [count.reshape(()), limit.reshape(())], test, name, {}, into=[goes_on])
    turn = Sequence_(body)
    map_views(graph, [PlaceHolder(1) + Const(step)], [count], turn, name, {}, into=[count])
    loop = Sequence_()
    fills.fill(graph, count, begin, loop, name or function)
    loop.add(RepeatWhile(test, goes_on, turn, True, name))
    return loop
