"""The file for the output of a studied program. If the disk is full, the output is lost but the study continues."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import Any, TextIO

from tremula import log
from tremula.atomic_files import cannot_write


class _LossyFile(io.FileIO):
    """A file that warns once if it cannot be written, and then drops all further text."""

    _lost = False

    def write(self, data: Any) -> int:
        """Write, or drop the text if the disk is full."""
        size = memoryview(data).nbytes
        if self._lost:
            return size
        try:
            return super().write(data)
        except OSError as problem:
            self._lost = True
            text = cannot_write(str(self.name), problem)
            log.warn_once(
                f"program output {self.name}",
                f"{text} Further output of the program is not kept; the study continues.",
            )
            return size

    def close(self) -> None:
        """Close the file; some file systems report a full disk only now."""
        with contextlib.suppress(OSError):
            super().close()


def open_program_output(path: Path) -> TextIO:
    """A new text file for the program's output. Raises OSError if it cannot be created."""
    return io.TextIOWrapper(
        io.BufferedWriter(_LossyFile(path, "w")), encoding="utf-8", errors="backslashreplace"
    )
