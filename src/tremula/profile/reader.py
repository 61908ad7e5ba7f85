"""Reads a profile: each table when it is first asked for, checked, as frozen rows; frames chunk by chunk.

Nothing in the file is trusted: types, ranges, sizes and references are checked, and whatever is wrong is an
`Error` that names the file. An older schema is migrated in memory; a newer one is refused.
"""

from __future__ import annotations

import functools
import importlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from tremula.profile import model, reasons
from tremula.profile.application import read_application
from tremula.profile.database import bad, check_definitions, errors_translated, open_database
from tremula.profile.frames_of_file import FramesOfFile
from tremula.profile.migrate import migrated
from tremula.profile.program_nodes import children, step_nodes
from tremula.profile.rows import unpacked
from tremula.profile.schema import COLUMNAR, SCHEMA_VERSION, TABLE_OF, definitions
from tremula.profile.table_reader import read_meta, read_rows
from tremula.profile.variables import Variables
from tremula.step_parts import with_host_parts

__all__ = ["Profile", "children"]

Bytes = NDArray[np.int64]
_Row = TypeVar("_Row")

#: who draws a profile in a notebook; a name, as the file's package knows no viewer
_DRAWS = ("tremula.view.notebook", "profile_html")
#: columns that must name a row of another table
_REFERENCES = {
    "supersteps": (("plan_id", "plans"),),
    "tile_memory": (("category_id", "categories"), ("ipu", "ipus")),
    "contributors": (("category_id", "categories"), ("ipu", "ipus")),
    "liveness": (("ipu", "ipus"),),
    "lifetimes": (("ipu", "ipus"),),
}
#: tables whose rows carry their own number
_NUMBERED = {
    "ops": "id", "plans": "id", "categories": "id", "ipus": "ipu", "vertex_types": "id", "runs": "id"
}  # fmt: skip


class _RowsOf(Generic[_Row]):
    """An attribute of a profile: all rows of one table."""

    def __init__(self, row: type[_Row]) -> None:
        self._row = row

    def __get__(self, profile: Profile, _kind: type[Profile]) -> tuple[_Row, ...]:
        return profile.rows(self._row)


