"""Tables of plus signs and bars, as gc-monitor draws them: every cell in the middle of a column of fixed width."""

from __future__ import annotations

from collections.abc import Sequence

from tremula.formatting import plain


def centred(text: str, width: int) -> str:
    """`text` in the middle; the odd blank goes to the right, and what does not fit is cut at the end."""
    shown = plain(text, lines=False)
    if len(shown) > width:
        shown = shown[: max(0, width - 3)] + "..."[: min(3, width)]
    left = (width - len(shown)) // 2
    return " " * left + shown + " " * (width - left - len(shown))


def cut_left(text: str, width: int) -> str:
    """The end of a text that is too long: it is the end of an address that tells two apart."""
    return text if len(text) <= width else f"...{text[len(text) - width + 3 :]}"


def row(cells: Sequence[str], widths: Sequence[int]) -> str:
    """One line of cells."""
    return "|" + "|".join(centred(cell, width) for cell, width in zip(cells, widths, strict=True)) + "|"


def rule(widths: Sequence[int]) -> str:
    """A line between rows."""
    return "+" + "+".join("-" * width for width in widths) + "+"


def span(widths: Sequence[int]) -> int:
    """The width of a cell over several columns."""
    return sum(widths) + len(widths) - 1


def boxed(text: str, width: int) -> list[str]:
    """A line of text in a box that is `width` wide."""
    inside = [max(width - 2, len(text) + 2)]
    return [rule(inside), row([text], inside), rule(inside)]
