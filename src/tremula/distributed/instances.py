"""Which instance of how many a model is trained by, in plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tremula.errors import Error
from tremula.settings.environment import env

_OPTION = "target.hostSyncTimeout"
_DEFAULT_SECONDS = 300.0
#: stands for no limit: gloo wants a number of milliseconds
_FOREVER_SECONDS = 10.0 * 365 * 24 * 3600


@dataclass(frozen=True)
class Instances:
    """This instance, and how many there are."""

    index: int = 0  #: of this one
    count: int = 1  #: of all that train the model together
    timeout: float = _DEFAULT_SECONDS  #: seconds after which an instance that does not arrive counts as hung


def sync_timeout(engine_options: Mapping[str, str] | None = None) -> float:
    """How long (seconds) instances wait for each other: `target.hostSyncTimeout`; 0 there means for ever.

    The environment's run-time options win over `engine_options`. Raises Error if it is not a number of seconds.
    """
    options = {
        **env.get("POPLAR_ENGINE_OPTIONS"),
        **(engine_options or {}),
        **env.get("POPLAR_RUNTIME_OPTIONS"),
    }
    given = options.get(_OPTION, _DEFAULT_SECONDS)
    try:
        seconds = float(given)
    except (TypeError, ValueError):
        seconds = -1.0
    if not 0.0 <= seconds < float("inf"):
        raise Error(f"{_OPTION} is set to {given!r}: expected a number of seconds; 0 means no limit.")
    return min(seconds, _FOREVER_SECONDS) or _FOREVER_SECONDS
