"""Random programs of views, copies and vertices give what NumPy gives on plain arrays.

The reference knows no addresses: a view is an array of element numbers, made by NumPy's own slicing and reshaping.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tremula.frontends.poplar.codelets.codelet import Direction, Field, Kind
from tremula.frontends.poplar.graph.concat import concat
from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.program.copies import make_copy
from tremula.frontends.poplar.program.programs import Execute, Repeat, Sequence_
from tremula.frontends.poplar.target import TargetFacts, TargetKind
from tremula.frontends.poplar.types import FLOAT, HALF, INT, UNSIGNED_CHAR, Type

from ..conftest import LoopCodelet, started, value_of, vector

TYPES = (FLOAT, INT, HALF, UNSIGNED_CHAR)


@dataclass
class Seen:
    """A view, and the numbers of its elements in the reference."""

    view: Any
    ids: np.ndarray


class Model:
    """A graph beside its reference."""

    def __init__(self, data: st.DataObject, type: Type, accepts_strides: bool) -> None:
        self.data, self.type = data, type
        accurate = data.draw(st.booleans())
        self.graph = Graph(TargetFacts(TargetKind.IPU_MODEL, tiles_per_ipu=8, accurate_half=accurate))
        fields = [
            vector("x", Direction.INPUT, type),
            vector("y", Direction.OUTPUT, type),
            Field("add", Kind.STATE, Direction.NONE, type),
        ]
        self.graph.contents.codelets["Add"] = LoopCodelet(
            "Add", fields, _add, accepts_strides=accepts_strides
        )
        gather = [Field("x", Kind.VECTOR_LIST, Direction.INPUT, type), vector("y", Direction.INOUT, type)]
        self.graph.contents.codelets["Sum"] = LoopCodelet("Sum", gather, _sum)
        self.variables: list[Seen] = []
        total = 0
        for number in range(data.draw(st.integers(1, 3))):
            shape = tuple(data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
            made = self.graph.add_variable(type, shape, f"v{number}")
            for place in range(made.elements):
                self.graph.set_tile_mapping(made.flatten()[place], data.draw(st.integers(0, 3)))
            ids = np.arange(total, total + made.elements).reshape(shape)
            self.graph.set_initial_value(made, ids % 19)
            self.variables.append(Seen(made, ids))
            total += made.elements
        self.values = (np.arange(total) % 19).astype(type.storage(accurate))

    def view(self) -> Seen:
        """A random view."""
        found = self.data.draw(st.sampled_from(self.variables))
        for _ in range(self.data.draw(st.integers(0, 4))):
            found = self._changed(found)
        return found

    def _changed(self, seen: Seen) -> Seen:
        view, ids = seen.view, seen.ids
        if not ids.ndim or not ids.size:
            return seen
        draw = self.data.draw
        kind = draw(st.sampled_from(["slice", "shuffle", "flat", "reverse", "step", "concat", "at"]))
        dimension = draw(st.integers(0, ids.ndim - 1))
        length = ids.shape[dimension]
        if kind == "slice":
            begin = draw(st.integers(0, length - 1))
            end = draw(st.integers(begin + 1, length))
            return Seen(
                view.slice_dimension(begin, end, dimension), ids.take(range(begin, end), axis=dimension)
            )
        if kind == "shuffle":
            order = draw(st.permutations(range(ids.ndim)))
            return Seen(view.dim_shuffle(order), ids.transpose(order))
        if kind == "flat":
            return Seen(view.flatten(), ids.reshape(-1))
        if kind == "reverse":
            return Seen(view.reverse(dimension), np.flip(ids, dimension))
        if kind == "step":
            step = draw(st.integers(1, 3))
            return Seen(view.sub_sample(step, dimension), ids.take(range(0, length, step), axis=dimension))
        if kind == "at":
            place = draw(st.integers(0, ids.shape[0] - 1))
            return Seen(view.at(place), ids[place])
        other = draw(st.sampled_from(self.variables))
        return Seen(
            concat([view.flatten(), other.view.flatten()]),
            np.concatenate([ids.reshape(-1), other.ids.reshape(-1)]),
        )

    def target(self) -> Seen:
        """A random view that names no element twice."""
        seen = self.view()
        if len(np.unique(seen.ids)) != seen.ids.size:
            return self.data.draw(st.sampled_from(self.variables))
        return seen

    def copy(self) -> tuple[Any, Any]:
        """A copy of as many elements as both views have."""
        source, target = self.view(), self.target()
        count = min(source.ids.size, target.ids.size)
        one, other = source.view.flatten()[:count], target.view.flatten()[:count]
        if self.data.draw(st.booleans()) and source.ids.shape == target.ids.shape:
            one, other = source.view, target.view
        taken, put = source.ids.reshape(-1)[:count], target.ids.reshape(-1)[:count]

        def reference() -> None:
            self.values[put] = self.values[taken].copy()

        return make_copy(one, other), reference

    def compute_set(self) -> tuple[Any, Any]:
        """Vertices without hazards: each writes elements that no other one reads or writes."""
        made = self.graph.add_compute_set("random")
        updates = []
        written: set[int] = set()
        read: set[int] = set()
        for _ in range(self.data.draw(st.integers(1, 4))):
            source, target = self.view(), self.target()
            count = min(source.ids.size, target.ids.size)
            taken, put = source.ids.reshape(-1)[:count], target.ids.reshape(-1)[:count]
            if set(put.tolist()) & (written | read) or set(taken.tolist()) & written:
                continue
            written |= set(put.tolist())
            read |= set(taken.tolist())
            tile = self.data.draw(st.integers(0, 7))
            if set(put.tolist()) & set(taken.tolist()):
                tile = 7  # nothing lies there, so what a vertex reads is a copy from before it writes
            updates.append(
                self._vertex(
                    made, source.view.flatten()[:count], target.view.flatten()[:count], tile, taken, put
                )
            )

        def reference() -> None:
            before = self.values.copy()
            for put, compute in updates:
                self.values[put] = compute(before)

        return Execute(made), reference

    def _vertex(self, made: Any, x: Any, y: Any, tile: int, taken: np.ndarray, put: np.ndarray) -> Any:
        dtype = self.values.dtype
        if self.data.draw(st.booleans()):
            amount = self.data.draw(st.integers(0, 5))
            vertex = self.graph.add_vertex(made, "Add", {"x": x, "y": y, "add": amount})
            self.graph.set_vertex_tile(vertex, tile)
            return put, lambda before: (before[taken] + np.array(amount, dtype)).astype(dtype)
        cut = self.data.draw(st.integers(0, x.elements))
        vertex = self.graph.add_vertex(made, "Sum", {"x": [x[:cut], x[cut:]], "y": y})
        self.graph.set_vertex_tile(vertex, tile)
        sums = lambda before: before[taken[:cut]].sum(dtype=dtype) + before[taken[cut:]].sum(dtype=dtype)  # noqa: E731
        return put, lambda before: (before[put] + sums(before)).astype(dtype)


def _add(x: np.ndarray, y: np.ndarray, add: np.ndarray) -> None:
    y[...] = x + add[0]


def _sum(x: list[np.ndarray], y: np.ndarray) -> None:
    y += x[0].sum(dtype=y.dtype) + x[1].sum(dtype=y.dtype)


@settings(max_examples=150, deadline=None)
@given(st.data(), st.sampled_from(TYPES), st.booleans())
def test_programs_give_what_numpy_gives(data: st.DataObject, type: Type, accepts_strides: bool) -> None:
    model = Model(data, type, accepts_strides)
    steps, references = [], []
    for _ in range(data.draw(st.integers(1, 6))):
        step, reference = model.compute_set() if data.draw(st.booleans()) else model.copy()
        steps.append(step)
        references.append(reference)
    turns = data.draw(st.integers(1, 3))
    engine = started(model.graph, Repeat(turns, Sequence_(*steps)))
    with np.errstate(over="ignore"):
        engine.run()
        for _ in range(turns):
            for reference in references:
                reference()
    for each in model.variables:
        found = value_of(engine, each.view)
        np.testing.assert_array_equal(found, model.values[each.ids])
