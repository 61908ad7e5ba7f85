"""Log lines of all layers of the emulated stack: their levels, layouts and destinations.

The real stack has two layouts, and programs search for both: that of the top layer,
`[HH:MM:SS.mmm] [name] [level] text`, and that of the layers below,
`<UTC time> <module> <pid>.<thread> <letter>: text`. A layer's group (`stack_layers`) decides its level and destination.
"""

from __future__ import annotations

import contextlib
import datetime
import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator
from typing import TextIO

from tremula import stack_layers
from tremula.atomic_files import cannot_write
from tremula.formatting import plain
from tremula.settings.environment import env

TRACE = 5
OFF = logging.CRITICAL + 50

#: level word -> (number in the public API, level of the logging module)
LEVELS: dict[str, tuple[int, int]] = {
    "TRACE": (0, TRACE),
    "TRACE_ALL": (0, TRACE),
    "DEBUG": (1, logging.DEBUG),
    "DEBUG_IR": (1, logging.DEBUG),
    "INFO": (2, logging.INFO),
    "WARN": (3, logging.WARNING),
    "ERR": (4, logging.ERROR),
    "OFF": (6, OFF),
}

_WORDS = {TRACE: "trace"}
_LETTERS = {
    TRACE: "T",
    logging.DEBUG: "D",
    logging.INFO: "I",
    logging.WARNING: "W",
    logging.ERROR: "E",
    logging.CRITICAL: "E",
}
_RESET = "\033[0m"
_COLOURS = {
    TRACE: "\033[90m",
    logging.DEBUG: "\033[36m",
    logging.INFO: "",
    logging.WARNING: "\033[1;33m",
    logging.ERROR: "\033[1;31m",
    logging.CRITICAL: "\033[1;31m",
}

_logged: set[str] = set()
_level_words: dict[str, str] = {}
_layers: dict[str, Layer] = {}
_files: dict[str, TextIO] = {}
_lock = threading.Lock()
_line_hooks: list[Callable[[], None]] = []


class BracketFormatter(logging.Formatter):
    """`[HH:MM:SS.mmm] [name] [level] text`, in local time."""

    def format(self, record: logging.LogRecord) -> str:
        clock = datetime.datetime.fromtimestamp(record.created).strftime("%H:%M:%S")
        word = _WORDS.get(record.levelno, logging.getLevelName(record.levelno).lower())
        text = record.getMessage()
        if record.exc_info:
            text = f"{text}\n{self.formatException(record.exc_info)}"
        return f"[{clock}.{int(record.msecs):03d}] [{record.name}] [{word}] {text}"


class ModuleFormatter(logging.Formatter):
    """`2023-08-22T23:49:40.103248Z PO:ENGINE   3556102.3556102 W: text`."""

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.datetime.fromtimestamp(record.created, datetime.UTC)
        stamp = moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        letter = _LETTERS.get(record.levelno, "I")
        thread = threading.get_native_id()
        return (
            f"{stamp} {record.name} {record.process or os.getpid()}.{thread} {letter}: {record.getMessage()}"
        )


class StreamFinder(logging.Handler):
    """Writes to the stream that is right at this moment, nothing that a terminal would act on.

    A program (or a test) may replace `sys.stderr` after the package was imported, so no stream is kept.
    Colours only on a terminal.
    """

    def __init__(self, find: Callable[[], TextIO | None], formatter: logging.Formatter) -> None:
        super().__init__()
        self._find = find
        self.setFormatter(formatter)

    def emit(self, record: logging.LogRecord) -> None:
        stream = None
        try:
            line = plain(self.format(record))
            for hook in _line_hooks:
                hook()
            stream = self._find()
            if stream is None or stream.closed:
                os.write(2, f"{line}\n".encode(errors="replace"))
                return
            colour = _COLOURS.get(record.levelno, "") if stream.isatty() else ""
            stream.write(f"{colour}{line}{_RESET}\n" if colour else f"{line}\n")
            stream.flush()
        except OSError as problem:
            # A log line that cannot be written must not stop the program.
            if stream is not None and _give_up(stream, problem):
                self.emit(record)
            else:
                self.handleError(record)


class PlainText(logging.Filter):
    """Takes out of records what a terminal would act on, for handlers that programs add themselves."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Every record passes."""
        record.msg, record.args = plain(record.getMessage()), ()
        return True


class Layer(logging.Logger):
    """The logger of one module of the stack, with a TRACE level."""

    def __init__(self, name: str, group: str) -> None:
        super().__init__(name)
        self.group = group

    def isEnabledFor(self, level: int) -> bool:  # noqa: N802 (overrides)
        """Whether a line of that level is written."""
        # The base class caches the answers and clears them only for loggers that its manager lists.
        return self.level <= level and self.manager.disable < level

    def trace(self, message: str, *args: object) -> None:
        """Log below DEBUG."""
        if self.isEnabledFor(TRACE):
            self._log(TRACE, message, args)


