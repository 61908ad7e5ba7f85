"""The frames of a profile: tables kept column by column, with the meaning beside each column.

A frame is for what has many rows. The number of a row is its id, and -1 means "none". Integers are counts, cycles
or bytes; all figures are modelled by the writer of the file.
"""

from __future__ import annotations

import functools
import typing
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from tremula.profile import model

Kind = Literal["i8", "f8", "str"]

#: items of the level below that one entry of a pyramid covers
PYRAMID_FANOUT = 16
#: nodes of a tree from the root down to the deepest one
DEEPEST_TREE = 64

_KINDS: Mapping[type, Kind] = {int: "i8", float: "f8", str: "str"}
_TYPES = {"i8": "INTEGER", "f8": "REAL", "str": "TEXT"}


@dataclass(frozen=True)
class FrameColumn:
    """A column: its name, what it holds and means, and the frame or table whose rows it names."""

    name: str
    kind: Kind
    meaning: str
    refers: str = ""
    #: the column names a row of the same frame that comes before this one: a tree
    parent: bool = False


@dataclass(frozen=True)
class FrameDefinition:
    """A frame: what a row is, how many there may be, and the columns."""

    name: str
    summary: str
    most_rows: int
    columns: tuple[FrameColumn, ...]
    #: files may lack it: it came later, or is for some programs only
    optional: bool = False

    @functools.cached_property
    def by_name(self) -> Mapping[str, FrameColumn]:
        """The columns by name."""
        return {column.name: column for column in self.columns}


def _ints(**meanings: str) -> tuple[FrameColumn, ...]:
    return tuple(FrameColumn(name, "i8", meaning) for name, meaning in meanings.items())


def _floats(**meanings: str) -> tuple[FrameColumn, ...]:
    return tuple(FrameColumn(name, "f8", meaning) for name, meaning in meanings.items())


def _texts(**meanings: str) -> tuple[FrameColumn, ...]:
    return tuple(FrameColumn(name, "str", meaning) for name, meaning in meanings.items())


def _of_rows(
    name: str, row: type[Any], most_rows: int, refers: Mapping[str, str], kept_as_rows: str
) -> FrameDefinition:
    """The frame of a row class, one column for each of its fields."""
    hints = typing.get_type_hints(row, include_extras=True)
    columns = []
    for field in fields(row):
        kind, meaning = typing.get_args(hints[field.name])
        columns.append(FrameColumn(field.name, _KINDS[kind], meaning, refers.get(field.name, "")))
    return FrameDefinition(name, f"{(row.__doc__ or '').strip()} {kept_as_rows}", most_rows, tuple(columns))


_OP = FrameColumn("op_id", "i8", "row of `ops`, -1: none", refers="ops")
_COMPUTE_SET = FrameColumn("compute_set", "i8", "row of `compute_sets`, -1: none", refers="compute_sets")
_PLAN = FrameColumn("plan_id", "i8", "row of `plans`, -1: none", refers="plans")
_IPU = FrameColumn("ipu", "i8", "number within the replica", refers="ipus")
_LANE_IPU = FrameColumn("ipu", "i8", "number within the replica", refers="replica")
_RUN = FrameColumn("run", "i8", "row of `runs`", refers="runs")

