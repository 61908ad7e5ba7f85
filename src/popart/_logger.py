"""`getLogger`: PopART's log lines, with a level that programs set."""

from __future__ import annotations

from tremula import log
from tremula.log import LEVELS

from ._exceptions import popart_exception

#: modules that have a logger of their own in the real package; here they share one level
_MODULES = (
    "all", "none", "session", "ir", "devicex", "transform", "pattern", "builder", "op", "opx", "ces", "python",
    "popart", "liveness", "timePartitionLogger",
)  # fmt: skip
_WORDS = {"ERROR": "ERR", "WARNING": "WARN", "CRITICAL": "ERR"}


class Logger:
    """The log of a module of PopART."""

    def __init__(self, name: str) -> None:
        self._layer = log.layer("popart" if name in ("all", "none", "popart") else f"popart:{name}")

    def setLevel(self, level: str) -> None:
        """TRACE, DEBUG, INFO, WARN, ERR or OFF; it holds for all modules."""
        word = _WORDS.get(level.upper(), level.upper())
        if word not in LEVELS:
            raise popart_exception(f"Unknown log level {level}: use TRACE, DEBUG, INFO, WARN, ERR or OFF.")
        log.set_level("popart", word)

    def debug(self, message: str) -> None:
        self._layer.debug("%s", message)

    def info(self, message: str) -> None:
        self._layer.info("%s", message)

    def warn(self, message: str) -> None:
        self._layer.warning("%s", message)

    def error(self, message: str) -> None:
        self._layer.error("%s", message)

    def critical(self, message: str) -> None:
        self._layer.critical("%s", message)


def getLogger(name: str = "all") -> Logger:
    """The log of a module, or of all."""
    if name not in _MODULES:
        raise popart_exception(f"There is no PopART module called {name!r}; there are {', '.join(_MODULES)}.")
    return Logger(name)


__all__ = ["Logger", "getLogger"]
