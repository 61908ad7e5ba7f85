"""Text from a profile for a terminal: names that cannot move the cursor, numbers with units.

A profile may come from anybody, and an escape sequence in the name of an op is obeyed by terminals. So every
character that is not printed as itself becomes a dot: control characters, line breaks, marks that turn the
direction of writing.
"""

from __future__ import annotations

import unicodedata

#: Unicode categories that are not shown: controls, formats (directions of writing), surrogates, private, unassigned,
#: separators of lines and paragraphs
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
#: characters of a name that are shown
_LONGEST = 160


def clean(text: str, longest: int = _LONGEST) -> str:
    """`text` in one line that is safe to print, cut in the middle if it is long."""
    if len(text) > longest:
        half = (longest - 1) // 2
        text = f"{text[: longest - 1 - half]}…{text[len(text) - half :]}"
    if text.isascii() and text.isprintable():
        return text
    return "".join("·" if unicodedata.category(each) in _HIDDEN else each for each in text)


def count(value: float) -> str:
    """A whole number with separators."""
    return f"{value:,.0f}"


def kilobytes(size: float) -> str:
    """Bytes as kB or MB, as profile summaries write them."""
    if size >= 10 * 2**20:
        return f"{size / 2**20:,.1f} MB"
    return f"{size / 2**10:,.1f} kB"


def seconds(value: float) -> str:
    """A time with a fitting unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def share(part: float, whole: float) -> str:
    """A part in percent."""
    return f"{100 * part / whole:.1f}%" if whole else "0.0%"
