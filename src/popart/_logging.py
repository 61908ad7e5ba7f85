"""`getLogger`: PopART's own lines in the log."""

from __future__ import annotations

from tremula import log

from ._exceptions import popart_exception

_GROUP = "popart"
#: level -> the word of the log
_WORDS = {
    "TRACE": "TRACE",
    "DEBUG": "DEBUG",
    "INFO": "INFO",
    "WARN": "WARN",
    "ERR": "ERR",
    "OFF": "OFF",
    "CRITICAL": "ERR",
}


class Logger:
    """Writes lines of one module; a level is that of all modules."""

    def __init__(self, name: str) -> None:
        self._layer = log.layer(f"popart:{name}")

    @staticmethod
    def getLogger(name: str = "all") -> Logger:
        """The logger of a module."""
        return Logger(name)

    def setLevel(self, level: str) -> None:
        """Have lines of this level, and of those above it, written."""
        if level not in _WORDS:
            raise popart_exception(f"Unknown log level '{level}'; the levels are {', '.join(_WORDS)}.")
        log.set_level(_GROUP, _WORDS[level])

    def debug(self, info: str) -> None:
        """Write a line."""
        self._layer.debug("%s", info)

    def info(self, info: str) -> None:
        """Write a line."""
        self._layer.info("%s", info)

    def warn(self, info: str) -> None:
        """Write a line."""
        self._layer.warning("%s", info)

    def error(self, info: str) -> None:
        """Write a line."""
        self._layer.error("%s", info)

    critical = error


getLogger = Logger.getLogger


def initializePoplarDebugInfo(filename: str, format: str = "json") -> None:
    """Has no effect: no debug information is written here."""
    log.no_effect(
        "popart.initializePoplarDebugInfo",
        "no file of debug information is written; errors, estimates and profiles name the lines of the program",
    )


def closePoplarDebugInfo() -> None:
    """Would end the file of debug information."""


__all__ = ["Logger", "closePoplarDebugInfo", "getLogger", "initializePoplarDebugInfo"]
