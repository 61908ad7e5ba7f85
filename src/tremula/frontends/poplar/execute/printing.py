"""Tensors as text: in brackets, each row of two dimensions or more on a line of its own.

Integers have no decimals, floating-point numbers seven. `PrintFormat` changes that, and shortens long tensors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.frontends.poplar.errors import ControlProgramError


@dataclass(frozen=True)
class PrintFormat:
    """How a tensor is printed."""

    #: a tensor with more elements is shortened; 0: never
    summarise_threshold: int = 0
    #: elements that stay at either end of a dimension that is shortened
    edge_items: int = 3
    max_line_width: int = 0
    digits: int = 7
    #: fixed, scientific, auto: the shorter one, or none: all digits that tell a number from its neighbours
    floats: str = "fixed"
    separator: str = " "
    open_bracket: str = "["
    close_bracket: str = "]"


PLAIN = PrintFormat()
_FLOATS = ("auto", "fixed", "scientific", "none")

#: names of the C++ options and of ours
_NAMES = {
    "summariseThreshold": "summarise_threshold",
    "edgeItems": "edge_items",
    "maxLineWidth": "max_line_width",
    "digits": "digits",
    "floatFormat": "floats",
    "separator": "separator",
    "openBracket": "open_bracket",
    "closeBracket": "close_bracket",
}


def format_of(given: Any) -> PrintFormat:
    """The format that a program gives: None, ours, or a mapping with the C++ names."""
    if given is None:
        return PLAIN
    if isinstance(given, PrintFormat):
        return given
    if not isinstance(given, Mapping):
        known = {name: getattr(given, name) for name in _NAMES if hasattr(given, name)}
        given = known
    ours = {field.name for field in fields(PrintFormat)}
    options = {}
    for name, value in given.items():
        own = _NAMES.get(name, name)
        if own not in ours:
            raise ControlProgramError(f"a print format has no option {name!r}; it has {', '.join(_NAMES)}")
        options[own] = getattr(value, "word", value)
    options["floats"] = str(options.get("floats", PLAIN.floats)).lower()
    if options["floats"] not in _FLOATS:
        raise ControlProgramError(f"there is no format {options['floats']!r}; there are {', '.join(_FLOATS)}")
    return PrintFormat(**options)


def text_of(array: NDArray[Any], given: PrintFormat = PLAIN) -> str:
    """The elements of a tensor as text."""
    shorten = 0 < given.summarise_threshold < array.size
    return _level(array, given, 1, shorten)


def _level(array: NDArray[Any], given: PrintFormat, depth: int, shorten: bool) -> str:
    if not array.ndim:
        return _element(array[()], given)
    cut = given.edge_items if shorten and len(array) > 2 * given.edge_items else 0
    parts = [array] if not cut else [array[:cut], array[len(array) - cut :]]
    if array.ndim == 1:
        texts = [[_element(each, given) for each in part] for part in parts]
    else:
        texts = [[_level(each, given, depth + 1, shorten) for each in part] for part in parts]
    joined = texts[0] if not cut else [*texts[0], "...", *texts[1]]
    inside = _row(joined, given, depth) if array.ndim == 1 else _lines(joined, depth)
    return f"{given.open_bracket}{inside}{given.close_bracket}"


def _lines(texts: list[str], depth: int) -> str:
    """Each text on a line of its own."""
    between = "\n" + "  " * depth
    return "".join(between + text for text in texts) + ("\n" + "  " * (depth - 1) if texts else "")


def _row(texts: list[str], given: PrintFormat, depth: int) -> str:
    """Elements in a row, on further lines where one would be too long."""
    before = 2 * depth - 1
    whole = given.separator.join(texts)
    if not given.max_line_width or before + len(whole) < given.max_line_width:
        return whole
    lines: list[str] = []
    line = ""
    for text in texts:
        longer = f"{line}{given.separator}{text}" if line else text
        if line and before + len(longer) + 1 > given.max_line_width:
            lines.append(line + given.separator.rstrip())
            longer = text
        line = longer
    return ("\n" + " " * before).join([*lines, line])


def _element(value: Any, given: PrintFormat) -> str:
    if isinstance(value, np.bool_):
        return "1" if value else "0"
    if isinstance(value, np.floating):
        number = float(value)
        if given.floats == "scientific":
            return f"{number:.{given.digits}e}"
        if given.floats == "auto":
            return f"{number:.{given.digits}g}"
        if given.floats == "none":
            return str(value)
        return f"{number:.{given.digits}f}"
    return str(int(value))
