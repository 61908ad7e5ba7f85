"""The Python side of PopTorch's log: an ordinary logger, so that handlers of programs and test tools see its records,
with the layout `[HH:MM:SS.mmm] [poptorch::python] [level] text`.
"""

from __future__ import annotations

import logging

from tremula import log
from tremula.settings import env

logger = logging.getLogger("poptorch::python")

_INTERNAL_ONLY = ("TRACE_ALL", "DEBUG_IR")
_PYTHON_LEVELS = {
    "TRACE": logging.DEBUG,
    "TRACE_ALL": logging.DEBUG,
    "DEBUG": logging.DEBUG,
    "DEBUG_IR": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERR": logging.ERROR,
    # what stops the program is worth a line even when the log is off
    "OFF": logging.CRITICAL,
}


def setLogLevel(level: str | int) -> None:
    """Set the log level of PopTorch.

    Args:
        level: TRACE, DEBUG, INFO, WARN, ERR or OFF; or their numbers 0 to 4 and 6.

    Raises:
        ValueError: any other word or number.
    """
    if isinstance(level, int):
        words = [word for word, (number, _) in log.LEVELS.items() if number == level]
        if not words:
            raise ValueError(f"Invalid log level integer {level}: use 0 to 4, or 6 for no lines at all")
        level = words[0]
    if not isinstance(level, str) or level not in log.LEVELS:
        public = sorted(word for word in log.LEVELS if word not in _INTERNAL_ONLY)
        raise ValueError(
            f"Unknown log level: {level}. Valid values are {', '.join(public[:-1])} and {public[-1]}"
        )
    log.set_level("poptorch", level)
    logger.setLevel(_PYTHON_LEVELS[level])


def setPopartLogLevel(level: str) -> None:
    """Set the log level of the PopART layer: the same words as `setLogLevel`, but no numbers.

    Raises:
        ValueError: not one of the words.
    """
    if not isinstance(level, str) or level not in log.LEVELS:
        raise ValueError(f"Level must be one of {', '.join(log.LEVELS)}")
    log.set_level("popart", level)


def _attach_console() -> None:
    if not any(isinstance(each, log.PlainText) for each in logger.filters):
        logger.addFilter(log.PlainText())
    if not any(isinstance(handler, log.StreamFinder) for handler in logger.handlers):
        logger.addHandler(log.StreamFinder(log.stderr, log.BracketFormatter()))


_attach_console()
setLogLevel(env.raw("POPTORCH_LOG_LEVEL") or "WARN")
