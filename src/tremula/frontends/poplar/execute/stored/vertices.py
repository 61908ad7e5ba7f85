"""Compute sets with their vertices as columns."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np

from tremula.checked_json import BadValue
from tremula.frontends.poplar.codelets.codelet import Codelet, Field, Kind
from tremula.frontends.poplar.execute.stored.columns import Reader, Writer, entries, record, text, texts
from tremula.frontends.poplar.execute.stored.views import ViewTable
from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.graph.layout import Ints
from tremula.frontends.poplar.graph.vertices import ComputeSet, Connections, States, VertexBatch, values
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.rules.elements import ElementNumbers
from tremula.frontends.poplar.rules.vertices import compute_set as placed_compute_set

_BATCH = ("type", "sources", "connected", "states", "sizes")


def write_compute_sets(graph: Graph, writer: Writer, views: ViewTable) -> list[dict[str, Any]]:
    """Put all compute sets into columns, and give what is text."""
    numbers = ElementNumbers(graph.memory)
    found = []
    for made in graph.contents.compute_sets:
        batches = []
        estimated = _estimates(graph, made, numbers)
        for place, (type_name, batch) in enumerate(made.batches.items()):
            key = f"set{made.number}_{place}"
            batches.append(_write_batch(type_name, batch, key, writer, views, estimated.get(type_name)))
        found.append({"name": made.name, "source": made.source, "batches": batches})
    return found


def _estimates(graph: Graph, made: ComputeSet, numbers: ElementNumbers) -> dict[str, Any]:
    """Cycles by functions of the user's, which cannot be saved: their results are."""
    if not set(graph.contents.estimators) & {name for name, batch in made.batches.items() if batch.count}:
        return {}
    placed = placed_compute_set(graph, made, numbers)
    return {each.type: each for each in placed.batches if each.type in graph.contents.estimators}


def _write_batch(
    type_name: str, batch: VertexBatch, key: str, writer: Writer, views: ViewTable, estimated: Any
) -> dict[str, Any]:
    writer.put(f"{key}_tile", values(batch.tiles))
    for number, (_, connections) in enumerate(batch.connections.items()):
        of_field = f"{key}_c{number}"
        writer.put(f"{of_field}_vertex", values(connections.vertex))
        writer.put(f"{of_field}_number", values(connections.number))
        writer.put(f"{of_field}_offset", values(connections.offset))
        writer.put(f"{of_field}_count", values(connections.count))
        writer.put(f"{of_field}_step", values(connections.step))
        writer.put(f"{of_field}_views", [views.number(view) for view in connections.views])
    for letter, group in (("s", batch.states), ("n", batch.sizes)):
        for number, states in enumerate(group.values()):
            _write_states(states, f"{key}_{letter}{number}", writer)
    if estimated is not None:
        numbers = np.arange(batch.count)
        both = np.stack(
            [estimated.cycles, np.zeros(batch.count) if estimated.flops is None else estimated.flops]
        )
    else:
        numbers = np.fromiter(batch.estimates, dtype=np.int64, count=len(batch.estimates))
        both = np.array(list(batch.estimates.values()), dtype=np.float64).reshape(-1, 2).T
    writer.put(f"{key}_estimated", numbers)
    writer.put_values(f"{key}_estimates", np.ascontiguousarray(both))
    return {
        "type": type_name,
        "sources": batch.sources,
        "connected": list(batch.connections),
        "states": list(batch.states),
        "sizes": list(batch.sizes),
    }


def _write_states(states: States, key: str, writer: Writer) -> None:
    """Values of one member, which may be lists of different lengths."""
    parts = [np.asarray(each).reshape(-1) for each in states.values]
    writer.put(f"{key}_vertex", values(states.vertex))
    writer.put(f"{key}_plain", [np.ndim(each) == 0 for each in states.values])
    writer.put(f"{key}_ends", np.cumsum([len(each) for each in parts]))
    joined = np.concatenate(parts) if parts else np.zeros(0)
    if joined.dtype.kind not in "biuf":
        raise BadValue(f"a member holds {joined.dtype}, which cannot be saved")
    writer.put_values(f"{key}_value", joined)


def read_compute_sets(
    graph: Graph, reader: Reader, document: Any, views: list[View], codelets: dict[str, Codelet]
) -> None:
    """Make the compute sets again."""
    for given in entries(document, "compute sets"):
        of_set = record(given, "a compute set", ("name", "source", "batches"))
        made = ComputeSet(
            len(graph.contents.compute_sets), text(of_set["name"], "a name"), text(of_set["source"], "a line")
        )
        graph.contents.compute_sets.append(made)
        for place, each in enumerate(entries(of_set["batches"], "batches")):
            batch = record(each, "a batch", _BATCH)
            type_name = text(batch["type"], "a vertex type")
            if type_name not in codelets or type_name in made.batches:
                raise BadValue(f"vertex type {type_name[:80]!r} has no codelet, or two batches")
            key = f"set{made.number}_{place}"
            made.batches[type_name] = _read_batch(graph, codelets[type_name], key, reader, batch, views)


