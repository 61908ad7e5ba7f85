"""From the text of an environment variable to its value: one function for each kind of value.

Words and forms follow the public documentation of the vendor's variables.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tremula.settings import engine_options, gcda, poplar_flags, quantities

#: the words that name a log level, from most to least talkative
LOG_LEVELS = ("TRACE_ALL", "TRACE", "DEBUG_IR", "DEBUG", "INFO", "WARN", "ERR", "OFF")


class BadValueError(ValueError):
    """A text that a parser does not accept; says what it would accept."""


def parse_flag(text: str) -> bool:
    """1, true, yes, on and their opposites; other whole numbers count as in C (0 is off)."""
    word = text.strip().lower()
    if word in ("true", "yes", "on"):
        return True
    if word in ("false", "no", "off"):
        return False
    try:
        return int(word) != 0
    except ValueError:
        raise BadValueError("expected 0 or 1") from None


def parse_count(text: str) -> int:
    """A whole number that is not negative."""
    try:
        number = int(text.strip())
    except ValueError:
        raise BadValueError("expected a whole number, 0 or more") from None
    if number < 0:
        raise BadValueError("expected a whole number, 0 or more")
    return number


def parse_text(text: str) -> str:
    """The text as it stands."""
    return text


def parse_level(text: str) -> str:
    """One of the words for a log level, in either case."""
    word = text.strip().upper()
    if word not in LOG_LEVELS:
        raise BadValueError(f"expected one of {', '.join(LOG_LEVELS)}")
    return word


def parse_ipu_version(text: str) -> str:
    """One of the chip generations that the vendor's model knows."""
    if text not in ("ipu1", "ipu2", "ipu21"):
        raise BadValueError("expected ipu1, ipu2 or ipu21")
    return text


def one_of(*words: str) -> Callable[[str], str]:
    """A parser for one of `words`."""

    def parse(text: str) -> str:
        word = text.strip().lower()
        if word not in words:
            raise BadValueError(f"expected {', '.join(words[:-1])} or {words[-1]}")
        return word

    return parse


def parse_bytes(text: str) -> int:
    """A size in bytes, with K, M, G or T for powers of 1024."""
    try:
        return quantities.parse_size(text)
    except ValueError as problem:
        raise BadValueError(str(problem)) from None


def parse_object(text: str) -> dict[str, Any]:
    """A JSON object."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise BadValueError(f"expected a JSON object, but this is not JSON ({error})") from None
    if not isinstance(value, dict):
        raise BadValueError(f"expected a JSON object, got a {type(value).__name__}")
    return value


def parse_engine_options(text: str) -> dict[str, str]:
    """A JSON object of engine options, each one known by name."""
    return engine_options.validate(parse_object(text), where="POPLAR_ENGINE_OPTIONS")


def parse_gcda_options(text: str) -> gcda.GcdaOptions:
    """A JSON object of options of the device access library."""
    try:
        return gcda.parse(parse_object(text))
    except BadValueError:
        raise
    except ValueError as problem:
        raise BadValueError(str(problem)) from None


def parse_poplar_flags(text: str) -> dict[str, Any]:
    """The flags of TF_POPLAR_FLAGS that are set."""
    try:
        return poplar_flags.parse(text)
    except poplar_flags.BadFlag as problem:
        raise BadValueError(str(problem)) from None


@dataclass(frozen=True)
class TraceOptions:
    """What PVTI_OPTIONS asks for."""

    enable: bool = True
    directory: str = "."
    channels: tuple[str, ...] = ()
    duration: float = 0.0


def parse_trace_options(text: str) -> TraceOptions:
    """The trace settings; a text that cannot be read still switches tracing on, as documented."""
    try:
        value = parse_object(text)
        channels, duration = value.get("channels", []), float(value.get("duration", 0.0))
        if not isinstance(channels, list) or not 0.0 <= duration < math.inf:
            return TraceOptions()
        return TraceOptions(
            enable=parse_flag(str(value.get("enable", "true"))),
            directory=str(value.get("directory", ".")) or ".",
            channels=tuple(str(channel) for channel in channels),
            duration=duration,
        )
    except (ValueError, TypeError):
        return TraceOptions()
