"""Numbers and names as people read them: units that fit, three digits, nothing that a terminal would act on.

Names of modules, ops and files are not trusted: a terminal would act on an escape sequence in one.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from html import escape
from typing import Any

#: Unicode categories that are not shown: controls, formats (directions of writing), surrogates, private, unassigned,
#: separators of lines and paragraphs
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
#: what stands for a character that is not shown
_INSTEAD = "·"


def plain(text: str, longest: int | None = None, *, lines: bool = True) -> str:
    """`text` without anything that a terminal would act on, cut in the middle beyond `longest` characters.

    Line breaks and tabs stay, unless `lines` is False.
    """
    if longest is not None and len(text) > longest:
        half = (longest - 1) // 2
        text = f"{text[: longest - 1 - half]}…{text[len(text) - half :]}"
    if text.isascii() and text.isprintable():
        return text
    kept = "\n\t" if lines else ""
    return "".join(
        _INSTEAD if each not in kept and unicodedata.category(each) in _HIDDEN else each for each in text
    )


def plain_values(value: Any) -> Any:
    """`value` for JSON: `plain` texts, tuples as lists."""
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, Mapping):
        return {key: plain_values(each) for key, each in value.items()}
    return [plain_values(each) for each in value] if isinstance(value, list | tuple) else value


class ShownAsText:
    """Notebooks show the text of the object in a fixed-width block."""

    def _repr_html_(self) -> str:
        return f"<pre>{escape(plain(str(self)))}</pre>"


def quoted(text: str) -> str:
    """`text` as Python reads it back, whatever is in it."""
    simple = text.isprintable() and not set(text) & {'"', "\\"}
    return f'"{text}"' if simple else repr(text)


def duration(seconds: float) -> str:
    """A time in the unit that fits."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def memory_size(size: float) -> str:
    """Bytes in the unit that fits, powers of 1024."""
    for unit, step in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size >= step:
            return f"{size / step:,.1f} {unit}" if size < 100 * step else f"{size / step:,.0f} {unit}"
    return f"{size:,.0f} B"


def amount(value: float) -> str:
    """A number with separators, three digits where it is small."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def counted(number: int, one: str, many: str = "") -> str:
    """So many of something: 1 IPU, 2 IPUs."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def share(value: float) -> str:
    """A share in per cent; what is less than a hundredth of one is told as that."""
    if 0.0 < value < 0.0001:
        return "<0.01%"
    return f"{100 * value:.2g}%" if value < 0.1 else f"{100 * value:.0f}%"


def energy(joules: float) -> str:
    """An energy in the unit that fits."""
    for unit, size in (("J", 1.0), ("mJ", 1e-3), ("uJ", 1e-6)):
        if joules >= size:
            return f"{joules / size:.3g} {unit}"
    return f"{joules:.2g} J"


def between(low: float, high: float, say: Callable[[float], str]) -> str:
    """A range, the unit once if both ends have the same."""
    first, second = say(low), say(high)
    number, _, unit = first.partition(" ")
    if unit and second.endswith(f" {unit}"):
        return f"{number} to {second}"
    return f"{first} to {second}"