def _read_batch(
    graph: Graph, codelet: Codelet, key: str, reader: Reader, document: dict[str, Any], views: list[View]
) -> VertexBatch:
    batch = VertexBatch(codelet)
    batch.sources = texts(document["sources"], "lines of vertices")
    tiles = reader.numbers(f"{key}_tile", -1, graph.tile_count)
    batch.tiles = _column(tiles)
    count = len(tiles)
    for number, name in enumerate(texts(document["connected"], "connected fields")):
        field = _field(codelet, name, (Kind.SCALAR, Kind.VECTOR, Kind.VECTOR_LIST))
        batch.connections[name] = _read_connections(graph, field, f"{key}_c{number}", reader, count, views)
    for number, name in enumerate(texts(document["states"], "members")):
        field = _field(codelet, name, (Kind.STATE, Kind.STATE_VECTOR))
        batch.states[name] = _read_states(f"{key}_s{number}", reader, count, plain=field.kind is Kind.STATE)
    for number, name in enumerate(texts(document["sizes"], "sizes")):
        _field(codelet, name, (Kind.VECTOR, Kind.VECTOR_LIST))
        batch.sizes[name] = _read_states(f"{key}_n{number}", reader, count, plain=True)
    estimated = reader.numbers(f"{key}_estimated", 0, count)
    both = reader.values(f"{key}_estimates", np.dtype(np.float64), count=2 * len(estimated)).reshape(2, -1)
    if not np.isfinite(both).all() or (both < 0).any():
        raise BadValue("estimates of cycles are not numbers")
    batch.estimates = dict(zip(estimated.tolist(), zip(*both.tolist(), strict=True), strict=True))
    return batch


def _field(codelet: Codelet, name: str, kinds: tuple[Kind, ...]) -> Field:
    field = codelet.fields.get(name)
    if field is None or field.kind not in kinds:
        raise BadValue(f"vertex type {codelet.name} has no such field {name[:80]!r}")
    return field


def _column(numbers: Ints) -> array[int]:
    made = array("q")
    made.frombytes(np.ascontiguousarray(numbers).tobytes())
    return made


def _read_connections(
    graph: Graph, field: Field, key: str, reader: Reader, vertices: int, views: list[View]
) -> Connections:
    vertex = reader.numbers(f"{key}_vertex", 0, vertices)
    count = len(vertex)
    number = reader.numbers(f"{key}_number", 0, 1 << 40, count=count)
    offset = reader.numbers(f"{key}_offset", -1, graph.memory.size + 1, count=count)
    elements = reader.numbers(f"{key}_count", 0, 1 << 40, count=count)
    step = reader.numbers(f"{key}_step", -(1 << 40), 1 << 40, count=count)
    used = reader.numbers(f"{key}_views", 0, len(views))
    mine = [views[each] for each in used.tolist()]
    several = offset < 0
    if (elements[several] >= len(mine)).any():
        raise BadValue("an edge names a view that is not there")
    _check_runs(graph, field, offset[~several], elements[~several], step[~several])
    if any(view.type is not field.type for view in mine if field.type is not None):
        raise BadValue("an edge is of another type than its field")
    return Connections(
        _column(vertex), _column(number), _column(offset), _column(elements), _column(step), mine
    )


def _check_runs(graph: Graph, field: Field, offset: Ints, count: Ints, step: Ints) -> None:
    """Raise unless the elements of runs lie in the memory, at addresses that their type can have."""
    kept = count > 0
    offset, count, step = offset[kept], count[kept], step[kept]
    memory = graph.memory
    if field.type is not None:
        size: Any = memory.element_size(field.type)
    else:
        size = memory.element_sizes[memory.numbers_of(offset)]
    step = np.where(count > 1, step, 0)
    # counts and steps are below 2^40 each, so their product is compared as a float first
    reach = (count - 1).astype(np.float64) * np.abs(step)
    far = offset + (count - 1) * step
    wrong = (
        (reach > memory.size) | (np.minimum(offset, far) < 0) | (np.maximum(offset, far) + size > memory.size)
    )
    if wrong.any() or (offset % size).any() or (step % size).any():
        raise BadValue("an edge names elements outside the memory")


def _read_states(key: str, reader: Reader, vertices: int, *, plain: bool) -> States:
    vertex = reader.numbers(f"{key}_vertex", 0, vertices)
    joined = reader.values(f"{key}_value")
    ends = reader.numbers(f"{key}_ends", 0, len(joined) + 1, count=len(vertex))
    single = reader.numbers(f"{key}_plain", 0, 2, count=len(vertex))
    if len(ends) and ((np.diff(ends) < 0).any() or ends[-1] != len(joined)):
        raise BadValue("the values of a member overlap")
    lengths = np.diff(np.concatenate(([0], ends)))
    if (lengths[single == 1] != 1).any():
        raise BadValue("a member has several values")
    if plain and (single == 1).all():
        return States(_column(vertex), joined.tolist())
    parts = np.split(joined, ends[:-1]) if len(ends) else []
    return States(
        _column(vertex),
        [
            part.tolist()[0] if one else part.tolist()
            for part, one in zip(parts, single.tolist(), strict=True)
        ],
    )
