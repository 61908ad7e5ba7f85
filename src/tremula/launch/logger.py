"""Log lines of the launcher: `HH:MM:SS.mmm <pid> POPRUN [I] text` on stderr, the format that log scripts expect."""

from __future__ import annotations

import datetime
import os

from tremula.launch.output_stream import OutputStream

DEBUG, INFO, WARNING, ERROR = "D", "I", "W", "E"
_VERBOSITY = {DEBUG: 2, INFO: 1, WARNING: 0, ERROR: 0}


class Logger:
    """Writes lines up to a verbosity: 0 for warnings and errors, 1 for progress, 2 for details."""

    def __init__(self, stream: OutputStream, verbosity: int) -> None:
        self._stream = stream
        self._verbosity = verbosity
        self._process = os.getpid()  # the one that the user started

    def debug(self, text: str) -> None:
        """Log a detail."""
        self._say(DEBUG, text)

    def info(self, text: str) -> None:
        """Log progress."""
        self._say(INFO, text)

    def warn(self, text: str) -> None:
        """Log a warning."""
        self._say(WARNING, text)

    def error(self, text: str) -> None:
        """Log an error."""
        self._say(ERROR, text)

    def _say(self, letter: str, text: str) -> None:
        if _VERBOSITY[letter] > self._verbosity:
            return
        now = datetime.datetime.now()
        stamp = f"{now:%H:%M:%S}.{now.microsecond // 1000:03d} {self._process} POPRUN [{letter}]"
        self._stream.write(f"{stamp} {text}\n".encode(errors="backslashreplace"), self)
