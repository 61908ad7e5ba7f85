"""Reductions in compute sets: partial results on the tiles that hold the elements, then one vertex for each tile of the
output. Where all elements of each result lie on one tile, one compute set is enough. Where tiles hold hardly two
elements of one result, they are exchanged first: each tile reduces a block of a grid of elements and results.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, sqrt

import numpy as np

from tremula.frontends.poplar.codelets.codelet import Batch, Direction, Field, Kind, Run, StateVectors
from tremula.frontends.poplar.errors import InvalidTileMapping
from tremula.frontends.poplar.graph import mapping
from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.graph.layout import Ints
from tremula.frontends.poplar.graph.vertices import ComputeSet
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.libs import outputs
from tremula.frontends.poplar.libs.errors import PoplibsError
from tremula.frontends.poplar.libs.popops.reducing import COMBINE, segments
from tremula.frontends.poplar.libs.vertices import FlatCodelet, Places, add_column, register, vector
from tremula.frontends.poplar.lines import user_line
from tremula.frontends.poplar.types import FLOAT, INT, Type

#: elements of a 64-bit load are reduced in about a cycle, by one of six workers at a time
_CYCLES_PER_ELEMENT = 0.75


class ReduceCodelet(FlatCodelet):
    """Each element of `out` is the reduction of the next `counts` elements of `in`."""

    def __init__(self, operation: str, source: Type, out: Type, update: bool, scale: Type | None) -> None:
        kind = "".join(word.capitalize() for word in operation.split("_"))
        scaled = f",{scale}" if scale is not None else ""
        name = f"popops::{'Scaled' if scale is not None else ''}Reduce<popops::Reduce{kind},{source},{out}{scaled}"
        fields = [
            vector("out", Direction.INOUT if update else Direction.OUTPUT, out),
            vector("in", Direction.INPUT, source),
            Field("counts", Kind.STATE_VECTOR, Direction.NONE, INT),
        ]
        if scale is not None:
            fields.append(vector("scale", Direction.INPUT, scale))
        super().__init__(f"{name},{'true' if update else 'false'}>", fields, _CYCLES_PER_ELEMENT)
        self._operation, self._update, self._scaled = operation, update, scale is not None

    def bind(self, batch: Batch) -> Run:
        out, source = Places(batch, "out"), Places(batch, "in")
        scale = Places(batch, "scale") if self._scaled else None
        state = batch.state["counts"]
        counts = state.values if isinstance(state, StateVectors) else state
        lengths = np.asarray(counts, dtype=np.int64)
        first = np.cumsum(lengths) - lengths
        operation, update = self._operation, self._update
        combine = COMBINE[operation]

        def run() -> None:
            with np.errstate(all="ignore"):
                result = segments(operation, source.get(), first)
                if scale is not None:
                    factor = np.repeat(scale.get().astype(result.dtype), out.counts)
                    result = result + factor if operation == "LOG_ADD" else result * factor
                if update:
                    result = combine(out.get().astype(result.dtype), result)
                out.put(result)

        return run


@dataclass(frozen=True, eq=False)
class _Elements:
    """Elements to be reduced: their addresses, the result of each, and the tile that each is reduced on."""

    view: View
    addresses: Ints
    owner: Ints
    tiles: Ints


def add_vertices(
    graph: Graph,
    view: View,
    dims: Sequence[int],
    out: View,
    operation: str,
    update: bool,
    scale: View | None,
    sets: list[ComputeSet],
    name: str,
) -> None:
    """Add the vertices of a reduction to the first compute sets of a list, which grows where it is too short."""
    if not view.elements or not out.elements:
        raise PoplibsError(
            f"there is nothing to reduce in a tensor of shape {list(view.shape)}: give a sequence instead of "
            f"compute sets ({user_line()})"
        )
    elements = _placed(graph, view, dims, out)
    keys = _distinct(elements.tiles * out.elements + elements.owner)
    place = 0
    if len(keys) > out.elements:
        if 2 * len(keys) > view.elements:
            elements = _in_blocks(graph, elements, dims, out)
            keys = _distinct(elements.tiles * out.elements + elements.owner)
        if not sets:
            sets.append(graph.add_compute_set(f"{name or 'popops::reduce'}/partials"))
        elements, place = _first_stage(graph, elements, keys, out, operation, sets[0], name), 1
        operation = "ADD" if operation == "SQUARE_ADD" else operation
    if len(sets) <= place:
        sets.append(graph.add_compute_set(name or "popops::reduce"))
    _last_stage(graph, elements, out, ReduceCodelet(
        operation, elements.view.type, out.type, update, None if scale is None else scale.type
    ), scale, sets[place])  # fmt: skip


def _distinct(numbers: Ints) -> Ints:
    """The different numbers in ascending order; faster than NumPy's function where most are different."""
    ordered = np.sort(numbers)
    return np.asarray(ordered[np.append(True, ordered[1:] != ordered[:-1])])


