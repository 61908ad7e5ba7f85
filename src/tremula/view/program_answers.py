"""Answers about the program tree: the children of a node, a node with all that is known of it, and where a text is."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.errors import Error
from tremula.profile import Profile
from tremula.profile.program_types import ProgramType
from tremula.view.packed import LONGEST
from tremula.view.parameters import Parameters

#: children in one answer, and vertices of a node
MOST_CHILDREN = 1_000
_MOST_VERTICES = 50

#: id, type, kind, name, repeats, cycles, op, children
NodeRow = list[Any]


def children_answer(profile: Profile, params: Parameters) -> dict[str, Any]:
    """The children of a node, `MOST_CHILDREN` of them from `first` on; of -1, the roots."""
    node = params.integer("node", low=-1)
    first = params.integer("first", 0)
    frame = profile.frame("programs")
    found = np.flatnonzero(frame.column("parent") == node)
    shown = found[first : first + MOST_CHILDREN].tolist()
    return {"node": node, "first": first, "total": len(found), "children": _rows(profile, shown)}


def program_node_answer(profile: Profile, params: Parameters) -> dict[str, Any]:
    """A node with its path, compute set, vertices, code, op and line."""
    frame = profile.frame("programs")
    node = params.integer("node")
    if node >= len(frame):
        raise Error(f"The program has no node {node:,}.", type="view_error")
    path = [node]
    parents = frame.column("parent")
    while parents[path[-1]] >= 0:
        path.append(int(parents[path[-1]]))
    op = int(frame.column("op_id")[node])
    found: dict[str, Any] = {
        "node": _rows(profile, [node])[0],
        "path": path[::-1],
        "code_bytes": int(frame.column("code_bytes")[node]),
        "compute_set": None,
        "vertices": [],
        "op": None,
        "context": _context(profile, int(frame.column("context")[node])),
    }
    number = int(frame.column("compute_set")[node])
    if number >= 0:
        sets = profile.frame("compute_sets")
        take = {name: sets.window(name, number, 1)[0] for name in sets.columns}
        found["compute_set"] = [take["name"][:LONGEST], int(take["vertices"]), float(take["cycles"])]
        found["vertices"] = _vertices(profile, int(take["plan_id"]), int(take["superstep"]))
    if op >= 0:
        ops = profile.frame("ops")
        name, target, module, file, line, plan = (
            ops.window(column, op, 1)[0]
            for column in ("name", "target", "module", "source_file", "source_line", "plan_id")
        )
        source = f"{file}:{line}" if file else ""
        found["op"] = [op, *(each[:LONGEST] for each in (name, target, module, source)), int(plan)]
    return found


def program_search_answer(profile: Profile, params: Parameters) -> dict[str, Any]:
    """The next node after `after` (with `back`, the one before) whose name or type holds a text, and how many do."""
    wanted = params.text("text").lower()
    after = params.integer("after", -1, low=-1)
    frame = profile.frame("programs")
    names, types = frame.column("name"), type_names(frame.column("type"))
    hits = [row for row, name in enumerate(names) if wanted in name.lower() or wanted in types[row].lower()]
    if not hits or not wanted:
        return {"total": 0, "place": 0, "node": -1, "path": []}
    if params.text("back"):
        place = next((at for at in range(len(hits) - 1, -1, -1) if hits[at] < after), len(hits) - 1)
    else:
        place = next((at for at, row in enumerate(hits) if row > after), 0)
    path, parents = [hits[place]], frame.column("parent")
    while parents[path[-1]] >= 0:
        path.append(int(parents[path[-1]]))
    return {"total": len(hits), "place": place + 1, "node": hits[place], "path": path[::-1]}


def type_name(number: int) -> str:
    """The name of a type of program."""
    try:
        return ProgramType(number).name
    except ValueError:
        return ProgramType.Unknown.name


def child_counts(profile: Profile) -> NDArray[np.int64]:
    """Children of each node of the program."""
    parents = profile.frame("programs").column("parent")
    found: NDArray[np.int64] = np.bincount(parents[parents >= 0], minlength=len(parents))
    return found


def type_names(numbers: NDArray[np.int64]) -> list[str]:
    """The names of types of programs."""
    known = {number: type_name(number) for number in np.unique(numbers).tolist()}
    return [known[number] for number in numbers.tolist()]


def _rows(profile: Profile, nodes: list[int]) -> list[NodeRow]:
    frame = profile.frame("programs")
    counts = child_counts(profile)
    # texts of these nodes alone: a program may have hundreds of thousands
    kinds = {node: frame.window("kind", node, 1)[0] for node in nodes}
    names = {node: frame.window("name", node, 1)[0] for node in nodes}
    types, repeats = frame.column("type"), frame.column("repeats")
    cycles, ops = frame.column("cycles"), frame.column("op_id")
    return [
        [node, type_name(int(types[node])), kinds[node][:40], names[node][:LONGEST], int(repeats[node]),
         float(cycles[node]), int(ops[node]), int(counts[node])]
        for node in nodes
    ]  # fmt: skip


def _vertices(profile: Profile, plan: int, superstep: int) -> list[list[Any]]:
    frame = profile.frame("vertices")
    types = profile.vertex_types
    rows = np.flatnonzero((frame.column("plan_id") == plan) & (frame.column("superstep") == superstep))
    kind, count, tiles = frame.column("vertex_type"), frame.column("count"), frame.column("tiles")
    return [
        [types[int(kind[row])].name[:LONGEST], int(count[row]), int(tiles[row])]
        for row in rows[:_MOST_VERTICES].tolist()
    ]


def _context(profile: Profile, number: int) -> list[list[Any]]:
    """A debug context and those around it, the outermost first: name, layer, file, line, function."""
    frame = profile.frame("contexts")
    found: list[list[Any]] = []
    while number >= 0:
        found.append(
            [frame.window(name, number, 1)[0][:LONGEST] for name in ("name", "layer", "file", "function")]
            + [int(frame.window("line", number, 1)[0])]
        )
        number = int(frame.window("parent", number, 1)[0])
    return found[::-1]
