"""The lock that lets one of several processes compile, and the others find the result in the cache."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator

from tremula.cache.keys import key_of
from tremula.cache.store import Store
from tremula.cache.trust import usable_root
from tremula.device.settings import DeviceSettings


@contextlib.contextmanager
def compile_lock(settings: DeviceSettings, identity: Callable[[], str], logger: str) -> Iterator[None]:
    """Inside, no other instance of a run with a cache folder compiles a program of this `identity`."""
    if settings.instances <= 1 or settings.cache_folder is None:
        yield
        return
    root, _ = usable_root(settings.cache_folder)
    lines = logging.getLogger(logger)
    with Store(root).lock(key_of({"distributed": identity()})):
        lines.debug("Executable cache file locked by process %s", settings.instance)
        try:
            yield
        finally:
            lines.debug("Process %s released the cache lock", settings.instance)
