"""Whether a program that runs is asked about, by `tremula estimate run` or TREMULA_ESTIMATE; light to import."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from tremula.settings.environment import env

if TYPE_CHECKING:
    from tremula.study.placed_subject import PlacedSubject
    from tremula.study.subject import Subject

#: takes a subject; may end the program by raising
Listener = Callable[["Subject | PlacedSubject"], None]

_listener: Listener | None = None


@contextlib.contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """While inside, every model that is compiled in this process is handed to `listener`."""
    global _listener
    before, _listener = _listener, listener
    try:
        yield
    finally:
        _listener = before


def listener() -> Listener | None:
    """Who listens in this process."""
    return _listener


def is_asked() -> bool:
    """Whether there is a question about the models of this process."""
    return _listener is not None or env.get("TREMULA_ESTIMATE") != "off"
