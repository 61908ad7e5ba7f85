"""Rows as CSV that a spreadsheet opens without harm: no text is taken for a formula, none holds control characters."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import TextIO

from tremula.formatting import plain


def csv_text(lines: Sequence[Mapping[str, object]], head: Iterable[str] = ()) -> str:
    """CSV with a line for each mapping; all have the same keys."""
    file = io.StringIO()
    write_csv(file, lines[0] if lines else head, (line.values() for line in lines))
    return file.getvalue()


def write_csv(file: TextIO, head: Iterable[str], rows: Iterable[Iterable[object]]) -> int:
    """Write a line of names and one for each row; gives the number of rows."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([_cell(each) for each in head])
    count = 0
    for row in rows:
        writer.writerow([_cell(each) for each in row])
        count += 1
    return count


def _cell(value: object) -> object:
    """A text that a spreadsheet does not take for a formula."""
    if isinstance(value, str):
        value = plain(value)
        return f"'{value}" if value.lstrip()[:1] in ("=", "+", "-", "@") else value
    return value