def group_of(name: str) -> str:
    """The group of a layer's name: its first word, or what the two-letter prefixes stand for."""
    first = name.partition(":")[0]
    group = stack_layers.SHORT_NAMES.get(first, first)
    if group not in stack_layers.LOG_GROUPS:
        raise ValueError(f"no layer group called {group!r}; there are {', '.join(stack_layers.LOG_GROUPS)}")
    return group


def stderr() -> TextIO | None:
    """What `sys.stderr` is now, or the original one when a program has closed or removed it."""
    stream = sys.stderr
    if stream is None or stream.closed:
        return sys.__stderr__
    return stream


def _destination(group: str) -> TextIO | None:
    where = "stderr" if group == stack_layers.OWN else env.get(f"{group.upper()}_LOG_DEST")
    if where == "stderr":
        return stderr()
    if where == "stdout":
        return sys.stdout
    with _lock:
        stream = _files.get(where)
        if stream is None:
            try:
                stream = open(where, "a", encoding="utf-8")  # noqa: SIM115 (open until the process ends)
            except OSError as error:
                stream = stderr()
                if stream is not None:
                    stream.write(f"Cannot write the log to {where} ({error}); it goes to stderr.\n")
                    _files[where] = stream
                return stream
            _files[where] = stream
    return stream


def _give_up(stream: TextIO, problem: OSError) -> bool:
    """Send what was to go to a file, which cannot be written any more, to stderr; False if it was not a file."""
    with _lock:
        lost = [where for where, each in _files.items() if each is stream]
        instead = stderr()
        if not lost or instead is None or instead is stream:
            return False
        for where in lost:
            _files[where] = instead
    with contextlib.suppress(OSError, ValueError):
        stream.close()
    instead.write(f"The log {cannot_write(lost[0], problem)} It goes to stderr.\n")
    return True


def formatter_of(group: str) -> logging.Formatter:
    """The layout that the lines of `group` have."""
    return BracketFormatter() if group in stack_layers.BRACKETED else ModuleFormatter()


def layer(name: str) -> Layer:
    """The logger of the layer `name`, such as `popart:session`, `PO:ENGINE` or `tremula`."""
    found = _layers.get(name)
    if found is None:
        group = group_of(name)
        found = Layer(name, group)
        found.addHandler(StreamFinder(lambda: _destination(group), formatter_of(group)))
        found.setLevel(LEVELS[level(group)][1])
        _layers[name] = found
    return found


def level(group: str) -> str:
    """The word for the level of `group` now."""
    chosen = _level_words.get(group)
    if chosen is not None:
        return chosen
    if group == stack_layers.OWN:
        own: str | None = env.get("TREMULA_LOG_LEVEL")
        return own or level(stack_layers.TOP)
    word: str = env.get(f"{group.upper()}_LOG_LEVEL")
    return word


def set_level(group: str, word: str) -> None:
    """Set the level of all layers of `group`; ours follow the top layer's unless they have one of their own.

    Raises:
        KeyError: `word` is not a level.
    """
    numeric = LEVELS[word][1]
    _level_words[group] = word
    for each in _layers.values():
        if each.group == group:
            each.setLevel(numeric)
        elif each.group == stack_layers.OWN:
            each.setLevel(LEVELS[level(stack_layers.OWN)][1])


def add_line_hook(hook: Callable[[], None]) -> None:
    """Call `hook` before each line from now on: for other output on the terminal that must be cleared first."""
    if hook not in _line_hooks:
        _line_hooks.append(hook)


def remove_line_hook(hook: Callable[[], None]) -> None:
    """Call `hook` no more."""
    if hook in _line_hooks:
        _line_hooks.remove(hook)


def warn_once(key: str, message: str) -> bool:
    """Warn the first time that `key` comes up in this process; True if this was it."""
    return _once(logging.WARNING, key, message)


def info_once(key: str, message: str) -> bool:
    """The same at INFO."""
    return _once(logging.INFO, key, message)


def no_effect(option: str, reason: str) -> bool:
    """Warn once per process that `option` was accepted but changes nothing here, and why."""
    return warn_once(f"no effect: {option}", f"{option} has no effect here: {reason}.")


def recorded(option: str, purpose: str = "the chip model") -> bool:
    """Say once, at INFO, that `option` does not change results but is kept for `purpose`."""
    return info_once(
        f"recorded: {option}", f"{option} is recorded for {purpose}; it does not change results."
    )


def forget_once() -> None:
    """Let every once-only line come again (for tests and long-lived servers)."""
    _logged.clear()


def _once(numeric: int, key: str, message: str) -> bool:
    logger = layer(stack_layers.OWN)
    # A line that the level hides may still come after the level changes.
    if key in _logged or not logger.isEnabledFor(numeric):
        return False
    _logged.add(key)
    logger.log(numeric, "%s", message)
    return True


@contextlib.contextmanager
def levels_restored() -> Iterator[None]:
    """Put the levels back afterwards as they were before."""
    before = dict(_level_words)
    try:
        yield
    finally:
        _level_words.clear()
        _level_words.update(before)
        for each in _layers.values():
            each.setLevel(LEVELS[level(each.group)][1])