def _placed(graph: Graph, view: View, dims: Sequence[int], out: View) -> _Elements:
    """All elements, on the tiles where they lie."""
    tiles = mapping.tiles_of(graph.memory, view)
    for each, what in ((tiles, "reduced"), (mapping.tiles_of(graph.memory, out), "written")):
        if (each == mapping.UNMAPPED).any():
            raise InvalidTileMapping(f"elements that are {what} lie on no tile ({user_line()})")
    owner = _spread(view, [place for place in range(view.rank) if place not in dims])
    return _Elements(view, view.addresses().reshape(-1), owner, tiles)


def _spread(view: View, dims: Sequence[int]) -> Ints:
    """For each element of the flattened tensor, its place in the dimensions that are named."""
    shape = tuple(length if place in dims else 1 for place, length in enumerate(view.shape))
    numbers = np.arange(int(np.prod(shape, dtype=np.int64)), dtype=np.int64).reshape(shape)
    return np.broadcast_to(numbers, tuple(view.shape)).reshape(-1)


def _in_blocks(graph: Graph, elements: _Elements, dims: Sequence[int], out: View) -> _Elements:
    """The same elements with tiles of a grid: about as many stretches of each result as a tile then reduces of it."""
    each = elements.view.elements // out.elements
    stretches = max(1, min(ceil(sqrt(each)), graph.tile_count))
    width = ceil(out.elements * stretches / graph.tile_count)
    length = ceil(each / stretches)
    across = ceil(out.elements / width)
    tiles = _spread(elements.view, dims) // length * across + elements.owner // width
    whole = tiles % graph.tile_count
    if graph.tiles is not None:
        whole = graph.tiles[whole]
    return _Elements(elements.view, elements.addresses, elements.owner, np.asarray(whole, dtype=np.int64))


def _first_stage(
    graph: Graph,
    elements: _Elements,
    keys: Ints,
    out: View,
    operation: str,
    compute_set: ComputeSet,
    name: str,
) -> _Elements:
    """Reduce on each tile what is there; returns the partial results."""
    view = elements.view
    kind = FLOAT if view.type.is_floating else view.type
    partials = graph.add_variable(kind, (len(keys),), f"{name}/partials")
    mine = elements.tiles * out.elements + elements.owner
    order = np.argsort(mine, kind="stable")
    counts = np.diff(np.append(np.searchsorted(mine[order], keys), len(mine)))
    tiles, owner = keys // out.elements, keys % out.elements
    numbers = np.arange(len(keys), dtype=np.int64)
    codelet = ReduceCodelet(operation, view.type, kind, False, None)
    _add(graph, compute_set, codelet, view, partials, elements.addresses[order], counts, tiles, numbers, None)
    first = np.flatnonzero(np.append(True, np.diff(tiles) != 0))
    outputs.put_whole_tiles(graph, partials, first, np.append(first[1:], len(tiles)), tiles[first])
    return _Elements(partials, partials.addresses().reshape(-1), owner, tiles)


def _last_stage(
    graph: Graph,
    elements: _Elements,
    out: View,
    codelet: ReduceCodelet,
    scale: View | None,
    compute_set: ComputeSet,
) -> None:
    on_tile = mapping.tiles_of(graph.memory, out)
    # results in the order of their tiles, and the elements of each together
    results = np.argsort(on_tile, kind="stable")
    rank = np.argsort(results)
    order = np.argsort(rank[elements.owner], kind="stable")
    counts = np.bincount(elements.owner, minlength=out.elements)[results]
    _add(
        graph, compute_set, codelet, elements.view, out, elements.addresses[order], counts, on_tile[results], results,
        scale,
    )  # fmt: skip


def _add(
    graph: Graph,
    compute_set: ComputeSet,
    codelet: ReduceCodelet,
    view: View,
    out: View,
    addresses: Ints,
    counts: Ints,
    on_tile: Ints,
    results: Ints,
    scale: View | None,
) -> None:
    """One vertex for each tile of `on_tile`, which is sorted and has one entry for each result."""
    name = register(graph, codelet)
    tiles, begin = np.unique(on_tile, return_index=True)
    end = np.append(begin[1:], len(on_tile))
    elements = np.append(0, np.cumsum(counts))
    made = out.addresses().reshape(-1)
    inputs = [_listed(view, addresses[elements[b] : elements[e]]) for b, e in zip(begin, end, strict=True)]
    outs = [_listed(out, made[results[b:e]]) for b, e in zip(begin, end, strict=True)]
    fields = {"out": outs, "in": inputs}
    if scale is not None:
        fields["scale"] = [scale.flatten()] * len(tiles)
    parts = [counts[b:e].tolist() for b, e in zip(begin, end, strict=True)]
    add_column(graph, compute_set, name, tiles, fields, {"counts": parts})


def _listed(view: View, addresses: Ints) -> View:
    return view.__class__(view.graph, view.type, addresses.shape, 0, (), addresses)
