"""The schema of a profile: its tables, version and limits, made from the row classes.

A file says that it is a profile by its application id and which schema it has by its user version. The limits
are what a writer keeps to and a reader insists on; they are far beyond what programs of today need, and low
enough that a hostile file cannot take the reader's memory.
"""

from __future__ import annotations

import functools
import typing
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from tremula.profile import frames, model

SCHEMA_VERSION = 4
#: "TRMP" as a big-endian number
APPLICATION_ID = 0x54524D50
#: oldest version that a reader migrates
OLDEST_VERSION = 1

#: characters of a name and of a JSON text
MAX_TEXT = 4_096
MAX_JSON = 65_536
#: bytes of a compressed array, and elements of an unpacked one
MAX_BLOB = 64 << 20
MAX_ELEMENTS = 4 << 20
#: rows of a chunk of a frame, characters of all its texts, and bytes of the unpacked texts of a column of it
CHUNK_ROWS = 16_384
CHUNK_CHARACTERS = 4 << 20
MAX_CHUNK_TEXT = 20 << 20
#: characters of all texts of a column
MAX_COLUMN_TEXT = 256 << 20
#: JavaScript's exact integers end here, and no count of ours comes near
MAX_INT = 2**53
#: largest magnitude of a modelled figure that is believed
MAX_FLOAT = 1e30
MAX_FILE_BYTES = 1 << 30
#: rows that are hashed together; part of the format
BATCH_ROWS = 1_000

_SQL = {int: "INTEGER", float: "REAL", str: "TEXT", bytes: "BLOB"}


@dataclass(frozen=True)
class Column:
    """A column: its name, Python type, limit and meaning."""

    name: str
    type: type
    limit: int
    meaning: str


@dataclass(frozen=True)
class Table:
    """A table: its name, the class of its rows, and how many of them there may be."""

    name: str
    row: type[Any]
    most_rows: int

    @functools.cached_property
    def columns(self) -> tuple[Column, ...]:
        """The columns, in the order of the row class's fields."""
        hints = typing.get_type_hints(self.row, vars(model), include_extras=True)
        found = []
        for field in fields(self.row):
            kind, meaning = typing.get_args(hints[field.name])
            if kind is model.Json:
                found.append(Column(field.name, str, MAX_JSON, meaning))
            else:
                found.append(Column(field.name, kind, MAX_BLOB if kind is bytes else MAX_TEXT, meaning))
        return tuple(found)

    @functools.cached_property
    def forms(self) -> tuple[tuple[str, type, int], ...]:
        """Name, type and limit of each column; plain tuples, as every value of a profile passes by."""
        return tuple((column.name, column.type, column.limit) for column in self.columns)

    @property
    def sql(self) -> str:
        """The statement that makes the table; a reader accepts this text only."""
        columns = ", ".join(f"{c.name} {_SQL[c.type]} NOT NULL" for c in self.columns)
        return f"CREATE TABLE {self.name} ({columns})"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def summary(self) -> str:
        """What a row is."""
        return (self.row.__doc__ or "").strip()


META = Table("meta", model.Meta, 2_000)

TABLES: Mapping[str, Table] = {
    table.name: table
    for table in (
        META,
        Table("target", model.Target, 1),
        Table("options", model.Option, 2_000),
        Table("figures", model.Figure, 200),
        Table("graph", model.Count, 200),
        Table("categories", model.Category, 100),
        Table("ipus", model.IpuMemory, 4_096),
        Table("tile_memory", model.TileMemory, 65_536),
        Table("contributors", model.Contributor, 100_000),
        Table("program_steps", model.ProgramSteps, 1),
        Table("liveness", model.Liveness, 4_096),
        Table("lifetimes", model.Lifetime, 100_000),
        Table("plans", model.Plan, 50_000),
        Table("supersteps", model.Superstep, 500_000),
        Table("breakdown", model.Part, 100),
        Table("stages", model.Stage, 10_000),
        Table("pipeline_phases", model.PipelinePhase, 30_000),
        Table("transfers", model.Transfer, 1_000),
        Table("advice", model.Advice, 100),
        Table("vertex_types", model.VertexType, 20_000),
        Table("runs", model.Run, 1_000),
    )
}

#: rows that are kept as a frame: writers add them one by one, and readers get them as rows all the same
OPS = Table("ops", model.Op, frames.FRAMES["ops"].most_rows)
COLUMNAR: Mapping[type[Any], Table] = {model.Op: OPS}

#: the directory of the frames' columns: where the values of each chunk are
COLUMNS = Table("columns", model.ColumnChunk, 200_000)
#: the compressed values, one row for each row of the directory
BLOBS_SQL = "CREATE TABLE blobs (data BLOB NOT NULL)"

#: the table of each row class
TABLE_OF: Mapping[type[Any], Table] = {table.row: table for table in TABLES.values()}


def definitions() -> dict[str, str]:
    """The statement that makes each table of a file of the current version."""
    return {table.name: table.sql for table in (*TABLES.values(), COLUMNS)} | {"blobs": BLOBS_SQL}


def reference() -> str:
    """The tables and frames as Markdown; docs/profile.md holds this text."""
    lines: list[str] = []
    for table in (*TABLES.values(), COLUMNS):
        lines += [
            f"### `{table.name}`",
            "",
            f"{table.summary} At most {table.most_rows:,} rows." if table.most_rows > 1 else table.summary,
            "",
            "| column | type | meaning |",
            "|---|---|---|",
            *(f"| `{c.name}` | {_SQL[c.type]} | {c.meaning} |" for c in table.columns),
            "",
        ]
    return "\n".join(lines) + "\n" + frames.reference()
