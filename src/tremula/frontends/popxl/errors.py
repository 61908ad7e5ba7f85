"""Errors about graphs. A shim may say which class they have, as users catch PopART's own."""

from __future__ import annotations

from collections.abc import Callable

from tremula.errors import Error


def _plain(text: str) -> Exception:
    return Error(text, type="popart_exception")


_make: Callable[[str], Exception] = _plain


def raise_as(make: Callable[[str], Exception]) -> None:
    """Have `graph_error` return what `make` makes of a text."""
    global _make
    _make = make


def graph_error(text: str) -> Exception:
    """An error about a graph that cannot be built, differentiated or run. It is returned, not raised."""
    return _make(text)
