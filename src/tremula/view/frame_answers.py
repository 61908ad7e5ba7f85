"""Columns of a report for a page: windows of its frames, and its types of vertices and runs as frames.

Every frame has a column `id`, the number of a row, so that a page that keeps a selection can still name rows.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tremula.errors import Error
from tremula.profile import Profile, model
from tremula.profile.frame_reader import Frame
from tremula.profile.frames import FRAMES
from tremula.view.packed import packed_column
from tremula.view.program_answers import child_counts, type_names
from tremula.view.text import clean

#: rows of one answer
MOST_ROWS = 250_000
#: columns of one answer
_MOST_COLUMNS = 40

#: tables that pages read column by column
_TABLES: Mapping[str, type[Any]] = {"vertex_types": model.VertexType, "runs": model.Run}
#: columns that are computed
_OF_OPS: Mapping[str, Callable[[Profile, range], Any]] = {
    "cycles": lambda profile, chosen: _op_cycles(profile, chosen),
    "source": lambda profile, chosen: _op_sources(profile, chosen),
    "code_bytes": lambda profile, chosen: _code_bytes(profile, chosen),
}
_OF_PROGRAMS: Mapping[str, Callable[[Profile], Any]] = {
    "children": child_counts,
    "type_name": lambda profile: type_names(profile.frame("programs").column("type")),
}


def frame_answer(
    profile: Profile, name: str, columns: Sequence[str], first: int = 0, rows: int | None = None
) -> dict[str, Any]:
    """Rows `first` to `first + rows` of columns of a frame, at most MOST_ROWS of them."""
    if len(columns) > _MOST_COLUMNS:
        raise Error(
            f"{len(columns)} columns were requested; at most {_MOST_COLUMNS} are allowed.", type="view_error"
        )
    total = frame_rows(profile, name)
    first = min(max(0, first), total)
    count = min(MOST_ROWS, total - first, total if rows is None else max(0, rows))
    chosen = range(first, first + count)
    return {
        "first": first,
        "rows": count,
        "total": total,
        "columns": {
            column: packed_column(column_values(profile, name, column, chosen)) for column in columns
        },
    }


def selected_rows(
    profile: Profile, name: str, columns: Sequence[str], chosen: Sequence[int]
) -> dict[str, Any]:
    """Columns of the rows `chosen`, as an answer that holds fewer rows than there are."""
    total = frame_rows(profile, name)
    whole = range(total)
    found = {}
    for column in columns:
        values = column_values(profile, name, column, whole)
        if isinstance(values, np.ndarray):
            found[column] = packed_column(values[np.asarray(chosen, dtype=np.int64)])
        else:
            found[column] = packed_column([values[row] for row in chosen])
    return {"first": 0, "rows": len(chosen), "total": total, "columns": found}


def frame_rows(profile: Profile, name: str) -> int:
    """Rows of a frame; raises Error if there is no such frame."""
    if name in _TABLES:
        return len(profile.rows(_TABLES[name]))
    return len(_frame(profile, name))


def column_values(profile: Profile, name: str, column: str, chosen: range) -> Any:
    """The values of a column in a range of rows; raises Error if there is no such column."""
    if column == "id":
        return np.arange(chosen.start, chosen.stop, dtype=np.int64)
    if name in _TABLES:
        rows = profile.rows(_TABLES[name])[chosen.start : chosen.stop]
        if column in _TABLES[name].__dataclass_fields__:
            return [getattr(row, column) for row in rows]
    elif name == "ops" and column in _OF_OPS:
        return _OF_OPS[column](profile, chosen)
    elif name == "programs" and column in _OF_PROGRAMS:
        return _OF_PROGRAMS[column](profile)[chosen.start : chosen.stop]
    else:
        frame = _frame(profile, name)
        if column in frame.columns:
            return frame.window(column, chosen.start, len(chosen))
    raise Error(f"{clean(name, 40)} has no column {clean(column, 40)!r}.", type="view_error")


def _frame(profile: Profile, name: str) -> Frame:
    if name not in FRAMES:
        raise Error(f"The report has no frame {clean(name, 40)!r}.", type="view_error")
    return profile.frame(name)


def _op_cycles(profile: Profile, chosen: range) -> Any:
    """All cycles of ops in a step."""
    window = functools.partial(profile.frame("ops").window, first=chosen.start, rows=len(chosen))
    return window("compute_cycles") + window("exchange_cycles") + window("sync_cycles")


def _op_sources(profile: Profile, chosen: range) -> list[str]:
    """The user's lines as texts, empty where they are not known."""
    window = functools.partial(profile.frame("ops").window, first=chosen.start, rows=len(chosen))
    lines = zip(window("source_file"), window("source_line").tolist(), strict=True)
    return [f"{file}:{line}" if file else "" for file, line in lines]


def _code_bytes(profile: Profile, chosen: range) -> Any:
    """Code of the plans of ops on the fullest tile; 0 without a plan."""
    sizes = [
        plan.vertex_code_bytes + plan.exchange_code_bytes + plan.control_code_bytes for plan in profile.plans
    ]
    # the last entry is that of plan -1
    return np.array([*sizes, 0], dtype=np.int64)[
        profile.frame("ops").window("plan_id", chosen.start, len(chosen))
    ]
