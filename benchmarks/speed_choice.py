"""Which rows of a table of speeds `--rows` asks for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar


class Keyed(Protocol):
    """A row with a name on the command line."""

    @property
    def key(self) -> str:
        """The name."""


AnyRow = TypeVar("AnyRow", bound=Keyed)


def chosen_rows(rows: Sequence[AnyRow], words: str | None) -> list[AnyRow]:
    """The rows whose key begins with one of the words of a comma-separated list; all without one.

    Raises:
        ValueError: a word fits no row.
    """
    if not words:
        return list(rows)
    wanted = [word.strip() for word in words.split(",")]
    for word in wanted:
        if not any(row.key.startswith(word) for row in rows):
            raise ValueError(f"no row begins with {word!r}; there are {', '.join(row.key for row in rows)}")
    return [row for row in rows if row.key.startswith(tuple(wanted))]
