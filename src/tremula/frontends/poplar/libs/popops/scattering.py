"""Scatter with a function of the user's: a loop over the windows, each read, combined and written back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.libs.popops import slices
from tremula.frontends.poplar.libs.popops.gathering import check_windows
from tremula.frontends.poplar.libs.popops.loops import counted_loop
from tremula.frontends.poplar.program.programs import Program, Sequence_

#: (graph, old, new, program) -> what is written
Combine = Callable[[Graph, View, View, Sequence_], View]


def scatter_with(
    graph: Graph,
    view: View,
    indices: View,
    updates: View,
    vector_dim: int,
    window_dims: Sequence[int],
    inserted: Sequence[int],
    mapped: Sequence[int],
    combine: Combine,
    program: Sequence_,
    name: str,
    given: Mapping[str, str],
) -> None:
    """Combine windows of updates with what is there, one window after the other."""
    check_windows(view, indices, updates, vector_dim, window_dims, inserted, mapped)
    scattered = [place for place in range(updates.rank) if place not in window_dims]
    ordered = updates.dim_shuffle([*scattered, *sorted(window_dims)])
    inner = ordered.shape[len(scattered) :]
    count = 1
    for each in ordered.shape[: len(scattered)]:
        count *= each
    windows = ordered.reshape((count, *inner))
    for place in sorted(inserted):
        windows = windows.expand([place + 1])
    rows = indices.expand([indices.rank]) if vector_dim == indices.rank else indices
    last = [place for place in range(rows.rank) if place != min(vector_dim, rows.rank - 1)]
    rows = rows.dim_shuffle([*last, min(vector_dim, rows.rank - 1)]).reshape((count, len(mapped)))
    dims, sizes = list(mapped), [windows.shape[each + 1] for each in mapped]

    def body(counter: View) -> Program:
        turn = Sequence_()
        start = slices.dynamic_slice(graph, rows, counter, [0], [1], turn, name, {}).flatten()
        new = slices.dynamic_slice(graph, windows, counter, [0], [1], turn, name, {}).squeeze([0])
        old = slices.dynamic_slice(graph, view, start, dims, sizes, turn, name, given)
        made = combine(graph, old, new, turn)
        slices.dynamic_update(graph, view, made, start, dims, sizes, turn, name, given)
        return turn

    program.add(counted_loop(graph, 0, count, 1, body, name or "popops::scatter"))
