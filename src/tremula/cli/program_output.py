"""The file that takes what a studied program prints: a disk that takes no more costs the text, not the study."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import Any, TextIO

from tremula import log
from tremula.atomic_files import cannot_write


class _LossyFile(io.FileIO):
    """A file that says once that it cannot be written, and takes everything from then on without keeping it."""

    _lost = False

    def write(self, data: Any) -> int:
        """Write, or drop what the disk refuses."""
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
                f"{text} What the program prints from here on is not kept; the study goes on.",
            )
            return size

    def close(self) -> None:
        """Close; some file systems report a full disk only now."""
        with contextlib.suppress(OSError):
            super().close()


def open_program_output(path: Path) -> TextIO:
    """A text file for the program's output, opened anew; raises OSError if it cannot be made."""
    return io.TextIOWrapper(
        io.BufferedWriter(_LossyFile(path, "w")), encoding="utf-8", errors="backslashreplace"
    )
