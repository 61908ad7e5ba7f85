"""Reductions in compute sets: partial results on the tiles that hold the elements, then one vertex for each tile of the
output. Where all elements of each result lie on one tile, one compute set is enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tremula.frontends.poplar.codelets.codelet import Batch, Direction, Field, Kind, Run, StateVectors
from tremula.frontends.poplar.codelets.recipes import Recipe, maker
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
from tremula.frontends.poplar.types import BY_NAME, FLOAT, INT, Type

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
        kinds = (source.name, out.name, update, None if scale is None else scale.name)
        self.recipe = Recipe("popops.Reduce", (operation, *kinds))

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


@maker("popops.Reduce")
def _from_recipe(arguments: Sequence[Any]) -> ReduceCodelet:
    operation, source, out, update, scale = arguments
    if operation not in COMBINE:
        raise ValueError(f"there is no reduction {operation!r:.40}")
    return ReduceCodelet(
        operation, BY_NAME[source], BY_NAME[out], bool(update), None if scale is None else BY_NAME[scale]
    )


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
    owner = _owners(view, dims, out)
    tiles = mapping.tiles_of(graph.memory, view)
    addresses = view.addresses().reshape(-1)
    total = max(out.elements, 1)
    for each, what in ((tiles, "reduced"), (mapping.tiles_of(graph.memory, out), "written")):
        if (each == mapping.UNMAPPED).any():
            raise InvalidTileMapping(f"elements that are {what} lie on no tile ({user_line()})")
    keys = np.unique(tiles * total + owner)
    final = operation
    place = 0
    if len(keys) > out.elements:
        partial_type = FLOAT if view.type.is_floating else view.type
        partials = graph.add_variable(partial_type, (len(keys),), f"{name}/partials")
        tiles, owner, addresses = _first_stage(
            graph, view, tiles, owner, addresses, partials, operation, _compute_set(graph, sets, place, name)
        )
        view, place = partials, 1
        final = "ADD" if operation == "SQUARE_ADD" else operation
    _last_stage(
        graph,
        view,
        tiles,
        owner,
        addresses,
        out,
        (final, update, scale),
        _compute_set(graph, sets, place, name),
    )


def _owners(view: View, dims: Sequence[int], out: View) -> Ints:
    """The result that each element of the flattened tensor belongs to."""
    kept = tuple(1 if place in dims else length for place, length in enumerate(view.shape))
    numbers = np.arange(out.elements, dtype=np.int64).reshape(kept)
    return np.broadcast_to(numbers, tuple(view.shape)).reshape(-1)


def _compute_set(graph: Graph, sets: list[ComputeSet], place: int, name: str) -> ComputeSet:
    while len(sets) <= place:
        sets.append(graph.add_compute_set(f"{name or 'popops::reduce'}/stage{len(sets)}"))
    return sets[place]


def _first_stage(
    graph: Graph,
    view: View,
    tiles: Ints,
    owner: Ints,
    addresses: Ints,
    partials: View,
    operation: str,
    compute_set: ComputeSet,
) -> tuple[Ints, Ints, Ints]:
    """Reduce what lies on each tile; returns tile, result and address of each partial result."""
    total = int(owner.max()) + 1
    mine, theirs = tiles * total + owner, np.unique(tiles * total + owner)
    order = np.argsort(mine, kind="stable")
    counts = np.diff(np.searchsorted(mine[order], np.append(theirs, mine[order][-1] + 1)))
    on_tile, result = theirs // total, theirs % total
    codelet = ReduceCodelet(operation, view.type, partials.type, False, None)
    _add(
        graph,
        compute_set,
        codelet,
        view,
        partials,
        addresses[order],
        counts,
        on_tile,
        np.arange(len(theirs)),
        None,
    )
    outputs.put_whole_tiles(graph, partials, np.arange(len(theirs)), np.arange(len(theirs)) + 1, on_tile)
    return on_tile, result, partials.addresses().reshape(-1)


def _last_stage(
    graph: Graph,
    view: View,
    tiles: Ints,
    owner: Ints,
    addresses: Ints,
    out: View,
    what: tuple[str, bool, View | None],
    compute_set: ComputeSet,
) -> None:
    operation, update, scale = what
    codelet = ReduceCodelet(operation, view.type, out.type, update, None if scale is None else scale.type)
    on_tile = mapping.tiles_of(graph.memory, out)
    # results in the order of their tiles, and the elements of each together
    results = np.argsort(on_tile, kind="stable")
    rank = np.argsort(results)
    order = np.argsort(rank[owner], kind="stable")
    counts = np.bincount(owner, minlength=out.elements)[results]
    _add(graph, compute_set, codelet, view, out, addresses[order], counts, on_tile[results], results, scale)


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
