"""Tables with rules of minus signs and columns between bars, as vipu writes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tremula.formatting import plain


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, ruled_above: bool = False) -> Iterator[str]:
    """The lines of a table: a head, a rule, the rows, a rule."""
    shown = [[plain(cell, lines=False) for cell in row] for row in (head, *rows)]
    widths = [max(len(row[column]) for row in shown) for column in range(len(head))]
    lines = [
        " " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in shown
    ]
    rule = "-" * (max(map(len, lines)) + 1)
    if ruled_above:
        yield rule
    yield lines[0].rstrip()
    yield rule
    for line in lines[1:]:
        yield line.rstrip()
    yield rule
