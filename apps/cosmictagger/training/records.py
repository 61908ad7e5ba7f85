"""Every metric of a run, as tables: train.csv and test.csv, and both as lines of JSON in metrics.jsonl.

Rows are appended as they come. A run that goes on from a checkpoint first drops rows that it will make again.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import math
import os
from collections.abc import Mapping
from pathlib import Path

from tremula.atomic_files import write_text_atomically


class Records:
    """The tables of a run.

    Args:
        folder: where they are.
        step: the first step that is still to come.
    """

    def __init__(self, folder: Path, step: int = 0) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._files: dict[str, io.FileIO] = {}
        self._columns: dict[str, list[str]] = {}
        for kind in ("train", "test"):
            self._keep_rows(kind, step)
        self._keep_lines(step)

    def add(self, kind: str, values: Mapping[str, float]) -> None:
        """Append a row; `values` has a "step". Rows of a kind have the columns of its first row."""
        columns = self._columns.setdefault(kind, list(values))
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        if self._file(f"{kind}.csv").seek(0, os.SEEK_END) == 0:
            writer.writerow(columns)
        writer.writerow([_number(values.get(name, math.nan)) for name in columns])
        self._append(f"{kind}.csv", text.getvalue())
        plain = {name: value if math.isfinite(value) else None for name, value in values.items()}
        self._append("metrics.jsonl", json.dumps({"kind": kind, **plain}) + "\n")

    def close(self) -> None:
        """Finish the files."""
        for file in self._files.values():
            file.close()
        self._files.clear()

    def _file(self, name: str) -> io.FileIO:
        if name not in self._files:
            self._files[name] = (self.folder / name).open("ab", buffering=0)
        return self._files[name]

    def _append(self, name: str, text: str) -> None:
        """Add a row as a whole, or none of it."""
        file = self._file(name)
        before = file.seek(0, os.SEEK_END)
        left = memoryview(text.encode())
        try:
            while left:
                left = left[file.write(left) :]
        except OSError as problem:
            with contextlib.suppress(OSError):
                file.truncate(before)
            raise OSError(problem.errno, problem.strerror, str(self.folder / name)) from None

    def _keep_rows(self, kind: str, step: int) -> None:
        path = self.folder / f"{kind}.csv"
        if not path.is_file():
            return
        with open(path, encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))
        if not rows or "step" not in rows[0]:
            path.unlink()
            return
        columns, at = rows[0], rows[0].index("step")
        kept = [row for row in rows[1:] if len(row) == len(columns) and _before(row[at], step)]
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([columns, *kept])
        write_text_atomically(path, text.getvalue())
        self._columns[kind] = columns

    def _keep_lines(self, step: int) -> None:
        path = self.folder / "metrics.jsonl"
        if not path.is_file():
            return
        kept = []
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                values = json.loads(line)
            except ValueError:
                continue  # cut off when a run was killed
            if isinstance(values, dict) and _before(values.get("step"), step):
                kept.append(line)
        write_text_atomically(path, "".join(f"{line}\n" for line in kept))


def _number(value: float) -> str:
    return f"{value:.9g}" if isinstance(value, float) else str(value)


def _before(text: object, step: int) -> bool:
    try:
        return float(text) < step  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False
