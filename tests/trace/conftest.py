"""A trace of this process, recorded into a folder of the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tremula.settings.values import TraceOptions
from tremula.trace import writer
from tremula.trace.reader import TraceFile

Record = Callable[..., Callable[[], TraceFile]]


@pytest.fixture
def record(tmp_path: Path) -> Iterator[Record]:
    """Begins a trace; what it returns ends the trace and reads it."""

    def begin(**options: Any) -> Callable[[], TraceFile]:
        folder = tmp_path / "traces"
        writer.restart(TraceOptions(directory=str(folder), **options))

        def end() -> TraceFile:
            writer.close()
            (path,) = folder.glob("*.pvti")
            return TraceFile(path)

        return end

    yield begin
    writer.close()