class Profile(FramesOfFile):
    """A profile that is open for reading; also a context manager."""

    options = _RowsOf(model.Option)  #: settings
    graph = _RowsOf(model.Count)  #: counts of the graph
    categories = _RowsOf(model.Category)  #: uses of memory
    ipus = _RowsOf(model.IpuMemory)  #: memory of each IPU of a replica
    contributors = _RowsOf(model.Contributor)  #: what takes most memory, largest first on each IPU
    lifetimes = _RowsOf(model.Lifetime)  #: the largest tensors that come and go
    ops = _RowsOf(model.Op)  #: ops in the order of a step
    plans = _RowsOf(model.Plan)  #: plans of ops
    stages = _RowsOf(model.Stage)  #: pipeline stages
    pipeline_phases = _RowsOf(model.PipelinePhase)  #: how the pipeline fills, runs and drains; or none
    transfers = _RowsOf(model.Transfer)  #: collectives, streaming memory, copies, host
    advice = _RowsOf(model.Advice)  #: what to change, best first; none in files of earlier versions
    vertex_types = _RowsOf(model.VertexType)  #: types of vertices
    runs = _RowsOf(model.Run)  #: recorded runs; their steps are in the frame `steps`

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._tables: dict[str, tuple[Any, ...]] = {}
        place = Path(path)
        connection, self.version = open_database(place)
        with errors_translated(place):
            try:
                if self.version < SCHEMA_VERSION:
                    old, connection = connection, migrated(connection, place, self.version)
                    old.close()
                check_definitions(connection, place, definitions())
                super().__init__(connection, place, read_meta(connection, place))
            except BaseException:
                connection.close()
                raise

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Profile:
        """The profile at `path`; the same as calling the class."""
        return cls(path)

    def close(self) -> None:
        """Let go of the file; tables that were read stay."""
        self._connection.close()

    def __enter__(self) -> Profile:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    # -- tables ------------------------------------------------------------------------------------------

    @property
    def target(self) -> model.Target:
        """What was modelled."""
        rows = self.rows(model.Target)
        if not rows:
            raise bad(self.path, "it does not say what was modelled")
        if not (
            0 < rows[0].tiles_per_ipu <= 65_536 and rows[0].clock_hz > 0 and rows[0].tile_memory_bytes > 0
        ):
            raise bad(self.path, "its target has no tiles, no memory or no clock")
        return rows[0]

    @functools.cached_property
    def figures(self) -> Mapping[str, model.Figure]:
        """Modelled figures by name."""
        return {figure.name: figure for figure in self.rows(model.Figure)}

    @functools.cached_property
    def supersteps(self) -> Mapping[int, tuple[model.Superstep, ...]]:
        """Execution steps by plan."""
        found: dict[int, list[model.Superstep]] = {}
        for row in self.rows(model.Superstep):
            found.setdefault(row.plan_id, []).append(row)
        return {plan: tuple(rows) for plan, rows in found.items()}

    @property
    def breakdown(self) -> Mapping[str, float]:
        """Cycles of a step by what they go to; those of the host in two parts, also in files that have one."""
        parts = {part.name: part.cycles for part in self.rows(model.Part)}
        turns = [o.value for o in self.options if (o.section, o.name) == ("loops", "device_iterations")]
        iterations = int(turns[0]) if turns and turns[0].isdecimal() else 1
        step = self.figures.get("seconds_per_step")
        return with_host_parts(parts, step.value if step else 0.0, max(1, iterations))

    def lines(self, advice: model.Advice) -> list[str]:
        """The lines of code of a piece of advice."""
        try:
            found = json.loads(advice.code)
        except (ValueError, RecursionError):
            raise bad(self.path, "the code of its advice is not JSON") from None
        if not isinstance(found, list) or not all(isinstance(line, str) for line in found):
            raise bad(self.path, "the code of its advice is not a list of lines")
        return found

    def _count(self, name: str) -> int:
        """Number of rows of a frame or table, or of the IPUs of a `replica`: files without memory do not list them."""
        return min(4_096, self.target.ipus_per_replica) if name == "replica" else super()._count(name)

    # -- frames ------------------------------------------------------------------------------------------

    @functools.cached_property
    def programs(self) -> tuple[model.ProgramNode, ...]:
        """The program tree of a step down to its ops, parents before their children."""
        return step_nodes(self.frame("programs"))

    @functools.cached_property
    def _variables(self) -> Variables:
        numbers = {category.name: category.id for category in self.categories}
        return Variables(
            self.frame("variables"),
            self.target.tiles_per_ipu,
            lambda ipu: self.ipus[ipu].peak_step,
            lambda ipu: {numbers[name]: values for name, values in self.tile_bytes(ipu).items()},
        )

    def variables_on_tile(self, ipu: int, tile: int) -> tuple[Bytes, Bytes]:
        """Rows of the frame `variables` that have bytes on a tile at its IPU's fullest moment, and the bytes."""
        if not (0 <= ipu < len(self.ipus) and 0 <= tile < self.target.tiles_per_ipu):
            raise IndexError(f"IPU {ipu} has no tile {tile}.")
        with self._guarded():
            return self._variables.on_tile(ipu, tile)

    def variable_tiles(self, row: int) -> Bytes:
        """Bytes on each tile of its IPU, of the variable in a row of the frame `variables`."""
        if not 0 <= row < len(self.frame("variables")):
            raise IndexError(f"There is no variable {row}.")
        with self._guarded():
            return self._variables.of_row(row)

    def alive_at(self, ipu: int, step: int, *, always: bool = False) -> Bytes:
        """Rows of the frame `variables` on an IPU in a program step: those that come and go, or with `always` all."""
        with self._guarded():
            return self._variables.alive(ipu, step, always)

    @functools.cached_property
    def application(self) -> dict[str, Any]:
        """What framework.json and app.json beside the file say, by `framework` and `app`; only those that are there.

        Raises Error if one of them is not JSON.
        """
        return read_application(self.path.parent)

    # -- arrays and reasons ------------------------------------------------------------------------------

    def tile_bytes(self, ipu: int) -> dict[str, Bytes]:
        """Bytes on each tile of `ipu`, by use."""
        tiles = self.target.tiles_per_ipu
        found = {}
        for row in self.rows(model.TileMemory):
            if row.ipu == ipu:
                values = self._array(row.bytes_per_tile, row.tiles, f"tile memory of IPU {ipu}")
                if row.tiles != tiles or int(values.sum()) != row.total_bytes:
                    raise bad(self.path, f"tile memory of IPU {ipu} does not add up")
                found[self.categories[row.category_id].name] = values
        return found

    def live_bytes(self, ipu: int) -> tuple[Bytes, Bytes]:
        """Bytes of tensors and of temporaries of `ipu` in each program step; empty if there are none."""
        for row in self.rows(model.Liveness):
            if row.ipu == ipu:
                what = f"liveness of IPU {ipu}"
                live = self._array(row.live_bytes, row.steps, what)
                return live, self._array(row.temporary_bytes, row.steps, what)
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)

    @functools.cached_property
    def program_steps(self) -> tuple[Bytes, Bytes]:
        """The row of `ops` that each program step runs (-1: no work), and whether it runs again."""
        for row in self.rows(model.ProgramSteps):
            ops = self._array(row.op_ids, row.steps, "the program steps", least=-1)
            if row.steps and int(ops.max()) >= self._count("ops"):
                raise bad(self.path, "its program steps refer to ops that do not exist")
            return ops, self._array(row.again, row.steps, "the program steps")
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)

    def reason(self, row: model.Plan | model.Transfer) -> reasons.Reason:
        """Why it costs what it does."""
        with errors_translated(self.path):
            return reasons.parsed(row.why)

    def _array(self, blob: bytes, count: int, what: str, least: int = 0) -> Bytes:
        with errors_translated(self.path):
            values = unpacked(blob, count)
        if count and (int(values.min()) < least or int(values.max()) > 2**50):
            raise bad(self.path, f"{what} has impossible numbers")
        return values

    def rows(self, row: type[_Row]) -> tuple[_Row, ...]:
        """All rows of the table whose rows are of class `row`, in the order of the file."""
        table = COLUMNAR.get(row) or TABLE_OF[row]
        if table.name not in self._tables:
            with self._guarded():
                make: Callable[..., _Row] = row
                if row in COLUMNAR:
                    frame = self.frame(table.name)
                    columns = (frame.column(name) for name in table.names)
                    rows = tuple(map(make, *(c if isinstance(c, list) else c.tolist() for c in columns)))
                else:
                    rows = tuple(
                        make(*each) for each in read_rows(self._connection, self.path, table, self.meta)
                    )
                self._check_relations(table.name, rows)
            self._tables[table.name] = rows
        return self._tables[table.name]

    def _check_relations(self, name: str, rows: tuple[Any, ...]) -> None:
        number = _NUMBERED.get(name)
        if number and any(getattr(row, number) != index for index, row in enumerate(rows)):
            raise bad(self.path, f"the rows of {name} are not numbered in order")
        for column, other in _REFERENCES.get(name, ()):
            count = self._count(other)
            if any(getattr(row, column) >= count for row in rows):
                raise bad(self.path, f"{column} of {name} refers to a row that does not exist")

    # -- notebooks ---------------------------------------------------------------------------------------

    def _repr_html_(self) -> str:
        draw: Callable[[Profile], str] = getattr(importlib.import_module(_DRAWS[0]), _DRAWS[1])
        return draw(self)

    def __repr__(self) -> str:
        return f"Profile({os.fspath(self.path)!r})"