_DEFINITIONS = (
    _of_rows("ops", model.Op, 100_000, {"plan_id": "plans"}, "`Profile.ops` gives them as rows."),
    FrameDefinition(
        "programs",
        "A node of the program tree: row 0 is the root, its first child uploads the weights and its second is a step. "
        "Cycles are work, summed over IPUs; `breakdown` takes overlap into account.",
        2_000_000,
        (
            FrameColumn("parent", "i8", "a row before this one, -1 for the root", parent=True),
            *_ints(type="number of a ProgramType"),
            *_texts(
                kind="switch, upload, step, repeat, stage, update, op, leaf, collective, streaming, copy, call or host",
                name="what it is",
            ),
            *_ints(repeats="times it runs in one run of its parent"),
            *_floats(cycles="of all repeats, in one run of its parent"),
            _OP,
            _COMPUTE_SET,
            FrameColumn("context", "i8", "row of `contexts`, -1: none", refers="contexts"),
            *_ints(code_bytes="control or exchange code of the node itself, on all tiles"),
        ),
    ),
    FrameDefinition(
        "compute_sets",
        "A compute set: vertices that run together on the tiles of an IPU.",
        1_000_000,
        (
            *_texts(name="modules, op and superstep, joined by slashes"),
            _OP,
            _PLAN,
            *_ints(superstep="number within the plan", vertices="vertices of all tiles"),
            *_floats(cycles="compute of the slowest tile in one run"),
        ),
    ),
    FrameDefinition(
        "steps",
        "An execution step of a recorded run, sorted by run, IPU and start. The steps of one IPU in a run follow each "
        "other without gaps, and waiting is a step of type Sync, so their cycles sum to those of the run.",
        1_000_000,
        (
            _RUN,
            _LANE_IPU,
            *_ints(type="number of a ProgramType"),
            FrameColumn("program", "i8", "row of `programs`, -1: none", refers="programs"),
            _OP,
            _COMPUTE_SET,
            *_ints(start="cycle of the run at which it begins", cycles="its length"),
            *_floats(mean_tile_cycles="compute of the mean working tile; 0 if nothing is computed"),
            *_ints(
                active_tiles="tiles that take part",
                bytes_in="bytes that the IPU receives from the host or another IPU",
                bytes_out="bytes that it sends",
                micro_batch="micro-batch within the run, -1: none",
                stage="pipeline stage, -1: none",
            ),
        ),
    ),
    FrameDefinition(
        "lanes",
        "The steps of one IPU in one run.",
        65_536,
        (
            _RUN,
            _LANE_IPU,
            FrameColumn("first_step", "i8", "row of `steps`", refers="steps"),
            *_ints(steps="number of steps", cycles="sum over these steps"),
        ),
    ),
    FrameDefinition(
        "pyramid",
        f"A coarser view of `steps`: {PYRAMID_FANOUT} consecutive items of the level below, lane by lane, level 1 "
        "upwards.",
        1_000_000,
        (
            FrameColumn("lane", "i8", "row of `lanes`", refers="lanes"),
            *_ints(level="1: of steps, 2: of entries of level 1, and so on"),
            FrameColumn("first_step", "i8", "first row of `steps` that is covered", refers="steps"),
            *_ints(
                steps="how many are covered",
                start="cycle at which the first begins",
                end="cycle at which the last ends",
                compute="cycles of steps that compute",
                exchange="cycles of exchanges, between tiles and between IPUs",
                sync="cycles of waiting",
                stream="cycles of copies from and to the host",
            ),
            *_floats(
                low_balance="smallest ratio of mean to slowest tile of the steps that compute; 1 if none does",
                high_balance="largest ratio",
            ),
            *_ints(most_cycles="of the longest step"),
        ),
    ),
    FrameDefinition(
        "liveness_pyramid",
        f"A coarser view of `liveness`: {PYRAMID_FANOUT} program steps or entries of the level below, IPU by IPU, "
        "level 1 upwards.",
        1_000_000,
        (
            _IPU,
            *_ints(
                level="1: of program steps, 2: of entries of level 1, and so on",
                first="first program step that is covered",
                count="how many are covered",
                low="smallest number of bytes of tensors and temporaries",
                high="largest number of bytes",
                high_at="program step with the largest number",
            ),
        ),
    ),
    FrameDefinition(
        "variables",
        "A variable on one IPU. One row `(others)` for each use of memory contains the rest.",
        500_000,
        (
            *_texts(name="the tensor, or its purpose", module="dotted path of the user's module"),
            FrameColumn("category", "i8", "row of `categories`", refers="categories"),
            _IPU,
            *_ints(
                bytes="on all tiles of the IPU",
                always_live="1: in use for the whole run",
                first_step="first program step in which it is alive; -1: always",
                last_step="last one",
            ),
            FrameColumn("op_id", "i8", "row of `ops` that makes it, -1: none", refers="ops"),
            *_ints(
                first_tile="first tile with a part of it",
                tiles="number of tiles with a part of it, from the first one on",
                tile_bytes="bytes on each of these tiles except the last, which has the rest; -1: on every tile, what "
                "the other variables of the use leave of `tile_memory`",
            ),
        ),
    ),
    FrameDefinition(
        "vertices",
        "Vertices of one type in a superstep of a plan.",
        2_000_000,
        (
            _PLAN,
            *_ints(superstep="number within the plan"),
            FrameColumn("vertex_type", "i8", "row of `vertex_types`", refers="vertex_types"),
            *_ints(count="vertices of all tiles", tiles="tiles with such vertices"),
        ),
    ),
    FrameDefinition(
        "contexts",
        "A debug context: a module of the user's program, or an op within it.",
        300_000,
        (
            FrameColumn("parent", "i8", "a row before this one, -1 for a root", parent=True),
            *_texts(
                name="its own name",
                layer="framework of the program; empty if not known",
                file="the user's line: file",
            ),
            *_ints(line="line, -1 if unknown"),
            *_texts(function="function"),
            _OP,
        ),
    ),
    FrameDefinition(
        "tile_cycles",
        "Cycles of a compute set on a tile, for programs that place their vertices themselves. For other programs, "
        "`supersteps` has the slowest and the mean tile.",
        4_000_000,
        (
            FrameColumn("compute_set", "i8", "row of `compute_sets`", refers="compute_sets"),
            *_ints(tile="number within the replica"),
            *_floats(
                cycles="in one run, idle threads included",
                busy_cycles="in one run, in which a thread issues an instruction",
            ),
        ),
        optional=True,
    ),
    FrameDefinition(
        "blocks",
        "The time of a named part of a placed program on an IPU, equal for all of its tiles.",
        1_000_000,
        (
            _RUN,
            _LANE_IPU,
            FrameColumn("program", "i8", "row of `programs`", refers="programs"),
            *_ints(
                kind="0: named by the program, 1: a stream copy",
                start="cycle, counted from the start of the first run",
                end="cycle at which it ends",
            ),
        ),
        optional=True,
    ),
)

FRAMES: Mapping[str, FrameDefinition] = {each.name: each for each in _DEFINITIONS}


def reference() -> str:
    """The frames as Markdown; docs/profile.md holds this text."""
    lines: list[str] = []
    for frame in _DEFINITIONS:
        lines += [
            f"### frame `{frame.name}`",
            "",
            f"{frame.summary} At most {frame.most_rows:,} rows.",
            "",
            "| column | type | meaning |",
            "|---|---|---|",
            *(f"| `{c.name}` | {_TYPES[c.kind]} | {c.meaning} |" for c in frame.columns),
            "",
        ]
    return "\n".join(lines)
