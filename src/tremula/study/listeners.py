"""Whether a running program is being estimated (`tremula estimate run`, TREMULA_ESTIMATE). Imports almost nothing."""

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
    """Inside the context, every model that is compiled in this process is passed to `listener`."""
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
