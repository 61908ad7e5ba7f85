"""Text from a profile for a terminal: one line per name, numbers with units."""

from __future__ import annotations

from tremula.formatting import plain

#: characters of a name that are shown
_LONGEST = 160


def clean(text: str, longest: int = _LONGEST) -> str:
    """`text` in one line that is safe to print, cut in the middle if it is long."""
    return plain(text, longest, lines=False)


def count(value: float) -> str:
    """A whole number with separators."""
    return f"{value:,.0f}"


def kilobytes(size: float) -> str:
    """Bytes as kB or MB, as profile summaries write them."""
    if size >= 10 * 2**20:
        return f"{size / 2**20:,.1f} MB"
    return f"{size / 2**10:,.1f} kB"


def share(part: float, whole: float) -> str:
    """A part in percent."""
    return f"{100 * part / whole:.1f}%" if whole else "0.0%"
